import CampaignStore

/// Estimates how much of a campaign is still to be expanded, and records what blocks it.
struct ExpansionEstimate {
  /// The reason why a campaign can't be expanded.
  struct Obstacle {
    /// For operators.
    var reason: String
    /// By `EventLoop.now`.
    var since: UInt64
    var seenAt: UInt64
  }

  /// The present obstacle; `nil` for none.
  var obstacle: Obstacle?
  /// Number of users that each slice takes, once known, for a campaign with a limit.
  var quotas: AudienceQuotas?
  /// `EventLoop.now` of the last read in which all campaigns of its audience had ended.
  var earlierEndedAt: UInt64?
  /// `EventLoop.now` of the last read in which all segments that it names or excludes existed.
  var segmentsSeenAt: UInt64?
  /// Number of targets of a slice as the store estimates it; `nil` before the store was asked.
  var estimatedTargetsPerSlice: Int?
  /// Number of its unfinished slices when one was last claimed.
  var unfinished = 0
  /// Slices that this worker expanded recently, and their targets.
  private var expanded = (slices: 0, targets: 0)

  /// Average number of targets of the slices that this worker expanded; `nil` before the first slice.
  var targetsPerSlice: Int? { expanded.slices > 0 ? max(1, expanded.targets / expanded.slices) : nil }

  /// Records an expanded slice. Older slices count less.
  mutating func noteExpanded(targets: Int) {
    if expanded.slices >= 256 { expanded = (expanded.slices / 2, expanded.targets / 2) }
    expanded = (expanded.slices + 1, expanded.targets + targets)
  }
}
