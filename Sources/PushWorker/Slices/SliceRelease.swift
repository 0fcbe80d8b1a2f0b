import CampaignStore
import EventLoop
import PushTransport

/// Lets go of slices in hand.
final class SliceRelease: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let credit: CreditLedger
  private let rates: RateService
  private let guards: GuardService
  private let failover: FailoverService
  private let dispatcher: CreditDispatcher

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, credit: CreditLedger, rates: RateService,
    guards: GuardService, failover: FailoverService, dispatcher: CreditDispatcher
  ) {
    self.environment = environment
    self.slices = slices
    self.credit = credit
    self.rates = rates
    self.guards = guards
    self.failover = failover
    self.dispatcher = dispatcher
  }

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
