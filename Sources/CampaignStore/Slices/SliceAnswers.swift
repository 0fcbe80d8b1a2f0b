public import PushCore

/// What claiming a slice came to.
public enum ClaimAnswer: Sendable {
  /// It is ours.
  case claimed(SliceStanding)
  /// Another worker's lease has this many ms left.
  case held(milliseconds: Int)
  /// It had ended before; what is left is to count it.
  case finished
}

/// How far a slice has come.
public struct SliceStanding: Sendable {
  /// Whether the targets are fixed; before that there are none.
  public var isSealed: Bool
  /// Sealed targets.
  public var count: Int
  /// The high-water mark: targets below it may have been sent.
  public var granted: Int
  /// Granted without an answer.
  public var inDoubt: Int
  /// Waiting for a retry.
  public var waiting: Int
  /// How often the slice has been claimed, this time included.
  public var claims: Int
  /// What the list of targets is called; nothing before the seal.
  public var seal: [UInt8]
  /// How often it has been written to.
  public var version: SliceVersion
  /// Claims in a row that ran out without an outcome in between: after some, the slice is taken to kill its workers.
  public var deaths: Int
  /// First and last of the targets that were bisected when the last of them died, if any were.
  public var bisected: ClosedRange<Int>?
  /// Targets that wait for their own time.
  public var later = 0
  /// When that is; `nil` where all may be sent at once.
  public var times: SendTimes?
  /// Departures from the partition when the slice was claimed, see `departures.lua`.
  public var departures = 0
}

/// A target that may be sent.
public struct GrantedTarget: Equatable, Sendable {
  /// Its place in the slice.
  public var index: Int
  /// Attempts before this one.
  public var attempt: UInt8
  /// What is known of those attempts.
  public var history: AttemptHistory

  /// Memberwise; a first attempt unless said otherwise.
  public init(index: Int, attempt: UInt8 = 0, history: AttemptHistory = AttemptHistory()) {
    self.index = index
    self.attempt = attempt
    self.history = history
  }
}

/// How often a slice has been written to since its seal.
public struct SliceVersion: Equatable, Sendable {
  /// Commits by owners.
  public var sequence: Int
  /// Failover replays.
  public var replays: Int

  /// Memberwise; that of a slice just sealed unless said otherwise.
  public init(sequence: Int = 0, replays: Int = 0) {
    self.sequence = sequence
    self.replays = replays
  }

  /// After one more commit by its owner.
  public var next: SliceVersion { SliceVersion(sequence: sequence + 1, replays: replays) }
}

/// What a commit says beside its outcomes.
public struct CommitRequest: Sendable {
  /// What Redis should know.
  public enum Standing: Sendable {
    /// Everything up to this version: that after the last acknowledged commit.
    case acknowledged(SliceVersion)
    /// Perhaps not what it had acknowledged: the commit replays that, up to this high-water mark, with what was decided
    /// about the targets below it, from the first on. Nothing is granted.
    case replay(granted: Int, decisions: [GrantDecision] = [])
  }

  /// The name of the list of targets.
  public var seal: [UInt8]
  /// What Redis should know.
  public var standing: Standing
  /// How many more targets may be granted.
  public var credit: Int
  /// How many targets in doubt are being sent again because of this claim.
  public var resent: Int
  /// The number of departures that the worker has taken account of; `nil` for the number from before the expansion.
  public var departures: Int?
  /// Those of the targets that may be granted next whose users may have departed: they are checked when they are granted.
  public var suspects: [SealedTarget] = []

  /// Memberwise.
  public init(seal: [UInt8], standing: Standing, credit: Int = 0, resent: Int = 0, departures: Int? = nil) {
    self.seal = seal
    self.standing = standing
    self.credit = credit
    self.resent = resent
    self.departures = departures
  }
}

/// What a commit brought.
public struct CommitAnswer: Sendable {
  /// Whether the claim still holds; if not, nothing was granted.
  public var isOwner: Bool
  /// Whether the slice is sealed, and under the seal of the commit; if not, its outcomes were dropped.
  public var isSealed: Bool
  /// The version that was stored before. Another than was acknowledged means that nothing was granted.
  public var version: SliceVersion
  /// The high-water mark now: first attempts below it may be sent.
  public var granted: Int
  /// Granted without an answer.
  public var inDoubt: Int
  /// Waiting for a retry.
  public var waiting: Int
  /// Waiting for their own time: never granted.
  public var later: Int
  /// ms until the nearest of either is due; `nil` when none waits.
  public var nextRetry: Int?
  /// Retries that may be sent.
  public var retries: [GrantedTarget]
  /// Decisions about the targets granted for the first time, in order; empty if all of them are sent without a badge.
  public var firstDecisions: [GrantDecision] = []
  /// Decisions about the retries, in order; empty likewise.
  public var retryDecisions: [GrantDecision] = []
  /// Those of the checked targets that were granted and must not be sent.
  public var withheld: [(index: Int, decision: GrantDecision)] = []
  /// The users who have departed since the number of departures in the request; `nil` when nothing has changed.
  ///
  /// Their targets must be checked by ``SliceLedger/regrant(_:seal:)`` before they are sent, unless they were
  /// among the suspects of the request.
  public var departures: DepartureNews?
}

/// How a slice is closed.
public enum Closing: String, Sendable {
  /// Every target has its outcome.
  case finish
  /// The campaign was cancelled: what has no outcome gets one.
  case cancel
}

/// What closing a slice came to.
public enum CloseAnswer: Sendable {
  /// It has ended, now or before, with these counters.
  case closed(SliceCounters)
  /// The claim is another's.
  case stale
  /// Targets are left that are granted, waiting or never granted.
  case unfinished
}
