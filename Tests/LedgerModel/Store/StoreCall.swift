/// How a target can end in the model; codes as in the ledger.
public enum Ending: UInt8, CaseIterable, Sendable {
  case accepted = 16
  case unregistered = 17
  case failed = 22
  case unknown = 24
  case cancelled = 25
  case gone = 28

  /// Whether it says that the push was not delivered, though APNs has not refused the target for good.
  var saysUndelivered: Bool { self == .failed || self == .cancelled || self == .gone }

  /// Its place in a row of counters.
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

/// States of records that are not endings.
enum RecordState {
  static let granted: UInt8 = 0
  static let waiting: UInt8 = 1
}

/// Records on their way into a ledger: state, attempt and, of those that wait, ticks until they are due.
public struct RecordRow: Equatable, Sendable {
  public internal(set) var indexes = SmallSet()
  public internal(set) var state = SIMD8<UInt8>()
  public internal(set) var attempt = SIMD8<UInt8>()
  public internal(set) var delay = SIMD8<UInt8>()
  /// Targets of which an earlier attempt was sent and not answered.
  public internal(set) var ambiguous = SmallSet()

  mutating func set(_ index: Int, _ state: UInt8, attempt: UInt8, isAmbiguous: Bool, delay: Int = 0) {
    indexes.insert(index)
    if isAmbiguous { ambiguous.insert(index) } else { ambiguous.remove(index) }
    self.state[index] = state
    self.attempt[index] = attempt
    self.delay[index] = UInt8(delay)
  }
}

/// One call of one script, with all that it carries.
public struct StoreCall: Sendable {
  /// Which script.
  public enum Kind: UInt8, Sendable {
    case activate, look, dequeue, claim, append, seal, commit, replay, regrant, read, unclaim, close, depart
    case finish, park, postpone, requeue, dismiss, heartbeat, inspect, removeWorker, reopen, control, unpark
  }

  /// What is asked of a campaign.
  public enum Verb: UInt8, Sendable {
    case pause, resume, cancel
  }

  public internal(set) var kind: Kind
  public internal(set) var slice = 0
  /// Whose list it concerns.
  public internal(set) var name = 0
  public internal(set) var claim = 0
  public internal(set) var seal = 0
  public internal(set) var seq = 0
  public internal(set) var replays = 0
  public internal(set) var credit = 0
  public internal(set) var resent = 0
  public internal(set) var highWater = 0
  public internal(set) var records = RecordRow()
  /// With a replay: retries that had been granted.
  public internal(set) var grants = RecordRow()
  /// With `append`: the targets.
  public internal(set) var order = SIMD8<UInt8>()
  public internal(set) var count = 0
  /// With `seal`: how many had departed before the expansion; -1 when a seal is restored. With `commit`: how many the
  /// worker has taken account of; -2 for as many as the seal noted.
  public internal(set) var departures = 0
  /// With `regrant`: which targets. With `commit`: which of those that may be granted are to be checked.
  public internal(set) var indexes = SmallSet()
  /// With `depart`: whose user departs.
  public internal(set) var target = 0
  public internal(set) var cancels = false
  public internal(set) var ticks = 0
  public internal(set) var verb = Verb.pause
  /// With `finish`: the slice's endings, targets and resent ones.
  public internal(set) var tally = SIMD8<Int16>()

  init(_ kind: Kind, slice: Int = 0, name: Int = 0, claim: Int = 0) {
    self.kind = kind
    self.slice = slice
    self.name = name
    self.claim = claim
  }
}

/// What a script answers; which fields count depends on the call.
public struct StoreReply: Equatable, Sendable {
  /// How it went.
  public enum Result: UInt8, Sendable {
    case done, refused, held, finished, unsealed
  }

  public internal(set) var result = Result.done
  public internal(set) var phase = SliceState.Phase.none
  public internal(set) var isOwner = false
  /// Nothing had come between this commit and the owner's last.
  public internal(set) var isExpected = false
  public internal(set) var slice = 0
  public internal(set) var seal = 0
  public internal(set) var seq = 0
  public internal(set) var replays = 0
  public internal(set) var count = 0
  /// The high-water mark.
  public internal(set) var granted = 0
  /// How many of the targets below it this commit has granted.
  public internal(set) var fresh = 0
  public internal(set) var doubt = 0
  public internal(set) var waiting = 0
  /// Ticks until the next retry or until a lease ends.
  public internal(set) var ticks = -1
  /// Retries granted, or records read.
  public internal(set) var records = RecordRow()
  /// Of the targets that are checked: those that are not to be sent.
  public internal(set) var withheld = SmallSet()
  /// Of the targets that are granted or asked about: those whose users have departed. No script says so; the checks go by it.
  public internal(set) var departed = SmallSet()
  /// How many users have departed from the partition; of a commit that granted nothing -1.
  public internal(set) var departures = 0
  /// Of a commit: the targets, by number, whose users have departed since as many as the worker knew of, and whether it may
  /// be any.
  public internal(set) var news = SmallSet()
  public internal(set) var isAnybody = false
  public internal(set) var order = SIMD8<UInt8>()
  public internal(set) var state = ControlState.Campaign.absent
  public internal(set) var tally = SIMD8<Int16>()
}
