import CampaignStore

/// Estimate of the number of targets in the unexpanded slices of a campaign, and the reason that blocks their
/// expansion.
struct ExpansionEstimate {
  /// The reason why a campaign can't be expanded.
  struct Obstacle {
    /// Text for operators.
    var reason: String
    /// `EventLoop.now` at which the obstacle was found.
    var since: UInt64
    var seenAt: UInt64
  }

  /// The present obstacle; `nil` for none.
  var obstacle: Obstacle?
  /// For a campaign with a limit: the maximum number of users that each slice may select; `nil` until it is known.
  var quotas: AudienceQuotas?
  /// `EventLoop.now` of the last read in which all campaigns to which the audience refers had ended.
  var earlierEndedAt: UInt64?
  /// `EventLoop.now` of the last read in which all segments that the campaign names or excludes existed.
  var segmentsSeenAt: UInt64?
  /// `EventLoop.now` of the last count after which the campaign needed no approval.
  var approvedAt: UInt64?
  /// The store's estimate of the number of targets of a slice; `nil` before the first estimate.
  var estimatedTargetsPerSlice: Int?
  /// Number of the campaign's unfinished slices when this worker last claimed one of them.
  var unfinished = 0
  /// Number of slices that this worker expanded recently, and number of their targets.
  private var expanded = (slices: 0, targets: 0)

  /// Average number of targets of the slices that this worker expanded; `nil` before the first slice.
  var targetsPerSlice: Int? { expanded.slices > 0 ? max(1, expanded.targets / expanded.slices) : nil }

  /// Records an expanded slice. Older slices count less.
  mutating func addExpanded(targets: Int) {
    if expanded.slices >= 256 { expanded = (expanded.slices / 2, expanded.targets / 2) }
    expanded = (expanded.slices + 1, expanded.targets + targets)
  }
}
