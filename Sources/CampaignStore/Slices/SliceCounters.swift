public import PushCore
import Redis

/// Counters of a slice, or their sums over the slices of a campaign.
public struct SliceCounters: Sendable, Equatable {
  /// Number of sealed targets.
  public var targets = 0
  /// Number of targets by outcome. Contains every outcome whose number is not zero.
  public var outcomes: [Outcome: Int] = [:]
  /// Number of devices removed from the registry.
  public var pruned = 0
  /// Number of devices put into quarantine: they stay registered, but get no more pushes.
  public var quarantined = 0
  /// Number of users of the audience who are in a control group. They get nothing and are not targets.
  public var control = 0
  /// Breakdown of the audience's users; empty for a campaign to raw tokens.
  public var audience = AudienceCount()
  /// Number of targets in doubt that were sent again.
  public var resent = 0
  /// Number of targets that are granted without a recorded answer.
  public var inDoubt = 0
  /// Number of targets that wait for a retry.
  public var retrying = 0
  /// Number of targets whose own send time has not come.
  public var later = 0

  /// Creates counters that are all zero.
  public init() {}

  /// Reads the counters from a slice's hash.
  init(slice fields: StoredFields) throws(StoreError) {
    try fields.check()
    targets = try fields.number("count") ?? 0
    inDoubt = try fields.number("doubt") ?? 0
    retrying = try fields.number("waiting") ?? 0
    if let ready = try fields.number("ready") {
      later = max(0, targets - max(ready, try fields.number("granted") ?? 0))
    }
    try readShared(fields)
  }

  /// Reads the counters from a campaign's hash, which contains the sum over its finished slices.
  init(totals fields: StoredFields) throws(StoreError) {
    targets = try fields.number("targets") ?? 0
    try readShared(fields)
  }

  /// Names of the fields of a campaign's hash that are counters.
  static let totalsFields =
    ["targets", "pruned", "quarantined", "resent", "control"] + AudienceCount.fields
    + Outcome.allCases.map { String($0.rawValue) }

  private mutating func readShared(_ fields: StoredFields) throws(StoreError) {
    for outcome in Outcome.allCases {
      if let count = try fields.number(String(outcome.rawValue)), count != 0 { outcomes[outcome] = count }
    }
    pruned = try fields.number("pruned") ?? 0
    quarantined = try fields.number("quarantined") ?? 0
    resent = try fields.number("resent") ?? 0
    control = try fields.number("control") ?? 0
    audience = try AudienceCount(fields)
  }

  /// Number of users in the audience. Each of them gets a push, is in a control group, or is left out for one reason.
  public var meant: Int { audience.users + control + audience.left }

  /// The counters that a finished slice adds to its campaign, with their field names.
  var fields: [(String, Int)] {
    [
      ("targets", targets), ("pruned", pruned), ("quarantined", quarantined), ("resent", resent), ("control", control),
    ] + audience.stored + outcomes.map { (String($0.key.rawValue), $0.value) }
  }

  static func += (left: inout SliceCounters, right: SliceCounters) {
    left.targets += right.targets
    left.outcomes.merge(right.outcomes, uniquingKeysWith: +)
    left.pruned += right.pruned
    left.quarantined += right.quarantined
    left.resent += right.resent
    left.control += right.control
    left.audience += right.audience
    left.inDoubt += right.inDoubt
    left.retrying += right.retrying
    left.later += right.later
  }
}
