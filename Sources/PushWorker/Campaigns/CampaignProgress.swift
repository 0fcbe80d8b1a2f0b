/// The progress of a held campaign on this worker.
struct CampaignProgress {
  /// Whether Redis has stored the campaign's partitions and the definitions of its segments. After this they don't
  /// change.
  var isNarrowed: Bool
  /// Whether this worker has paused the campaign or is about to pause it. If so, this worker sends no more pushes of
  /// the campaign.
  var isPaused = false
  /// Whether the campaign was resumed after its context was made.
  var isOutdated = false
  /// The estimate of the targets in slices that are not expanded yet.
  var expansion = ExpansionEstimate()
  /// Number of the campaign's pushes that were passed to the pool. Campaigns of one lane and pool take turns by this
  /// count.
  private(set) var served = 0

  init(isNarrowed: Bool) {
    self.isNarrowed = isNarrowed
  }

  /// Sets the initial count when the worker takes the campaign: `start` is the lowest count of the other campaigns.
  /// With this count, the campaign is served next. With 0, it would block the other campaigns until its count reached
  /// theirs.
  mutating func startServing(at start: Int) { served = max(served, start) }

  mutating func addServed(_ pushes: Int) { served += pushes }
}
