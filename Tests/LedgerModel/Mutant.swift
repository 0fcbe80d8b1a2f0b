/// A rule that the model breaks on purpose, to prove that the checks notice it.
public enum Mutant: UInt8, CaseIterable, Sendable {
  // Rules of the store.
  /// A commit is granted credit regardless of the slice's claim.
  case noFence
  /// A claim is given although another claim's lease has not expired.
  case leaseIgnored
  /// Any later record overwrites an earlier one.
  case noMergeOrder
  /// The first outcome stays, even if a 200 follows.
  case acceptedDoesNotWin
  /// A commit is merged into any sealed list of targets.
  case sealNotChecked
  /// A commit is granted credit although its worker does not know the result of its previous one.
  case sequenceNotChecked
  /// A replay counts as a commit of the owner. The owner then can't detect that Redis lost a commit.
  case replayMovesSequence
  /// A stale owner's outcomes raise the high-water mark without a notice to the owner.
  case raisedUnseen
  /// A former owner may record that a target waits for a retry.
  case waitingFromStale
  /// A replay may record that a target waits for a retry, although the target may have been granted to another worker
  /// since.
  case replaysWaiting
  /// A granted retry stays in the retry set.
  case retryStaysDue
  /// A slice is closed with targets in doubt.
  case closesWithDoubt
  /// A cancel ends a waiting target as cancelled, although an earlier attempt was ambiguous.
  case cancelForgetsAmbiguity
  /// A stale owner may record that a target was not delivered, although the new owner may have sent it.
  case staleFailureCounts
  /// A retry is granted without the history of its earlier attempts.
  case grantForgetsAmbiguity
  /// A departure does not raise the number of departures.
  case departureNotCounted
  /// The seal stores the number of departures at the time of the seal, not the number before the expansion.
  case departuresNotedAtSeal
  /// A closed slice is added to the totals each time it is finished.
  case bitIgnored
  /// A finished slice is opened again.
  case reopensFinished

  // Rules of the worker.
  /// Sends targets that were not granted.
  case creditIgnored
  /// Sends requested targets before Redis has acknowledged the grant.
  case sendsBeforeGrant
  /// Sends a retry without a grant.
  case retriesUngranted
  /// Records pushes as accepted when it hands them to APNs.
  case acknowledgeFirst
  /// Treats its own unrecorded answers as targets in doubt.
  case resendsUnrecorded
  /// Treats targets that were granted to a new owner as its own targets in doubt.
  case doubtsOfOthers
  /// Continues after a lost reply as if nothing had been granted.
  case noReconcile
  /// Returns credit before it knows whether the commit was applied.
  case creditReturnedEarly
  /// Releases a slice with pushes in flight if reading its records fails.
  case failedReadDiscards
  /// Sends targets in doubt again in spite of `skip`.
  case skipResends
  /// Forgets that a push was not answered when its target waits for the next attempt.
  case ambiguityNotRecorded
  /// Treats a target that an earlier owner left in doubt as never sent.
  case resendForgetsDoubt
  /// Records that all attempts failed, although one of them was ambiguous.
  case exhaustionForgetsAmbiguity
  /// Does not check targets for departures at their first grant.
  case grantsUnchecked
  /// Does not check retries for departures.
  case retriesUnchecked
  /// Does not check targets in doubt for departures before it sends them again.
  case resendsUnchecked
  /// Drops known departures when it learns of new ones.
  case departuresForgotten
  /// Uses the number of departures from before a failover of Redis.
  case knownAfterFall
  /// A restored seal gets its original number of departures.
  case restoredSealTrusted
  /// Drops its journal.
  case noReplay
  /// Reads the targets in doubt before it replays.
  case readsBeforeReplay
  /// Does not check whether Redis has a new run id.
  case runIDIgnored
  /// Continues an expansion after a failover of Redis.
  case sealsAfterFall
  /// Keeps journal entries that it could not replay in time until the next failover.
  case staleSealKept
  /// Claims immediately after its replay, without waiting for the replays of others.
  case noGraceForClaims
  /// Claims immediately after its start, although Redis may have just failed over.
  case noGraceAtStart
  /// Requests credit immediately after its replay.
  case noGraceForCredit
  /// Does not restore a lost seal.
  case sealNotRestored
  /// Considers a replay complete although the slice is not sealed.
  case replayOnce
  /// Does not close a slice again whose close Redis has lost.
  case closeNotReplayed
  /// Finishes a slice with the counters of a close that Redis may have lost.
  case oldCountersFinish
  /// Journals records that Redis refused because this worker is a former owner.
  case refusalsJournaled
  /// Does not journal replayed entries, or information from other calls than commits.
  case replayNotJournaled
  /// Treats a missing campaign as cancelled.
  case goneMeansCancelled
  /// Does not take over the slices in dead workers' lists.
  case noTakeover
  /// Does not requeue the leftovers in its own list.
  case noLeftovers
  /// Does not look for slices that are in no list.
  case noReopen

  /// The case's name.
  public var name: String { "\(self)" }

  /// Finds the mutant with this name.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

/// Parameters of a run: times in ticks, sizes, and the broken rule, if any.
public struct Rules: Sendable {
  /// A bit for each broken rule.
  private let broken: UInt64
  /// Limit of targets in doubt per worker.
  public var window = 3
  /// Limit of attempts for a target.
  public var attempts = 3
  /// Whether targets in doubt are never sent again.
  public var skips = false
  /// Time after which a claim without a commit expires. A worker without a heartbeat for this time counts as dead.
  static let lease = 30
  /// Age limit of journal entries.
  static let retention = 14
  /// Number of the last ticks whose writes Redis can lose.
  static let forgetting = 9
  /// Time after a failover of Redis in which workers make no claims and request no credit.
  static let grace = 14
  /// A worker keeps a slice if its next retry is due within this time.
  static let shortWait = 2

  /// Creates the parameters with a broken rule, if any.
  public init(mutant: Mutant? = nil) {
    broken = mutant.map { 1 << UInt64($0.rawValue) } ?? 0
  }

  func breaks(_ mutant: Mutant) -> Bool { broken >> UInt64(mutant.rawValue) & 1 == 1 }
}
