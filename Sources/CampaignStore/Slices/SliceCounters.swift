public import PushCore
import Redis

/// Counters of a slice or, added up, of a campaign.
public struct SliceCounters: Sendable, Equatable {
  /// Sealed targets.
  public var targets = 0
  /// Targets by outcome; none are left out that are not zero.
  public var outcomes: [Outcome: Int] = [:]
  /// Devices taken out of the registry.
  public var pruned = 0
  /// Devices kept but not sent to any more.
  public var quarantined = 0
  /// Users who were meant, and in a control group: they got nothing, and are no targets.
  public var control = 0
  /// How the users of the audience divide; empty of a campaign to raw tokens.
  public var audience = AudienceCount()
  /// Targets in doubt that were sent again.
  public var resent = 0
  /// Granted without an answer so far.
  public var inDoubt = 0
  /// Waiting for a retry.
  public var retrying = 0
  /// Waiting for their own time.
  public var later = 0

  /// All zero.
  public init() {}

  /// From the fields of a slice's hash.
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

  /// From the fields of a campaign's hash, which has what finished slices added to it.
  init(totals fields: StoredFields) throws(StoreError) {
    targets = try fields.number("targets") ?? 0
    try readShared(fields)
  }

  /// What of a campaign's hash are counters.
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

  /// Users of the audience: each gets a push, is in a control group, or is left out for one reason.
  public var meant: Int { audience.users + control + audience.left }

  /// What a finished slice adds to its campaign.
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
