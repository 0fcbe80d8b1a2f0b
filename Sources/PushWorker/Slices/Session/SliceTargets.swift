import CampaignStore

/// Targets that the next commit (``SliceCommitter``) may grant, with the result of a comparison: which of their users
/// may have departed.
struct ComparedTargets {
  /// The compared targets.
  var indexes = 0..<0
  /// The value of ``DepartedUsers/changes`` when the targets were compared.
  var changes = 0
  /// The targets whose users may have departed. During the commit, Redis checks them.
  var suspects: [SealedTarget] = []
}

/// The targets of a held slice.
struct SliceTargets {
  /// Number of targets; `nil` before their list is sealed.
  private(set) var count: Int?
  /// Send times of the targets; `nil` if all can be sent immediately.
  var times: SliceTimes?
  /// The targets in flight, with their tokens.
  var inFlight = TargetsInFlight()
  /// The decisions about the granted targets.
  var decisions = GrantDecisions()
  /// The users whose targets are checked before they are sent.
  var departed = DepartedUsers()

  /// Records that the targets are fixed.
  mutating func seal(_ count: Int, _ times: SliceTimes?) {
    self.count = count
    self.times = times
    inFlight.prepare(for: count)
  }
}
