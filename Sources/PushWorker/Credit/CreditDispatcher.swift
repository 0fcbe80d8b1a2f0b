import PushTransport
import CampaignStore
import Dispatch
import EventLoop
import PushCore

/// Allocates the window to slices, in the order of the ``Scheduler``. Takes credit back if other slices are entitled to
/// it.
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
  /// Calls ``tick()``. Created with the first held slice.
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

  /// Starts the calls of ``tick()``, which continue while the worker holds slices.
  func startTicking() {
    guard !isTicking else { return }
    isTicking = true
    let timer = timer ?? loop.timer { [weak self] in self?.tick() }
    self.timer = timer
    timer.schedule(every: .milliseconds(SliceSituation.outcomeDelay))
  }

  /// Stops the calls of ``tick()``.
  func stopTicking() {
    isTicking = false
    timer?.disarm()
  }

  /// Runs every 5 ms. Handles outcomes that have waited long enough, leases to renew, retries that are due, stopped
  /// credentials, and pools that can't send.
  private func tick() {
    let began = EventLoop.now
    failover.recordRunning(began)
    for route in routes.routes where route.check(began) { wakeClaims() }
    declined.declineForStoppedCredentials()
    // The call above may have recorded outcomes. The time of the next steps must not be earlier than the times of these
    // outcomes.
    let now = EventLoop.now
    refreshPermits(now)
    let entries = entries(now)
    if reclaim(entries) {
      dispatch(takingMore: false)
    } else {
      wake(entries, now)
    }
  }

  /// Wakes the slices that have a next step, in the order in which they are served.
  ///
  /// - Parameter takingMore: Whether to take further slices if there is room. Pass `true` only if something has
  ///   changed, because the worker also takes slices regularly.
  func dispatch(takingMore: Bool) {
    let now = EventLoop.now
    refreshPermits(now)
    let entries = entries(now)
    wake(entries, now)
    guard takingMore else { return }
    // If slices wait for their rates, ``RateService`` wakes the claim loop before these slices run out of targets.
    let isOnlyLimited = !entries.isEmpty && entries.allSatisfy { $0.targets.enough != nil }
    let ahead = entries.reduce(0) { $0 + ($1.condition.isReady ? $1.targets.ahead : 0) }
    if !isOnlyLimited, ahead < environment.configuration.window { wakeClaims() }
  }

  /// Gets permits and sends of guard trials from Redis, and reports to Redis the answers on which the guards of all
  /// workers depend.
  private func refreshPermits(_ now: UInt64) {
    guards.askWhetherToDecline(now)
    guards.refreshTrials(now)
    rates.refresh(now)
    guards.reportWatches(now)
  }

  private func wake(_ entries: [Scheduler.Entry], _ now: UInt64) {
    let demand = Scheduler.Demand(entries)
    for entry in Scheduler.order(entries) where entry.condition.isReady {
      guard let session = slices.session(in: entry.slot) else { continue }
      if situation(of: session, entry, demand, now).next != .wait { session.wake() }
    }
  }

  /// Returns the next step of a slice.
  func nextStep(of session: SliceSession) -> SliceStep {
    let now = EventLoop.now
    return nextStep(of: session, Scheduler.Demand(entries(now)), now)
  }

  /// Returns the next step of a slice. `demand` and `now` are arguments, so that a caller computes them once for
  /// several slices.
  func nextStep(of session: SliceSession, _ demand: Scheduler.Demand, _ now: UInt64) -> SliceStep {
    situation(of: session, entry(session, now), demand, now).next
  }

  /// Returns the credit that may be allocated to a slice.
  func credit(for session: SliceSession, _ demand: Scheduler.Demand, _ now: UInt64) -> Int {
    credit(for: session, entry(session, now), demand, now)
  }

  private func credit(
    for session: SliceSession, _ entry: Scheduler.Entry, _ demand: Scheduler.Demand, _ now: UInt64
  ) -> Int {
    let credit = session.claim.graceEnd > now ? 0 : demand.credit(for: entry, self.credit.budget)
    return min(credit, assignable(to: session.context))
  }

  /// Returns how many pushes of a campaign the guard trial and the rates permit now; 0 if this worker has paused the
  /// campaign.
  private func assignable(to context: CampaignContext) -> Int {
    if context.progress.isPaused { return 0 }
    let trial = context.guard.isUndecided ? context.trial.allowance : .max
    return context.facts.limits.isEmpty ? trial : min(trial, rates.allowance(of: context))
  }

  private func situation(
    of session: SliceSession, _ entry: Scheduler.Entry, _ demand: Scheduler.Demand, _ now: UInt64
  ) -> SliceSituation {
    session.situation(
      credit: credit(for: session, entry, demand, now),
      reach: self.credit.budget.maximumCredit(of: session.context.facts.account),
      lease: lease,
      now: now, clock: session.targets.times == nil ? 0 : Int(self.now))
  }

  /// Returns the held slices for the scheduler.
  func entries(_ now: UInt64) -> [Scheduler.Entry] {
    var batches: Set<Int> = []
    return slices.sessions.map { session in
      var entry = entry(session, now)
      if let sliceBatch = session.sliceBatch { entry.counts = batches.insert(sliceBatch).inserted }
      return entry
    }
  }

  private func entry(_ session: SliceSession, _ now: UInt64) -> Scheduler.Entry {
    let context = session.context
    let isSending = session.intent == .send
    // Credit alone is not enough: each push also needs a send of the guard trial while the guard is undecided, and a
    // permit of each rate.
    let wants = isSending ? min(session.sendable(now), assignable(to: context)) : 0
    return Scheduler.Entry(
      slot: session.tag.slot, campaign: context.campaign.id, account: context.facts.account,
      condition: .init(
        isStuck: context.facts.route.isStuck, isReady: session.isReady, isSending: isSending,
        isOnlyDeferred: session.isReady && !session.pending.deferred.isEmpty && session.pending.unanswered == 0
          && session.ungranted == 0,
        isBisecting: session.doubt.bisection != nil),
      served: context.progress.served,
      targets: .init(
        wants: wants, ungranted: session.ungranted, unanswered: session.pending.unanswered,
        returning: session.pending.outcomes.nextCount, enough: rates.enough(of: context)))
  }

  /// Removes pushes that no connection has taken, if other slices are entitled to their credit.
  ///
  /// - Returns: Whether pushes were removed.
  private func reclaim(_ entries: [Scheduler.Entry]) -> Bool {
    var hasRemoved = false
    for reclaim in Scheduler.reclaims(entries, credit.budget) {
      guard let session = slices.session(in: reclaim.slot) else { continue }
      let limit = session.pending.unanswered - reclaim.keeping
      let unsent = session.context.facts.route.pool.cancelBacklog(limit: limit, where: session.tag.matches)
      guard !unsent.isEmpty else { continue }
      recorder.recordReturned(session, unsent)
      session.wake()
      hasRemoved = true
    }
    return hasRemoved
  }
}
