/// The progress of a held campaign on this worker.
struct CampaignProgress {
  /// Whether its partitions and the definitions of its segments are fixed.
  var isNarrowed: Bool
  /// Whether this worker has paused it or is about to pause it. Then this worker sends nothing more of it.
  var isPaused = false
  /// Whether it was resumed after its context was made.
  var isOutdated = false
  /// The part that is not expanded yet.
  var expansion = ExpansionEstimate()
  /// Number of its pushes that were passed to the pool. Campaigns of one lane and pool take turns by this count.
  private(set) var served = 0

  init(isNarrowed: Bool) {
    self.isNarrowed = isNarrowed
  }

  /// Sets the initial count when the worker takes the campaign. The campaign is served next, without blocking others
  /// until it has caught up.
  mutating func startServing(at start: Int) { served = max(served, start) }

  mutating func noteServed(_ pushes: Int) { served += pushes }
}
