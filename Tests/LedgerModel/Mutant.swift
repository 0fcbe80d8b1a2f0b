/// A rule that is broken on purpose: a check that can't fail is worth nothing.
public enum Mutant: UInt8, CaseIterable, Sendable {
  // Of the store.
  /// A commit is granted credit whoever's claim stands.
  case noFence
  /// A claim is given while another's lease stands.
  case leaseIgnored
  /// A record is overwritten by whatever comes.
  case noMergeOrder
  /// The first outcome stays, even if a 200 comes after it.
  case acceptedDoesNotWin
  /// A commit is merged into whatever list of targets is sealed.
  case sealNotChecked
  /// A commit is granted credit though its worker does not know how the last one ended.
  case sequenceNotChecked
  /// A replay counts as a commit of the owner, who so can't tell that Redis lost one.
  case replayMovesSequence
  /// A stale owner's outcomes raise the high-water mark and the owner is not told.
  case raisedUnseen
  /// Whoever lost the claim may say that a target waits for a retry.
  case waitingFromStale
  /// A replay may say that a target waits for a retry, though another may have been granted it since.
  case replaysWaiting
  /// A retry that is granted stays in the set of those that wait.
  case retryStaysDue
  /// A slice is closed with targets in doubt.
  case closesWithDoubt
  /// A cancel ends a target that waits as cancelled, though an earlier attempt was ambiguous.
  case cancelForgetsAmbiguity
  /// A stale owner says that a target was not delivered, though its new owner may have sent it.
  case staleFailureCounts
  /// A retry is granted without what is known of the attempts before it.
  case grantForgetsAmbiguity
  /// A departure does not raise the number of departures.
  case departureNotCounted
  /// The seal notes how many have departed by then, and not before the expansion.
  case departuresNotedAtSeal
  /// A closed slice is added to the totals whenever somebody finishes it.
  case bitIgnored
  /// A finished slice is opened again.
  case reopensFinished

  // Of the worker.
  /// Sends targets beyond what was granted.
  case creditIgnored
  /// Sends what it asks for before Redis has acknowledged the grant.
  case sendsBeforeGrant
  /// Sends what waits for a retry without a grant.
  case retriesUngranted
  /// Records pushes as accepted when it hands them over.
  case acknowledgeFirst
  /// Takes its own unrecorded answers for targets in doubt.
  case resendsUnrecorded
  /// Takes what was granted to whoever took over for its own doubt.
  case doubtsOfOthers
  /// After a lost reply goes on as if nothing had been granted.
  case noReconcile
  /// Gives credit back before it knows whether the commit that asked for it was applied.
  case creditReturnedEarly
  /// A slice is let go of when reading its records fails, with pushes under way.
  case failedReadDiscards
  /// Sends targets in doubt again though the campaign says `skip`.
  case skipResends
  /// Forgets that a push was not answered once the target waits for its next attempt.
  case ambiguityNotRecorded
  /// Takes a target that an earlier owner left in doubt for one that was never sent.
  case resendForgetsDoubt
  /// Records that attempts were used up though one of them was ambiguous.
  case exhaustionForgetsAmbiguity
  /// Targets that are granted for the first time are not checked for departures.
  case grantsUnchecked
  /// Retries are not checked for departures.
  case retriesUnchecked
  /// Targets in doubt are not checked for departures before they are sent again.
  case resendsUnchecked
  /// A worker forgets who has departed when it hears of others.
  case departuresForgotten
  /// A worker goes by the number of departures that it knew before Redis fell.
  case knownAfterFall
  /// A seal that is restored has the number of departures that it had.
  case restoredSealTrusted
  /// Forgets its journal.
  case noReplay
  /// Reads which targets are in doubt before it replays.
  case readsBeforeReplay
  /// Does not look whether Redis is another one than before.
  case runIDIgnored
  /// Goes on with an expansion after a fall of Redis.
  case sealsAfterFall
  /// Keeps what it could not tell Redis again in time, for the next fall.
  case staleSealKept
  /// Claims at once when it has replayed, not when others had time to.
  case noGraceForClaims
  /// Claims at once when it has just been started, though Redis may just have fallen.
  case noGraceAtStart
  /// Asks for credit at once when it has replayed.
  case noGraceForCredit
  /// Does not restore a seal that Redis forgot.
  case sealNotRestored
  /// Takes a replay for done though the slice is not sealed.
  case replayOnce
  /// Does not close again a slice whose close Redis has lost.
  case closeNotReplayed
  /// Finishes a slice with the counters of a close that Redis may have lost.
  case oldCountersFinish
  /// Does not journal what it replays, nor what it learned otherwise than by a commit.
  case replayNotJournaled
  /// Takes a campaign that is gone for one that was cancelled.
  case goneMeansCancelled
  /// Does not take over what is in dead workers' lists.
  case noTakeover
  /// Does not requeue the leftovers in its own list.
  case noLeftovers
  /// Does not look for slices that are in no list.
  case noReopen

  /// As written here.
  public var name: String { "\(self)" }

  /// The one of that name.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

/// What holds in a run: times in ticks, sizes, and the rule that is broken, if any.
public struct Rules: Sendable {
  /// A bit for every broken rule.
  private let broken: UInt64
  /// Targets in doubt at most, per worker.
  public var window = 3
  /// Attempts of a target.
  public var attempts = 3
  /// Whether targets in doubt are never sent again.
  public var skips = false
  /// How long a claim lasts without a commit; also the time without a heartbeat after which a worker is taken for dead.
  static let lease = 30
  /// How far a journal reaches back.
  static let retention = 14
  /// How many ticks of writes Redis loses at most.
  static let forgetting = 9
  /// How long nothing is claimed and no credit asked for after a fall of Redis.
  static let grace = 14
  /// Retries nearer than this are waited for.
  static let shortWait = 2

  /// With the rule that is broken, if any.
  public init(mutant: Mutant? = nil) {
    broken = mutant.map { 1 << UInt64($0.rawValue) } ?? 0
  }

  func breaks(_ mutant: Mutant) -> Bool { broken >> UInt64(mutant.rawValue) & 1 == 1 }
}
