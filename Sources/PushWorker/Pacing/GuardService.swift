import CampaignStore
import EventLoop
import PushCore

/// Protects the registered devices and the audience from a campaign with wrong settings or a wrong message. Until the
/// guard has decided that the campaign's answers are good, the worker removes and quarantines no device, and records no
/// refusal of the message.
///
/// If the guard trips, an operator must fix the cause. The targets of dropped answers are not lost: they wait, and are
/// sent again after a resume.
///
/// A *deferred* answer waits for the decision of the guard. It counts as an answer, but its target stays in flight and
/// keeps its credit until the answer is recorded. If the worker dies before that, the target is in doubt.
final class GuardService: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let campaigns: CampaignTable
  private let credit: CreditLedger
  private let recorder: TargetRecorder
  private let pauses: CampaignPauses
  private let declined: DeclinedCampaigns
  private let rates: RateService
  /// Campaigns whose guard has decided, in the present batch of answers.
  private var decided: [CampaignContext] = []

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, campaigns: CampaignTable, credit: CreditLedger,
    recorder: TargetRecorder, pauses: CampaignPauses, declined: DeclinedCampaigns, rates: RateService
  ) {
    self.environment = environment
    self.slices = slices
    self.campaigns = campaigns
    self.credit = credit
    self.recorder = recorder
    self.pauses = pauses
    self.declined = declined
    self.rates = rates
  }

  /// Records a campaign whose guard has decided. The caller calls ``applyDecisions()`` afterwards.
  func add(decided context: CampaignContext) { decided.append(context) }

  /// Defers an answer until its campaign's guard has decided.
  func deferAnswer(_ answer: DeferredAnswer, of session: SliceSession) {
    session.pending.deferred.append(answer)
    var holders: [CampaignContext] = []
    var counts: [Int] = []
    for session in slices.sessions where !session.pending.deferred.isEmpty {
      if let position = holders.firstIndex(where: { $0 === session.context }) {
        counts[position] += session.pending.deferred.count
      } else {
        holders.append(session.context)
        counts.append(session.pending.deferred.count)
      }
    }
    guard let fullest = GuardPolicy.mustDecide(held: counts, window: environment.configuration.window),
      !holders[fullest].guard.isSuspended
    else { return }
    if holders[fullest].guard.decide(on: known(of: holders[fullest])) { add(decided: holders[fullest]) }
  }

  /// Leases sends from Redis for campaigns with an undecided guard, and reports the answers to these campaigns.
  func refreshTrials(_ now: UInt64) {
    var seen: Set<ObjectIdentifier> = []
    for first in slices.sessions
    where first.isReady && first.context.guard.isUndecided && !first.context.guard.isSuspended
      && !first.context.trial.isAsking && seen.insert(ObjectIdentifier(first.context)).inserted
    {
      let context = first.context
      var (wanted, unanswered, isHolding) = (0, 0, false)
      for session in slices.sessions where session.context === context {
        if session.intent == .send, session.isReady { wanted += session.sendable(now) }
        unanswered += session.pending.unanswered
        isHolding = isHolding || !session.pending.deferred.isEmpty
      }
      let request = context.trial.request(
        wanted: min(wanted, credit.budget.allowance(context.facts.account), context.facts.limits.soon),
        unanswered: unanswered,
        isHolding: isHolding,
        counts: context.guard.counts,
        minimum: context.guard.policy.minimum, isAlone: environment.fleet <= 1,
        isSlow: rates.enough(of: context) != nil, now: now)
      if let request { loop.start { await self.ask(request, context) } }
    }
  }

  private func ask(_ request: TrialLease.Request, _ context: CampaignContext) async {
    do {
      let answer = try await sharedStore.limits.guardTrial(
        context.campaign.id, app: context.campaign.app, minimum: context.guard.policy.minimum,
        lease: environment.configuration.lease, wanted: request.wanted, news: request.news,
        returned: request.returned,
        round: context.facts.round)
      context.trial.take(answer, to: request, lease: lease, now: EventLoop.now)
      if answer != nil {
        if context.guard.evaluate(context.trial.fleetCounts) {
          add(decided: context)
          applyDecisions()
        }
      } else {
        withdrawOutdated(context)
      }
    } catch {
      context.trial.take(nil, to: request, lease: lease, now: EventLoop.now)
      log.report("could not get guard trial sends for campaign \(context.campaign.id)", error)
      return wakeSlices()
    }
    reportRest(of: context)
    wakeSlices()
  }

  // MARK: Withdrawal

  /// Asks Redis about campaigns with mostly bad answers. Until Redis has replied, the guard of such a campaign is
  /// *suspended*: the worker holds back bad answers. If only this worker gets bad answers, it declines the campaign.
  func askWhetherToDecline(_ now: UInt64) {
    for session in slices.sessions where session.context.guard.isSuspended && !session.context.progress.isOutdated {
      let context = session.context
      guard !context.reports.isReporting else { continue }
      if let withdrawal = context.trial.withdrawal(now: now) {
        loop.start { await self.decideDecline(withdrawal, from: context) }
      }
    }
  }

  private func decideDecline(_ withdrawal: (reported: GuardCounts, leased: Int), from context: CampaignContext) async {
    let id = context.campaign.id
    do {
      let answer = try await sharedStore.limits.decideDecline(
        of: environment.configuration.name, from: id, app: context.campaign.app, policy: context.guard.policy,
        isOpen: context.guard.state == .open,
        reported: withdrawal.reported, leased: withdrawal.leased, timeout: environment.configuration.lease,
        round: context.facts.round)
      context.trial.endWithdrawal()
      switch answer {
      case .decline where context.guard.isSuspended:
        let reason = context.guard.decline()
        declined.decline(id, round: context.facts.round, reason, hint: CampaignGuard.hint)
        for session in slices.sessions where session.context === context { carryOut(session) }
      case .decline, .stay: if context.guard.isSuspended { resume(context) }
      case .outdated: withdrawOutdated(context)
      }
    } catch {
      context.trial.endWithdrawal()
      log.report("could not compare the answers to campaign \(id) with other workers", error)
    }
    wakeSlices()
  }

  /// Ends the suspension of a guard, because the answers of the other workers are equally bad, or there are no other
  /// workers.
  private func resume(_ context: CampaignContext) {
    if context.guard.resume() { add(decided: context) }
    applyDecisions()
    guard context.guard.state == .open else { return }
    for session in slices.sessions where session.context === context {
      carryOut(session, reportedUpTo: context.reports.arrivedReport)
    }
  }

  // MARK: Open guard

  /// Returns whether this worker may change a device before it has reported the answer to the fleet.
  func mayChangeDevice(of context: CampaignContext) -> Bool {
    context.guard.isOff
      || !context.guard.isSuspended && context.reports.mayChangeDevice(context.guard.policy, fleet: environment.fleet)
  }

  /// Reports to the fleet the answers that prune or quarantine devices.
  func reportWatches(_ now: UInt64) {
    for session in slices.sessions where !session.context.reports.isReporting && session.context.guard.state == .open {
      let context = session.context
      guard !context.guard.isSuspended else { continue }
      if !context.guard.isOff, let news = context.reports.next(now) {
        loop.start { await self.report(news, of: context) }
      }
    }
  }

  private func report(_ news: GuardCounts, of context: CampaignContext) async {
    do {
      let fleet = try await sharedStore.limits.guardWatch(
        context.campaign.id, minimum: context.guard.policy.minimum, news: news, round: context.facts.round)
      let last = context.reports.recordArrival()
      guard let fleet else { return withdrawOutdated(context) }
      if context.guard.watch(fleet) {
        add(decided: context)
        applyDecisions()
      } else {
        for session in slices.sessions where session.context === context { carryOut(session, reportedUpTo: last) }
      }
    } catch {
      context.reports.failed()
      log.report("could not share the answers to campaign \(context.campaign.id)", error)
    }
    wakeSlices()
  }

  /// Reports the last answers to a campaign with an undecided guard, after this worker released its last slice of the
  /// campaign. Also returns unused sends. Other workers can lease these sends, and their guards use the answers.
  func reportRest(of context: CampaignContext) {
    guard context.guard.isUndecided, !context.guard.isSuspended, !context.progress.isOutdated,
      !slices.sessions.contains(where: { $0.context === context }),
      let request = context.trial.finalRequest(
        counts: context.guard.counts, unanswered: credit.orphanCount(of: context.facts.account), now: EventLoop.now)
    else { return }
    loop.start { await self.ask(request, context) }
  }

  /// Makes the guard of a campaign decide with too few answers, because no more answers will come.
  func flush(_ session: SliceSession) {
    let context = session.context
    let app = context.trial.answer?.app ?? GuardCounts()
    if context.guard.evaluate(known(of: context), amongThoseOfItsApp: app) {
      add(decided: context)
      applyDecisions()
    } else {
      carryOut(session)
    }
  }

  /// Applies the decisions that guards made in the present batch of answers.
  func applyDecisions() {
    guard !decided.isEmpty else { return }
    let contexts = decided
    decided = []
    for context in contexts {
      for session in slices.sessions where session.context === context {
        carryOut(session)
        if context.guard.tripReason != nil { recorder.stopSending(session, .leave) }
      }
      if let reason = context.guard.tripReason { pause(context, reason) }
    }
  }

  /// Pauses a campaign whose guard has tripped. The reason names this worker, because only one worker may have wrong
  /// settings.
  func pause(_ context: CampaignContext, _ reason: String) {
    pauses.pause(
      context.campaign.id, round: context.facts.round, "\(reason) (found by worker \(environment.configuration.name))")
  }

  /// Records the deferred answers of a slice, with their effects on devices. The function drops the answers instead if
  /// the guard has tripped. It also drops them if an operator paused the campaign before the guard decided, because the
  /// operator may know about a problem. If the worker stops before the guard has decided, the function drops the
  /// answers only if the known answers are a reason to pause the campaign.
  ///
  /// - Parameter report: Number of a report to the fleet. The function handles only answers that wait for this report
  ///   or an earlier one.
  func carryOut(_ session: SliceSession, reportedUpTo report: Int = .max) {
    let guarding = session.context.guard
    if guarding.isSuspended, session.intent == .send { return }
    let isUndecided =
      (guarding.isUndecided || report == .max && !mayChangeDevice(of: session.context)) && session.intent != .send
    let isPaused = !life.isStopping || session.context.progress.isOutdated
    let isDropped =
      guarding.tripReason != nil
      || isUndecided && (isPaused || guarding.reasonToPause(on: known(of: session.context)) != nil)
    let waiting = session.pending.deferred.filter { $0.report > report }
    for answer in session.pending.deferred where answer.report <= report {
      if isDropped, !breaks(.guardDeaf) {
        drop(answer, of: session)
      } else {
        recorder.append(answer, to: session, tokenAction: answer.tokenAction)
      }
      session.end(answer.index)
    }
    session.pending.deferred = waiting
  }

  /// Drops an answer without a change of its device. After a resume of the campaign, a worker sends the target again.
  func drop(_ answer: DeferredAnswer, of session: SliceSession) {
    switch session.intent {
    case .cancel: return recorder.append(answer, to: session, tokenAction: .keep)
    // The target is in doubt for the new owner, and must stay in doubt. With an outcome, the new owner would not send
    // the target again.
    case .lost: return credit.giveBack(1, of: session)
    case .send, .leave: break
    }
    var record = answer.record
    record.state = .waiting
    record.at = 0
    session.pending.outcomes.record(EventLoop.now) { $0.append(record, at: answer.index) }
  }

  /// Returns the counts of a campaign's answers from Redis, or from this worker if it has counted more answers than
  /// Redis.
  private func known(of context: CampaignContext) -> GuardCounts {
    let (own, fleet) = (context.guard.counts, context.trial.fleetCounts)
    return own.answers > fleet.answers ? own : fleet
  }

  /// Releases the slices that this worker claimed before their campaign was resumed. The cause of the bad answers may
  /// have been fixed before the resume.
  func withdrawOutdated(_ context: CampaignContext) {
    context.progress.isOutdated = true
    campaigns.drop(context)
    for session in slices.sessions where session.context === context { recorder.stopSending(session, .leave) }
  }
}
