import CampaignStore
import EventLoop
import PushCore

/// Tells Redis again what it had acknowledged of a slice in hand, if it has forgotten anything of it.
struct SliceReplay: WorkerPart {
  let environment: WorkerEnvironment
  let failover: FailoverService
  let committer: SliceCommitter
  let recorder: TargetRecorder

  /// What a slice can't be told again yet: the one who can restore its targets may still do so.
  private struct NotRestoredYet: Error, CustomStringConvertible {
    var description: String { "Redis has forgotten its targets; waiting for whoever sealed them" }
  }

  /// Tells Redis again what it had acknowledged of a slice in hand, if it has forgotten anything of it.
  func replay(_ session: SliceSession) async throws {
    let wait = failover.delay
    if wait > 0 { try await Task.sleep(nanoseconds: wait) }
    if try await !failover.restoreCampaigns(of: [session.context]).isEmpty {
      session.claim.mustReplay = false
      return recorder.withdraw(session, .lost)
    }
    try await sharedStore.audiences.addSlice(session.slice)
    var claimedAt = EventLoop.now
    var answer = try await session.ledger.claim(worker: environment.configuration.name)
    if isForgotten(answer, of: session) {
      try await tellAgain(session)
      claimedAt = EventLoop.now
      answer = try await session.ledger.claim(worker: environment.configuration.name)
      // What is granted now and has no answer was sent by somebody else, or by us too long ago to be told again.
      session.doubt.isInherited = true
    }
    session.claim.mustReplay = false
    guard case .claimed(let standing) = answer, standing.seal == session.claim.seal,
      standing.count == session.targets.count
    else {
      if case .claimed = answer { try await session.ledger.unclaim() }
      return recorder.withdraw(session, .lost)
    }
    session.adopt(standing, at: claimedAt, lease: lease)
    session.claim.granted = standing.granted
    session.claim.note(waiting: standing.waiting, later: standing.later)
    do {
      try await committer.reconcile(session)
    } catch {
      // Whose the doubt is would be forgotten: from the beginning again.
      session.claim.mustReplay = true
      throw error
    }
  }

  private func isForgotten(_ answer: ClaimAnswer, of session: SliceSession) -> Bool {
    let claim = session.claim
    guard case .claimed(let standing) = answer, standing.seal == claim.seal, standing.granted >= claim.granted else {
      return true
    }
    return standing.version.sequence < claim.version.sequence || standing.version.replays != claim.version.replays
  }

  private func tellAgain(_ session: SliceSession) async throws {
    let isSealed = try await failover.replay(
      session.ledger, seal: session.claim.seal, granted: session.claim.granted, session.journal,
      session.targets.decisions)
    if !isSealed, failover.isInGrace {
      // Whoever can seal them again needs the claim for it.
      try await session.ledger.unclaim()
      throw NotRestoredYet()
    }
    // Too late, as with slices that were let go of.
    if !isSealed { session.journal = SliceJournal() }
    session.journal.renew(at: EventLoop.now)
  }
}
