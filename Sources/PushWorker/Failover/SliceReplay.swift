import CampaignStore
import EventLoop
import PushCore

/// Replays the acknowledged writes of a held slice, if Redis has lost any of them.
struct SliceReplay: WorkerPart {
  let environment: WorkerEnvironment
  let failover: FailoverService
  let committer: SliceCommitter
  let recorder: TargetRecorder

  /// Error of a replay while Redis lacks the slice's targets and another worker may still restore them.
  private struct NotRestoredYet: Error, CustomStringConvertible {
    var description: String { "Redis lost the targets of the slice; waiting for the worker that sealed them" }
  }

  /// Replays the acknowledged writes of a held slice, if Redis has lost any of them.
  func replay(_ session: SliceSession) async throws {
    let wait = failover.delay
    if wait > 0 { try await Task.sleep(nanoseconds: wait) }
    if try await !failover.restoreCampaigns(of: [session.context]).isEmpty {
      session.claim.mustReplay = false
      return recorder.stopSending(session, .lost)
    }
    try await sharedStore.audiences.addSlice(session.slice)
    var claimedAt = EventLoop.now
    var answer = try await session.ledger.claim(worker: environment.configuration.name)
    if isForgotten(answer, of: session) {
      try await replayOutcomes(session)
      claimedAt = EventLoop.now
      answer = try await session.ledger.claim(worker: environment.configuration.name)
      // Granted targets without an answer may have been sent: by another worker, or by this worker before the time that
      // its journal covers.
      session.doubt.isInherited = true
    }
    session.claim.mustReplay = false
    guard case .claimed(let progress) = answer, progress.seal == session.claim.seal,
      progress.count == session.targets.count
    else {
      if case .claimed = answer { try await session.ledger.unclaim() }
      return recorder.stopSending(session, .lost)
    }
    session.adopt(progress, at: claimedAt, lease: lease)
    session.claim.granted = progress.granted
    session.claim.record(waiting: progress.waiting, later: progress.later)
    do {
      try await committer.reconcile(session)
    } catch {
      // The next step starts the replay again from the beginning. Otherwise it would be unknown which worker has sent
      // the targets in doubt.
      session.claim.mustReplay = true
      throw error
    }
  }

  private func isForgotten(_ answer: ClaimAnswer, of session: SliceSession) -> Bool {
    let claim = session.claim
    guard case .claimed(let progress) = answer, progress.seal == claim.seal, progress.granted >= claim.granted else {
      return true
    }
    return progress.version.sequence < claim.version.sequence || progress.version.replays != claim.version.replays
  }

  private func replayOutcomes(_ session: SliceSession) async throws {
    let isSealed = try await failover.replay(
      session.ledger, seal: session.claim.seal, granted: session.claim.granted, session.journal,
      session.targets.decisions)
    if !isSealed, failover.isInGrace {
      // The worker that can seal the targets again needs the claim.
      try await session.ledger.unclaim()
      throw NotRestoredYet()
    }
    // It is too late to replay the old list of targets. The same rule applies to released slices.
    if !isSealed { session.journal = SliceJournal() }
    session.journal.renew(at: EventLoop.now)
  }
}
