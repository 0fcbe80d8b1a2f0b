import CampaignStore

/// The targets of a held slice.
struct SliceTargets {
  /// Number of targets; `nil` before their list is sealed.
  private(set) var count: Int?
  /// Send times of the targets; `nil` if all can be sent immediately.
  var times: SliceTimes?
  /// The targets in flight, with their tokens.
  var underWay = TargetsUnderWay()
  /// The decisions about the granted targets.
  var decisions = GrantDecisions()
  /// The users whose targets are checked before they are sent.
  var departed = DepartedUsers()

  /// Records that the targets are fixed.
  mutating func seal(_ count: Int, _ times: SliceTimes?) {
    self.count = count
    self.times = times
    underWay.prepare(for: count)
  }
}
