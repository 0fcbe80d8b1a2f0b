import CampaignStore

/// The targets of a slice in hand.
struct SliceTargets {
  /// How many there are; `nil` before they are sealed.
  private(set) var count: Int?
  /// When they may be sent; `nil` for all at once.
  var times: SliceTimes?
  /// Those under way, and their tokens.
  var underWay = TargetsUnderWay()
  /// What was decided about the granted ones.
  var decisions = GrantDecisions()
  /// The users whose targets are checked before they are sent.
  var departed = DepartedUsers()

  /// Notes that the targets are fixed.
  mutating func seal(_ count: Int, _ times: SliceTimes?) {
    self.count = count
    self.times = times
    underWay.prepare(for: count)
  }
}
