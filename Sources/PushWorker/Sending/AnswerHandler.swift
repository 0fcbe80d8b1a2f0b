import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Handles the answers of the push service. This code runs for each push, so it uses only plain values.
final class AnswerHandler: WorkerPart {
  let environment: WorkerEnvironment
  private let inbox: CompletionInbox
  private let slices: SliceTable
  private let credit: CreditLedger
  private let recorder: TargetRecorder
  private let sender: PushSender
  private let guards: GuardService
  private let rates: RateService
  private let pauses: CampaignPauses
  private let declined: DeclinedCampaigns
  private let figures: WorkerFigures
  /// Pushes that the pool returned unsent in the present batch of answers.
  private var unsent: [(session: SliceSession, index: Int)] = []

  init(
    _ environment: WorkerEnvironment, inbox: CompletionInbox, slices: SliceTable, credit: CreditLedger,
    recorder: TargetRecorder, sender: PushSender, guards: GuardService, rates: RateService, pauses: CampaignPauses,
    declined: DeclinedCampaigns, figures: WorkerFigures
  ) {
    self.environment = environment
    self.inbox = inbox
    self.slices = slices
    self.credit = credit
    self.recorder = recorder
    self.sender = sender
    self.guards = guards
    self.rates = rates
    self.pauses = pauses
    self.declined = declined
    self.figures = figures
  }

  /// Starts to receive answers.
  func start() { inbox.onArrival(loop.callback { [weak self] in self?.handleArrivals() }) }

  /// Handles the answers that have arrived.
  private func handleArrivals() {
    let clock = EventLoop.now
    let now = now
    var last: SliceSession?
    for completion in inbox.take() {
      if last?.tag.matches(completion.tag) != true { last = slices.session(of: completion.tag) }
      guard let session = last else {
        credit.endOrphan(of: completion.tag)
        continue
      }
      let index = SliceTag.index(completion.tag)
      guard session.targets.inFlight.contains(index) else { continue }
      // When the deadline of a stop has passed, the number of unanswered pushes is set to 0. A late answer is still
      // recorded for its target.
      session.pending.unanswered = max(0, session.pending.unanswered - 1)
      if completion.answer.isAccepted {
        crashPoint(.answered)
        figures.totals.accepted += 1
        session.context.facts.tally.accepted += 1
        let attempt = session.targets.inFlight.attempt(of: index)
        var record = LedgerRecord(
          state: .terminal(.accepted), attempt: attempt.attempt, history: attempt.history, status: completion.status,
          at: now)
        if session.context.hasVariants { record.variant = session.variant(of: index) }
        if session.context.campaign.results == .all, let (chunk, position) = session.targets.inFlight.place(of: index) {
          session.pending.outcomes.record(clock) { $0.append(record, at: index, token: chunk.token(position)) }
        } else {
          session.pending.outcomes.record(clock) { $0.append(record, at: index) }
        }
        session.end(index)
        count(.accepted, .none, of: session.context)
      } else if completion.answer.kind == .notSent, completion.reason == .none, session.intent == .send {
        // The push was certainly not processed and is still granted. It may be sent again immediately, without a new
        // grant.
        unsent.append((session, index))
      } else {
        handle(completion, of: session, index, now)
      }
    }
    guards.applyDecisions()
    resubmitUnsent()
    wakeSlices()
  }

  private func resubmitUnsent() {
    guard !unsent.isEmpty else { return }
    let bySlice = Dictionary(grouping: unsent) { $0.session.tag }
    unsent = []
    for pushes in bySlice.values {
      let (session, indexes) = (pushes[0].session, pushes.map(\.index))
      // If the guard has just tripped, the slice was withdrawn.
      guard session.intent == .send else {
        for index in indexes { recorder.recordUnsent(session, index, nil) }
        continue
      }
      do {
        try sender.submit(session, session.targets.times == nil ? indexes : sender.admit(session, indexes))
      } catch {
        for index in indexes where session.targets.inFlight.contains(index) {
          recorder.recordUnsent(session, index, nil)
        }
      }
    }
  }

  /// Handles an answer that is not a plain acceptance, or a push without an answer.
  private func handle(_ completion: PushCompletion, of session: SliceSession, _ index: Int, _ now: UInt64) {
    let campaign = session.context.campaign
    let tally = session.context.facts.tally
    if completion.answer.kind != .answered {
      tally.unanswered += 1
    } else if !completion.answer.isAccepted {
      tally.count(refusal: completion.reason)
    }
    var (attempt, history) = session.targets.inFlight.attempt(of: index)
    let decision = Disposition.decide(
      completion.answer, attempt: history.counted + 1, of: session.context.facts.channel.service,
      policy: environment.configuration.retry, ambiguity: campaign.delivery.ambiguity, jitter: .random(in: 0..<1),
      isBreakerOpen: completion.status >= 500 && session.context.facts.route.isStuck)
    if session.context.facts.channel.service.blamesToken(completion.answer),
      let (chunk, position) = session.targets.inFlight.place(of: index)
    {
      sender.recordRejected(chunk.token(position))
    }
    if completion.answer.kind == .ambiguous { history.isAmbiguous = true }
    var record = LedgerRecord(
      state: .waiting, attempt: attempt, history: history, status: completion.status, reason: completion.reason)
    switch decision.target {
    case .finish(let outcome):
      record.finish(outcome, at: now)
      if outcome == .accepted { figures.totals.accepted += 1 }
    case .retry(let milliseconds):
      record.at = UInt64(max(0, milliseconds))
      if let deadline = session.deadline(of: index), Int(now) + milliseconds >= deadline * 1000 {
        record.finish(.expired, at: now)
      }
    case .resendNow: record.at = 0
    }
    // The attempt of a finished target is not counted here, because the guard may still drop the answer. In that case
    // the target is sent again, and this attempt must not count.
    if record.state == .waiting { record.history.count(decision.countedAttempts) }
    switch (record.state, session.intent) {
    case (.waiting, .lost):
      // The new owner decides whether to send the target again.
      credit.giveBack(1, of: session)
    case (.waiting, _):
      tally.retries += 1
      session.pending.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
    default:
      var answer = DeferredAnswer(
        index: index, record: record, tokenAction: decision.token,
        // If the device registered after this time, it has a new token, or the same token is valid again.
        timestamp: completion.timestamp == 0
          ? session.targets.inFlight.grantTime(of: index) : completion.timestamp,
        unknownReason: completion.unknownReason)
      if case .terminal(let outcome) = record.state { count(outcome, completion.reason, of: session.context) }
      if decision.waitsForGuard, session.context.guard.isUndecided {
        guards.deferAnswer(answer, of: session)
        return apply(decision.effect, of: session.context, completion)
      }
      if decision.waitsForGuard, session.context.guard.tripReason == nil, !guards.mayChangeDevice(of: session.context) {
        answer.report = session.context.reports.report
        session.pending.deferred.append(answer)
        return apply(decision.effect, of: session.context, completion)
      }
      if decision.waitsForGuard, session.context.guard.tripReason != nil || session.context.progress.isOutdated {
        guards.drop(answer, of: session)
      } else {
        recorder.append(answer, to: session, tokenAction: answer.tokenAction)
      }
    }
    session.end(index)
    apply(decision.effect, of: session.context, completion)
  }

  private func count(_ outcome: Outcome, _ reason: ReasonCode, of context: CampaignContext) {
    let isOpen = !context.guard.isUndecided
    if context.guard.count(outcome, reason: reason, isAlone: environment.fleet <= 1) { guards.add(decided: context) }
    if isOpen { context.reports.count(outcome, context.guard.policy, fleet: environment.fleet) }
  }

  /// Applies the effect of an answer on the campaign or the credential.
  private func apply(_ effect: Disposition.Effect, of context: CampaignContext, _ completion: PushCompletion) {
    let id = context.campaign.id
    switch effect {
    case .none: return
    // The campaign is already paused, or was resumed after this push. In the second case, the cause of the refusal may
    // have been fixed.
    case .pauseCampaign where context.progress.isPaused || context.progress.isOutdated: return
    case .pauseCampaign:
      pauses.pause(id, round: context.facts.round, refusal(completion, of: context) + ", then resume")
    case .leaveCampaign: declined.decline(id, round: context.facts.round, refusal(completion, of: context))
    // The connection has already reported the refusal to the credential. The credential is now stopped, unless its key
    // or certificate was replaced.
    case .stopCredential: declined.declineForStoppedCredentials()
    case .slowQuota(let perMinute): rates.record(exceeded: perMinute, by: context)
    }
  }

  private func refusal(_ completion: PushCompletion, of context: CampaignContext) -> String {
    let service = context.facts.channel.service
    let words = service.words(of: completion.answer, unknownReason: completion.unknownReason)
    return
      "\(service.title) refuses every push of the campaign: \(words); fix the job, its app or the connection to "
      + service.title
  }
}
