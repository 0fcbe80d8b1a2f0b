import CampaignStore
import EventLoop
import PushTransport

/// Lets go of slices in hand.
struct SliceRelease: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let credit: CreditLedger
  let rates: RateService
  let guards: GuardService
  let failover: FailoverService
  let dispatcher: CreditDispatcher

  /// Lets go of a slice, wherever an error may have ended it. What is on its way stays in doubt in the ledger, and keeps
  /// its credit until it is answered: another slice must not have it meanwhile.
  func discard(_ session: SliceSession) {
    slices.remove(session)
    if slices.isEmpty { dispatcher.stopTicking() }
    guards.tellRest(of: session.context)
    failover.keep(session)
    // Of a slice that has ended everything was answered.
    let isEnded = session.claim.ending != nil && session.pending.unanswered == 0
    let unsent = isEnded ? 0 : session.context.facts.route.pool.cancelBacklog(where: session.tag.matches).count
    let underWay = max(0, session.pending.unanswered - unsent)
    session.context.unspend(unsent)
    rates.tellRest(of: session.context)
    credit.release(session, underWay: underWay)
  }
}
