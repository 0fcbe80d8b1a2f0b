import CampaignStore
import EventLoop
import PushTransport

/// Releases held slices: ends the work of this worker on them.
struct SliceRelease: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let credit: CreditLedger
  let rates: RateService
  let guards: GuardService
  let failover: FailoverService
  let dispatcher: CreditDispatcher

  /// Releases a slice, also after an error in any step. In Redis, its pushes in flight stay in doubt. On this worker,
  /// these pushes keep their credit until they are answered. Until then no other slice may use this credit.
  func discard(_ session: SliceSession) {
    slices.remove(session)
    if slices.isEmpty { dispatcher.stopTicking() }
    guards.reportRest(of: session.context)
    failover.addReleased(session)
    // If the slice has ended, all its pushes were answered.
    let isEnded = session.claim.ending != nil && session.pending.unanswered == 0
    let unsent = isEnded ? 0 : session.context.facts.route.pool.cancelBacklog(where: session.tag.matches).count
    let inFlight = max(0, session.pending.unanswered - unsent)
    session.context.returnPermits(unsent)
    rates.returnUnused(of: session.context)
    credit.release(session, inFlight: inFlight)
  }
}
