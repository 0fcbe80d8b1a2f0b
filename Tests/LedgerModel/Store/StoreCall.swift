/// The outcomes of a target in the model, with the codes of the ledger.
public enum Ending: UInt8, CaseIterable, Sendable {
  case accepted = 16
  case unregistered = 17
  case failed = 22
  case unknown = 24
  case cancelled = 25
  case gone = 28

  /// Whether the outcome means that the push was not delivered, although APNs has not refused the target permanently.
  var saysUndelivered: Bool { self == .failed || self == .cancelled || self == .gone }

  /// Place in a row of counters.
  public var place: Int {
    switch self {
    case .accepted: 0
    case .unregistered: 1
    case .failed: 2
    case .unknown: 3
    case .cancelled: 4
    case .gone: 5
    }
  }
}

/// States of records without an outcome.
enum RecordState {
  static let granted: UInt8 = 0
  static let waiting: UInt8 = 1
}

/// Records for a ledger: state, attempt and, for waiting ones, ticks until they are due.
public struct RecordRow: Equatable, Sendable {
  public internal(set) var indexes = SmallSet()
  public internal(set) var state = SIMD8<UInt8>()
  public internal(set) var attempt = SIMD8<UInt8>()
  public internal(set) var delay = SIMD8<UInt8>()
  /// Targets with an earlier attempt that was sent and not answered.
  public internal(set) var ambiguous = SmallSet()

  mutating func set(_ index: Int, _ state: UInt8, attempt: UInt8, isAmbiguous: Bool, delay: Int = 0) {
    indexes.insert(index)
    if isAmbiguous { ambiguous.insert(index) } else { ambiguous.remove(index) }
    self.state[index] = state
    self.attempt[index] = attempt
    self.delay[index] = UInt8(delay)
  }
}

/// One call of one script, with all arguments.
public struct StoreCall: Sendable {
  /// The script.
  public enum Kind: UInt8, Sendable {
    case activate, look, dequeue, claim, append, seal, commit, replay, regrant, read, unclaim, close, depart
    case finish, park, postpone, requeue, dismiss, heartbeat, inspect, removeWorker, reopen, control, unpark
  }

  /// A command for a campaign.
  public enum Verb: UInt8, Sendable {
    case pause, resume, cancel
  }

  public internal(set) var kind: Kind
  public internal(set) var slice = 0
  /// The worker whose list is affected.
  public internal(set) var name = 0
  public internal(set) var claim = 0
  public internal(set) var seal = 0
  public internal(set) var seq = 0
  public internal(set) var replays = 0
  public internal(set) var credit = 0
  public internal(set) var resent = 0
  public internal(set) var highWater = 0
  public internal(set) var records = RecordRow()
  /// For a replay: retries that had been granted.
  public internal(set) var grants = RecordRow()
  /// For `append`: the targets.
  public internal(set) var order = SIMD8<UInt8>()
  public internal(set) var count = 0
  /// For `seal`: number of departures before the expansion; -1 for a restored seal. For `commit`: number of departures
  /// that the worker has processed; -2 for the number in the seal.
  public internal(set) var departures = 0
  /// For `regrant`: the targets. For `commit`: those of the targets to grant that Redis must check.
  public internal(set) var indexes = SmallSet()
  /// For `depart`: the target of the departing user.
  public internal(set) var target = 0
  public internal(set) var cancels = false
  public internal(set) var ticks = 0
  public internal(set) var verb = Verb.pause
  /// For `finish`: the slice's counts of outcomes, targets and resent targets.
  public internal(set) var tally = SIMD8<Int16>()

  init(_ kind: Kind, slice: Int = 0, name: Int = 0, claim: Int = 0) {
    self.kind = kind
    self.slice = slice
    self.name = name
    self.claim = claim
  }
}

/// The reply of a script. The call determines which fields are used.
public struct StoreReply: Equatable, Sendable {
  /// The result of the call.
  public enum Result: UInt8, Sendable {
    case done, refused, held, finished, unsealed
  }

  public internal(set) var result = Result.done
  public internal(set) var phase = SliceState.Phase.none
  public internal(set) var isOwner = false
  /// Whether no other call was applied between the previous commit that the owner knows and this one.
  public internal(set) var isExpected = false
  public internal(set) var slice = 0
  public internal(set) var seal = 0
  public internal(set) var seq = 0
  public internal(set) var replays = 0
  public internal(set) var count = 0
  /// The high-water mark.
  public internal(set) var granted = 0
  /// Number of targets that this commit has granted for the first time: the last ones below the mark.
  public internal(set) var fresh = 0
  public internal(set) var doubt = 0
  public internal(set) var waiting = 0
  /// Ticks until the next retry or until a lease ends.
  public internal(set) var ticks = -1
  /// The granted retries, or the records that were read.
  public internal(set) var records = RecordRow()
  /// The checked targets that must not be sent.
  public internal(set) var withheld = SmallSet()
  /// The granted or checked targets whose users have departed. No script returns this; only the checks use it.
  public internal(set) var departed = SmallSet()
  /// Number of departures from the partition; -1 for a commit that granted nothing.
  public internal(set) var departures = 0
  /// For a commit: the targets, by number, of users who departed after the departures that the worker knew, and whether
  /// any target may be affected.
  public internal(set) var news = SmallSet()
  public internal(set) var isAnybody = false
  public internal(set) var order = SIMD8<UInt8>()
  public internal(set) var state = ControlState.Campaign.absent
  public internal(set) var tally = SIMD8<Int16>()
}
