import CampaignStore
import EventLoop
import PushCore

/// Runs the steps of a held slice, one after the other, until the slice is finished, parked (released until a later
/// time), given back or lost.
struct SliceDriver: WorkerPart {
  let environment: WorkerEnvironment
  let dispatcher: CreditDispatcher
  let guards: GuardService
  let committer: SliceCommitter
  let replay: SliceReplay
  let closer: SliceCloser
  let returns: SliceReturn
  let failover: FailoverService

  /// Drives a slice until this worker no longer holds it.
  func drive(_ session: SliceSession) async throws {
    while true {
      do {
        if try await perform(dispatcher.nextStep(of: session), session) { return }
      } catch let error where !life.isAbandoning && !isFinal(error) {
        // The worker keeps the slice, because it must record the answers to its pushes in flight.
        session.claim.mustReconcile = true
        log.report("slice", of: session.slice, error)
        await failover.checkServer()
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Returns whether a retry is useless. This is the case if this version can't work with the store, or if the slice
  /// must be isolated.
  private func isFinal(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return error is CancellationError }
    return switch error.damage {
    case .slice?, .campaign?, .partition?: true
    // An operator may repair the damage. A stopping worker does not wait for the repair.
    case .catalog?, .shared?: life.isStopping
    case .list?, nil: error.code == .mismatch
    }
  }

  /// Runs one step of a slice.
  ///
  /// - Returns: whether the work on the slice has ended, so that this worker releases it.
  private func perform(_ step: SliceStep, _ session: SliceSession) async throws -> Bool {
    switch step {
    case .replay: try await replay.replay(session)
    case .wait: await session.wait()
    case .commit(let credit): try await committer.commit(session, credit: credit)
    case .resend(let count): try await committer.resend(session, count)
    case .skip(let count): try await committer.skip(session, count)
    case .bisect: try await committer.bisect(session)
    case .flush: guards.flush(session)
    case .finish: return try await finish(session)
    case .cancel:
      session.claim.ending = .cancel
      return try await closer.end(session.ledger, session.context, .cancel)
    case .park(let milliseconds):
      try await returns.park(session, for: milliseconds)
      return true
    case .leave:
      try await session.ledger.unclaim()
      try await returns.requeue(session)
      return true
    case .abandon:
      log.write(.lost(slice: session.slice))
      try await returns.postpone(session.slice)
      return true
    }
    return false
  }

  /// Closes a slice after this worker has recorded an outcome for each of its targets.
  ///
  /// - Returns: `false` if Redis has remaining targets.
  private func finish(_ session: SliceSession) async throws -> Bool {
    session.claim.ending = .finish
    if try await closer.end(session.ledger, session.context, .finish) { return true }
    session.claim.ending = nil
    session.claim.mustReconcile = true
    try await committer.commit(session, credit: 0)
    let isStuck =
      session.doubt.isEmpty && session.claim.waiting + session.claim.later == 0 && session.ungranted == 0
    if isStuck, !session.claim.mustReplay, session.intent == .send {
      throw StoreError(
        .refused, "the slice has remaining targets, but none of them is granted, waiting or new",
        hint: "this is a bug in Carillon: please report it, and keep the slice's keys in Redis")
    }
    return false
  }
}
