public import PushCore

/// Result of claiming a slice.
public enum ClaimAnswer: Sendable {
  /// The caller owns the slice.
  case claimed(SliceProgress)
  /// Another worker owns the slice. Its lease ends after this time, in ms.
  case held(milliseconds: Int)
  /// The slice has ended. The worker must still add the slice's counters to the campaign (`finish.lua`).
  case finished
}

/// Progress of a slice at the time of its claim.
public struct SliceProgress: Sendable {
  /// Whether the list of targets is sealed (final). Before that, the slice has no targets.
  public var isSealed: Bool
  /// Number of sealed targets.
  public var count: Int
  /// Number of targets that were granted so far. Targets with an index below this number may have been sent.
  public var granted: Int
  /// Number of targets that are granted without a recorded answer.
  public var inDoubt: Int
  /// Number of targets that wait for a retry.
  public var waiting: Int
  /// Number of claims of the slice, including this one.
  public var claims: Int
  /// Seal id: the id of the claim that sealed the list of targets. Empty before the list is sealed.
  public var seal: [UInt8]
  /// Number of writes to the slice since its targets were sealed.
  public var version: SliceVersion
  /// Number of consecutive claims that expired with targets in doubt and without a new outcome. Several such claims
  /// suggest a *poison target*: a target whose push crashes the worker that sends it.
  public var deaths: Int
  /// If the last worker died during a search for a poison target (`bisect.lua`): first and last index of the targets
  /// that it was sending. `nil` if it was not searching.
  public var bisected: ClosedRange<Int>?
  /// Number of targets whose own send time has not come.
  public var later = 0
  /// Send times of the targets; `nil` if all may be sent immediately.
  public var times: SendTimes?
  /// Number of departures from the partition (a user lost a device or opted out) before the slice was claimed, see
  /// `departures.lua`.
  public var departures = 0
}

/// A target that the worker may send.
public struct GrantedTarget: Equatable, Sendable {
  /// Index of the target in the slice.
  public var index: Int
  /// Number of attempts before this one.
  public var attempt: UInt8
  /// History of the attempts before this one.
  public var history: AttemptHistory

  /// Creates a granted target. The defaults are those of a first attempt.
  public init(index: Int, attempt: UInt8 = 0, history: AttemptHistory = AttemptHistory()) {
    self.index = index
    self.attempt = attempt
    self.history = history
  }
}

/// Number of writes to a slice since its targets were sealed.
public struct SliceVersion: Equatable, Sendable {
  /// Number of commits by owners of the slice.
  public var sequence: Int
  /// Number of replays after failovers.
  public var replays: Int

  /// Creates a version. The default is the version of a newly sealed slice.
  public init(sequence: Int = 0, replays: Int = 0) {
    self.sequence = sequence
    self.replays = replays
  }

  /// The version after one more commit by the owner.
  public var next: SliceVersion { SliceVersion(sequence: sequence + 1, replays: replays) }
}

/// The part of a commit that is not outcomes: the request for further grants, and the state that the worker expects in
/// Redis.
public struct CommitRequest: Sendable {
  /// State that the worker expects in Redis.
  public enum ExpectedState: Sendable {
    /// Redis is expected to have this version, which is the version after the last acknowledged commit.
    case acknowledged(SliceVersion)
    /// Redis may have lost commits that it had acknowledged, and this commit replays them. The associated values are
    /// the number of granted targets and the decisions about these targets. A replay grants nothing.
    case replay(granted: Int, decisions: [GrantDecision] = [])
  }

  /// Seal id of the list of targets.
  public var seal: [UInt8]
  /// State that the worker expects in Redis.
  public var expected: ExpectedState
  /// Maximum number of further targets to grant.
  public var credit: Int
  /// Number of targets in doubt that the worker has sent again after it took over the slice.
  public var resent: Int
  /// The number of departures that the worker has handled (`departures.lua`); `nil` for the number before the
  /// expansion.
  public var departures: Int?
  /// Targets that this commit may grant and whose users may have departed. `commit.lua` checks these targets when it
  /// grants them.
  public var suspects: [SealedTarget] = []

  /// Creates a request.
  public init(seal: [UInt8], expected: ExpectedState, credit: Int = 0, resent: Int = 0, departures: Int? = nil) {
    self.seal = seal
    self.expected = expected
    self.credit = credit
    self.resent = resent
    self.departures = departures
  }
}

/// Answer to a commit.
public struct CommitAnswer: Sendable {
  /// Whether the claim is still valid. If not, nothing was granted.
  public var isOwner: Bool
  /// Whether the sealed list has the seal id of the commit. If not, Redis has dropped the outcomes.
  public var isSealed: Bool
  /// The version before this commit. If it differs from the acknowledged version, nothing was granted.
  public var version: SliceVersion
  /// Number of targets that were granted so far. The worker may send the first push to each target with an index below
  /// this number.
  public var granted: Int
  /// Number of targets that are granted without a recorded answer.
  public var inDoubt: Int
  /// Number of targets that wait for a retry.
  public var waiting: Int
  /// Number of targets whose own send time has not come. Redis has not granted them.
  public var later: Int
  /// ms until the next retry or send time; `nil` if no target waits.
  public var nextRetry: Int?
  /// Retries that the worker may send.
  public var retries: [GrantedTarget]
  /// Decisions about the targets granted for the first time, in order; empty if all of them are sent without a badge.
  public var firstDecisions: [GrantDecision] = []
  /// Decisions about the retries, in order; empty if all of them are sent without a badge.
  public var retryDecisions: [GrantDecision] = []
  /// Targets of departed users that `commit.lua` has checked and that the worker must not send, with the decisions.
  public var withheld: [(index: Int, decision: GrantDecision)] = []
  /// The departures after those that the worker has handled according to its request; `nil` if there are none.
  ///
  /// Before the worker sends targets of these users, it must check them with ``SliceLedger/regrant(_:seal:)``. Only the
  /// suspects of the request need no further check.
  public var departures: NewDepartures?
}

/// Reason for closing a slice.
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
  /// Some targets have no outcome: they are in doubt, wait for a retry, or were never granted.
  case unfinished
}
