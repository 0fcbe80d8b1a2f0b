/// How far a campaign in hand has come on this worker.
struct CampaignProgress {
  /// Whether the campaign has the definitions of its segments that are in force.
  var isNarrowed: Bool
  /// Whether this worker has paused it, or is about to: nothing more of it is sent here.
  var isPaused = false
  /// Whether it has been resumed since its context was made.
  var isOutdated = false
  /// What is yet to be expanded of it.
  var expansion = ExpansionEstimate()
  /// Pushes that it was given credit for, as campaigns of its lane and pool take turns by.
  private(set) var served = 0

  init(isNarrowed: Bool) {
    self.isNarrowed = isNarrowed
  }

  /// Starts the count of pushes when the campaign comes into hand: it is served next, but not before all others until it has caught
  /// up with them.
  mutating func startServing(at start: Int) { served = max(served, start) }

  mutating func noteServed(_ pushes: Int) { served += pushes }
}
