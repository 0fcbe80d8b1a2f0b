import CampaignStore

/// What a worker knows of what a campaign has yet to expand: how much that is, and what is in its way.
struct ExpansionEstimate {
  /// What keeps a campaign from being expanded.
  struct Obstacle {
    /// For people.
    var reason: String
    /// By `EventLoop.now`.
    var since: UInt64
    var seenAt: UInt64
  }

  /// `nil` while there is none.
  var obstacle: Obstacle?
  /// How many users each slice takes, once that is known of a campaign with a limit.
  var quotas: AudienceQuotas?
  /// When all campaigns were last seen to have ended that its audience refers to, in `EventLoop.now`.
  var earlierEndedAt: UInt64?
  /// When all segments that it names or excludes were last seen to exist, in `EventLoop.now`.
  var segmentsSeenAt: UInt64?
  /// How many targets a slice of it has by what the store estimates, if it was asked.
  var estimatedTargetsPerSlice: Int?
  /// Slices of it that were not finished when one was claimed last.
  var unfinished = 0
  /// Slices of it that were expanded here lately, and their targets.
  private var expanded = (slices: 0, targets: 0)

  /// How many targets a slice of it has, by those that were expanded here; `nil` before the first was.
  var targetsPerSlice: Int? { expanded.slices > 0 ? max(1, expanded.targets / expanded.slices) : nil }

  /// A slice was expanded. What was long ago counts less.
  mutating func noteExpanded(targets: Int) {
    if expanded.slices >= 256 { expanded = (expanded.slices / 2, expanded.targets / 2) }
    expanded = (expanded.slices + 1, expanded.targets + targets)
  }
}
