import PushTransport
import CampaignStore
import Dispatch
import EventLoop
import PushCore

/// Lends the window to slices, in the order in which they are served, and takes credit back where others have a right to it.
final class CreditDispatcher: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let credit: CreditLedger
  private let recorder: TargetRecorder
  private let guards: GuardService
  private let rates: RateService
  private let declined: DeclinedCampaigns
  private let routes: PushRouteTable
  private let failover: FailoverService
  /// Calls ``tick()``; made when the first slice comes into hand.
  private var timer: LoopTimer?
  private var isTicking = false

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, credit: CreditLedger, recorder: TargetRecorder,
    guards: GuardService, rates: RateService, declined: DeclinedCampaigns, routes: PushRouteTable,
    failover: FailoverService
  ) {
    self.environment = environment
    self.slices = slices
    self.credit = credit
    self.recorder = recorder
    self.guards = guards
    self.rates = rates
    self.declined = declined
    self.routes = routes
    self.failover = failover
  }

  /// Has ``tick()`` called while slices are in hand.
  func startTicking() {
    guard !isTicking else { return }
    isTicking = true
    let timer = timer ?? loop.timer { [weak self] in self?.tick() }
    self.timer = timer
    timer.schedule(every: .milliseconds(SliceSituation.patience))
  }

  /// Stops the calls of ``tick()``.
  func stopTicking() {
    isTicking = false
    timer?.disarm()
  }

  /// Every few ms: outcomes that have waited long enough, leases to renew, retries that are due, credentials that were
  /// stopped, pools that can't send.
  private func tick() {
    let now = EventLoop.now
    failover.noteRunning(now)
    for route in routes.routes where route.look(now) { wakeClaims() }
    declined.objectForStoppedCredentials()
    reclaim(now)
    dispatch(takingMore: false)
  }

  /// Wakes the slices that have something to do, in the order in which they are served.
  ///
  /// - Parameter takingMore: whether to look for further slices, where there is room: not without a reason, they are
  ///   looked for regularly.
  func dispatch(takingMore: Bool) {
    let now = EventLoop.now
    guards.askToStandDown(now)
    guards.refreshTrials(now)
    rates.refresh(now)
    guards.reportWatches(now)
    let entries = entries(now)
    let demand = Scheduler.Demand(entries)
    var ungranted = 0
    // Those of slices that wait for their rates are looked for when these run short.
    let isOnlyLimited = !entries.isEmpty && entries.allSatisfy { $0.enough != nil }
    for entry in Scheduler.order(entries) where entry.isReady {
      guard let session = slices.session(in: entry.slot) else { continue }
      if situation(of: session, entry, demand, now).next != .wait { session.wake() }
      ungranted += entry.ahead
    }
    if takingMore, !isOnlyLimited, ungranted < environment.configuration.window { wakeClaims() }
  }

  /// What a slice does next.
  func nextStep(of session: SliceSession) -> SliceStep {
    let now = EventLoop.now
    return nextStep(of: session, Scheduler.Demand(entries(now)), now)
  }

  /// What a slice does next, of several that are asked at one moment.
  func nextStep(of session: SliceSession, _ demand: Scheduler.Demand, _ now: UInt64) -> SliceStep {
    situation(of: session, entry(session, now), demand, now).next
  }

  /// What may be lent to a slice.
  func credit(for session: SliceSession, _ demand: Scheduler.Demand, _ now: UInt64) -> Int {
    credit(for: session, entry(session, now), demand, now)
  }

  private func credit(
    for session: SliceSession, _ entry: Scheduler.Entry, _ demand: Scheduler.Demand, _ now: UInt64
  ) -> Int {
    let credit = session.claim.graceEnd > now ? 0 : demand.credit(for: entry, self.credit.budget)
    return min(credit, lendable(to: session.context))
  }

  /// Pushes that guard trial and rates let a campaign make now; none of one that is paused on this worker's word.
  private func lendable(to context: CampaignContext) -> Int {
    if context.progress.isPaused { return 0 }
    let trial = context.guard.isUndecided ? context.trial.allowance : .max
    return context.facts.limits.isEmpty ? trial : min(trial, rates.allowance(of: context))
  }

  private func situation(
    of session: SliceSession, _ entry: Scheduler.Entry, _ demand: Scheduler.Demand, _ now: UInt64
  ) -> SliceSituation {
    session.situation(
      credit: credit(for: session, entry, demand, now), reach: self.credit.budget.reach(session.context.facts.account),
      lease: lease,
      now: now, clock: session.targets.times == nil ? 0 : Int(self.now))
  }

  /// The slices in hand, for the scheduler.
  func entries(_ now: UInt64) -> [Scheduler.Entry] {
    var bunches: Set<Int> = []
    return slices.sessions.map { session in
      var entry = entry(session, now)
      if let bunch = session.bunch { entry.counts = bunches.insert(bunch).inserted }
      return entry
    }
  }

  private func entry(_ session: SliceSession, _ now: UInt64) -> Scheduler.Entry {
    let context = session.context
    let isSending = session.intent == .send
    // What nobody has lent it no credit can send: while its guard is undecided, and where it has a rate.
    let wants = isSending ? min(session.sendable(now), lendable(to: context)) : 0
    return Scheduler.Entry(
      slot: session.tag.slot, campaign: context.campaign.id, account: context.facts.account,
      isStuck: context.facts.route.isStuck,
      isReady: session.isReady, isSending: isSending,
      isOnlyDeferred: session.isReady && !session.pending.deferred.isEmpty && session.pending.unanswered == 0
        && session.ungranted == 0,
      isBisecting: session.doubt.bisection != nil, served: context.progress.served, wants: wants,
      ungranted: session.ungranted,
      unanswered: session.pending.unanswered, returning: session.pending.outcomes.nextCount,
      enough: rates.enough(of: context))
  }

  /// Takes back what no connection has taken, where others have a right to its credit.
  private func reclaim(_ now: UInt64) {
    for reclaim in Scheduler.reclaims(entries(now), credit.budget) {
      guard let session = slices.session(in: reclaim.slot) else { continue }
      let limit = session.pending.unanswered - reclaim.keeping
      let unsent = session.context.facts.route.pool.cancelBacklog(limit: limit, where: session.tag.matches)
      guard !unsent.isEmpty else { continue }
      recorder.takeBack(session, unsent)
      session.wake()
    }
  }
}
