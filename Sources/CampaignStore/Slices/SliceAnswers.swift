public import PushCore

/// Result of claiming a slice.
public enum ClaimAnswer: Sendable {
  /// The caller owns the slice.
  case claimed(SliceStanding)
  /// Another worker's lease has this much time left, in ms.
  case held(milliseconds: Int)
  /// The slice has ended. Its campaign still has to count it.
  case finished
}

/// Progress of a slice at the time of its claim.
public struct SliceStanding: Sendable {
  /// Whether the targets are fixed. Before the seal there are none.
  public var isSealed: Bool
  /// Number of sealed targets.
  public var count: Int
  /// High-water mark: targets below it may have been sent.
  public var granted: Int
  /// Number of targets that are granted without a recorded answer.
  public var inDoubt: Int
  /// Number of targets that wait for a retry.
  public var waiting: Int
  /// Number of claims of the slice, including this one.
  public var claims: Int
  /// Name of the list of targets; empty before the seal.
  public var seal: [UInt8]
  /// Number of writes to the slice since its seal.
  public var version: SliceVersion
  /// Number of consecutive claims that expired with targets in doubt and without a new outcome. After several of them
  /// the slice is considered to kill its workers.
  public var deaths: Int
  /// First and last of the targets that were bisected when the last worker died; `nil` if there were none.
  public var bisected: ClosedRange<Int>?
  /// Number of targets whose own send time has not come.
  public var later = 0
  /// Send times of the targets; `nil` if all may be sent immediately.
  public var times: SendTimes?
  /// Number of departures from the partition when the slice was claimed, see `departures.lua`.
  public var departures = 0
}

/// A target that the worker may send.
public struct GrantedTarget: Equatable, Sendable {
  /// Index of the target in the slice.
  public var index: Int
  /// Number of attempts before this one.
  public var attempt: UInt8
  /// History of those attempts.
  public var history: AttemptHistory

  /// Memberwise. Default: a first attempt.
  public init(index: Int, attempt: UInt8 = 0, history: AttemptHistory = AttemptHistory()) {
    self.index = index
    self.attempt = attempt
    self.history = history
  }
}

/// Number of writes to a slice since its seal.
public struct SliceVersion: Equatable, Sendable {
  /// Number of commits by owners.
  public var sequence: Int
  /// Number of failover replays.
  public var replays: Int

  /// Memberwise. Default: the version of a newly sealed slice.
  public init(sequence: Int = 0, replays: Int = 0) {
    self.sequence = sequence
    self.replays = replays
  }

  /// The version after one more commit by the owner.
  public var next: SliceVersion { SliceVersion(sequence: sequence + 1, replays: replays) }
}

/// Request of a commit, apart from its outcomes.
public struct CommitRequest: Sendable {
  /// State that the worker expects in Redis.
  public enum Standing: Sendable {
    /// Redis should have all commits up to this version, which is the version after the last acknowledged commit.
    case acknowledged(SliceVersion)
    /// Redis may have lost commits that it had acknowledged. This commit replays them: up to this high-water mark, with
    /// the decisions about the targets below it, from the first target on. It grants nothing.
    case replay(granted: Int, decisions: [GrantDecision] = [])
  }

  /// Name of the list of targets.
  public var seal: [UInt8]
  /// State that the worker expects in Redis.
  public var standing: Standing
  /// Number of further targets that may be granted.
  public var credit: Int
  /// Number of targets in doubt that the worker sends again because of this claim.
  public var resent: Int
  /// Number of departures that the worker has handled; `nil` for the number from before the expansion.
  public var departures: Int?
  /// Targets among the next ones whose users may have departed. `commit.lua` checks them when it grants them.
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

/// Answer to a commit.
public struct CommitAnswer: Sendable {
  /// Whether the claim is still valid. If not, nothing was granted.
  public var isOwner: Bool
  /// Whether the slice is sealed under the seal of the commit. If not, its outcomes were dropped.
  public var isSealed: Bool
  /// The version that was stored before. If it differs from the acknowledged version, nothing was granted.
  public var version: SliceVersion
  /// The present high-water mark: first attempts below it may be sent.
  public var granted: Int
  /// Number of targets that are granted without a recorded answer.
  public var inDoubt: Int
  /// Number of targets that wait for a retry.
  public var waiting: Int
  /// Number of targets whose own send time has not come. They were never granted.
  public var later: Int
  /// ms until the next retry or send time; `nil` if no target waits.
  public var nextRetry: Int?
  /// Retries that the worker may send.
  public var retries: [GrantedTarget]
  /// Decisions about the targets granted for the first time, in order; empty if all of them are sent without a badge.
  public var firstDecisions: [GrantDecision] = []
  /// Decisions about the retries, in order; empty if all of them are sent without a badge.
  public var retryDecisions: [GrantDecision] = []
  /// Checked targets that were granted and must not be sent.
  public var withheld: [(index: Int, decision: GrantDecision)] = []
  /// The users who have departed since the number of departures in the request; `nil` if nothing has changed.
  ///
  /// The worker must check their targets by ``SliceLedger/regrant(_:seal:)`` before it sends them, unless they were
  /// among the suspects of the request.
  public var departures: DepartureNews?
}

/// Way of closing a slice.
public enum Closing: String, Sendable {
  /// Every target has an outcome.
  case finish
  /// The campaign was cancelled: every target without an outcome gets one.
  case cancel
}

/// Result of closing a slice.
public enum CloseAnswer: Sendable {
  /// The slice has ended, now or before, with these counters.
  case closed(SliceCounters)
  /// Another worker has the claim.
  case stale
  /// Some targets are granted without an answer, wait, or were never granted.
  case unfinished
}
