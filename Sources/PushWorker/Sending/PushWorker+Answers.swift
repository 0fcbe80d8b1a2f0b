import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Between the ledger and the connections: batches out, answers in. The hot path: per push plain values only.
extension PushWorker {
  /// Reads granted targets and hands them to the connections.
  func send(_ session: SliceSession, _ targets: [GrantedTarget]) async throws {
    do {
      try await session.load(targets.map(\.index))
    } catch {
      // They are granted: whoever looks for what is in doubt finds them.
      giveBack(targets.count, of: session)
      throw error
    }
    let fresh = targets.filter { !session.targets.contains($0.index) }
    for target in targets where session.targets.contains(target.index) {
      session.targets.renumber(target.index, attempt: target.attempt, history: target.history)
      giveBack(1, of: session)
    }
    for target in fresh { session.targets.begin(target.index, attempt: target.attempt, history: target.history) }
    session.context.unspend(targets.count - fresh.count)
    // Their time may have passed, and the slice may have been lost or paused, while the targets were read.
    try submit(session, admit(session, settleWithheld(session, fresh.map(\.index))))
  }

  /// Settles those of targets under way that are not to be sent now.
  ///
  /// - Returns: the others.
  func admit(_ session: SliceSession, _ indexes: [Int]) -> [Int] {
    let now = Int(now)
    if session.times == nil, session.intent == .send, session.context.deadline.map({ $0 * 1000 > now }) ?? true {
      return indexes
    }
    var admitted: [Int] = []
    admitted.reserveCapacity(indexes.count)
    for index in indexes {
      let fate = session.fate(of: index, now: now)
      if fate == .send, session.intent == .send { admitted.append(index) } else { settle(session, index, fate) }
    }
    session.context.unspend(indexes.count - admitted.count)
    return admitted
  }

  /// Records a target that is under way and not to be sent now.
  func settle(_ session: SliceSession, _ index: Int, _ fate: SliceTimes.Fate) {
    switch fate {
    case .expire: settle(session, index, .expired)
    case .send: settle(session, index, nil)
    case .hold(let milliseconds): settle(session, index, nil, after: milliseconds)
    }
  }

  /// Records those of granted targets that are withheld.
  ///
  /// - Returns: the others.
  private func settleWithheld(_ session: SliceSession, _ indexes: [Int]) -> [Int] {
    guard !session.decisions.isEmpty else { return indexes }
    var sent: [Int] = []
    sent.reserveCapacity(indexes.count)
    for index in indexes {
      if let outcome = session.decisions[index].withheld { settle(session, index, outcome) } else { sent.append(index) }
    }
    session.context.unspend(indexes.count - sent.count)
    return sent
  }

  /// Hands targets that are under way to the connections.
  private func submit(_ session: SliceSession, _ indexes: [Int]) throws {
    let context = session.context
    guard let times = session.times, case .after = context.campaign.message.expiration else {
      return try submit(session, indexes, by: context.composer)
    }
    // They stand in the order of their times.
    var rest = indexes[...]
    while let first = rest.first {
      let expiration = times.expiration(of: first)
      let same = rest.prefix { times.expiration(of: $0) == expiration }
      rest = rest.dropFirst(same.count)
      let composer = expiration.map(context.composer(expiration:)) ?? context.composer
      try submit(session, Array(same), by: composer)
    }
  }

  private func submit(_ session: SliceSession, _ indexes: [Int], by composer: any PushComposer) throws {
    var batch = composer.batch(isUnproven: false, capacity: indexes.count)
    var unproven: PushBatch?
    var (tooLarge, erased): ([Int], [Int]) = ([], [])
    let isPersonal = session.context.filter.isPersonal
    for index in indexes {
      guard let (chunk, position) = session.targets.place(of: index), position < chunk.count else {
        throw StoreError(
          .mismatch, "slice \(session.slice) has no target \(index), though it was sealed with \(session.count ?? 0)",
          hint: "Redis lost writes that it had acknowledged; see its persistence settings")
      }
      guard !chunk.isErased(position) else {
        erased.append(index)
        continue
      }
      let token = chunk.token(position)
      meet(token)
      let tag = session.tag.tag(index)
      var values = isPersonal ? chunk.values(position) : nil
      if let badge = session.decisions[index].badge {
        if values == nil { values = TargetValues.none }
        values?.badge = badge
      }
      let fits: Bool
      if isUnproven(index, of: session, token, user: chunk.user(position)) {
        if unproven == nil { unproven = composer.batch(isUnproven: true, capacity: indexes.count) }
        fits = unproven?.append(token, values, tag: tag, by: composer) ?? true
      } else {
        fits = batch.append(token, values, tag: tag, by: composer)
      }
      if !fits { tooLarge.append(index) }
    }
    session.context.unspend(tooLarge.count + erased.count)
    for index in erased { settle(session, index, .deviceGone) }
    for index in tooLarge { settle(session, index, .rejected, reason: .payloadTooLarge) }
    submit(session, batch)
    if let unproven { submit(session, unproven) }
    if !indexes.isEmpty { pass(.sent) }
    if breaks(.acknowledgeFirst) { acknowledgeFirst(session, indexes) }
  }

  private func submit(_ session: SliceSession, _ batch: PushBatch) {
    guard !batch.pushes.isEmpty else { return }
    var batch = batch
    batch.flow = session.context.flow
    session.unanswered += batch.pushes.count
    session.context.noteServed(batch.pushes.count)
    figures.totals.submitted += batch.pushes.count
    session.context.tally.submitted += batch.pushes.count
    if !session.context.route.pool.submit(batch, lane: session.context.account.lane) {
      takeBack(session, batch.pushes.map(\.tag))
    }
  }

  /// Whether a push goes over the connection for unproven pushes: nobody registered the token (a job lists it), or this worker
  /// has seen it rejected lately, or an earlier attempt was not accepted. The last makes it another connection, too, for
  /// what is tried again after a 5xx or in doubt. That a registered device was never sent to is not known.
  private func isUnproven(
    _ index: Int, of session: SliceSession, _ token: ArraySlice<UInt8>, user: ArraySlice<UInt8>
  ) -> Bool {
    if user.isEmpty { return session.context.campaign.channel == nil }
    return session.targets.attempt(of: index).history.counted > 0 || answers.rejected.contains(token)
  }

  /// Takes the answers that have come.
  func handleArrivals() {
    let clock = EventLoop.now
    let now = now
    var last: SliceSession?
    for completion in inbox.take() {
      if last?.tag.matches(completion.tag) != true { last = slices.session(of: completion.tag) }
      guard let session = last else {
        if let account = answers.endOrphan(of: completion.tag) { budget.giveBack(1, of: account) }
        continue
      }
      let index = SliceTag.index(completion.tag)
      guard session.targets.contains(index) else { continue }
      // After the deadline of a stop nothing is waited for; what comes all the same counts.
      session.unanswered = max(0, session.unanswered - 1)
      if completion.answer.isAccepted {
        pass(.answered)
        figures.totals.accepted += 1
        session.context.tally.accepted += 1
        let attempt = session.targets.attempt(of: index)
        var record = LedgerRecord(
          state: .terminal(.accepted), attempt: attempt.attempt, history: attempt.history, status: completion.status,
          at: now)
        if session.context.hasVariants { record.variant = session.variant(of: index) }
        if session.context.campaign.results == .all, let (chunk, position) = session.targets.place(of: index) {
          session.outcomes.record(clock) { $0.append(record, at: index, token: chunk.token(position)) }
        } else {
          session.outcomes.record(clock) { $0.append(record, at: index) }
        }
        session.end(index)
        count(.accepted, of: session.context)
      } else if completion.answer.kind == .notSent, completion.reason == .none, session.intent == .send {
        // Certainly not processed, and still granted: it may go again at once, and the ledger need not know.
        answers.note(unsent: index, of: session)
      } else {
        handle(completion, of: session, index, now)
      }
    }
    applyGuardDecisions()
    resubmitUnsent()
    wakeSlices()
  }

  private func resubmitUnsent() {
    for (session, indexes) in answers.takeUnsent() {
      // A guard that has just tripped has withdrawn the slice.
      guard session.intent == .send else {
        for index in indexes { settle(session, index, nil) }
        continue
      }
      do {
        try submit(session, session.times == nil ? indexes : admit(session, indexes))
      } catch {
        for index in indexes where session.targets.contains(index) { settle(session, index, nil) }
      }
    }
  }

  /// An answer that says more than "accepted", or a push without an answer.
  private func handle(_ completion: PushCompletion, of session: SliceSession, _ index: Int, _ now: UInt64) {
    let campaign = session.context.campaign
    let tally = session.context.tally
    if completion.answer.kind != .answered {
      tally.unanswered += 1
    } else if !completion.answer.isAccepted {
      tally.count(refusal: completion.reason)
    }
    var (attempt, history) = session.targets.attempt(of: index)
    let decision = Disposition.decide(
      completion.answer, attempt: history.counted + 1, of: session.context.app.service,
      policy: configuration.retry, ambiguity: campaign.delivery.ambiguity, jitter: .random(in: 0..<1),
      isBreakerOpen: completion.status >= 500 && session.context.route.isStuck)
    if session.context.app.service.blamesToken(completion.answer),
      let (chunk, position) = session.targets.place(of: index)
    {
      answers.rejected.insert(chunk.token(position))
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
    // Not of what ends now: should its guard have it sent again, the attempt was in vain.
    if record.state == .waiting, decision.countsAttempt { record.history.count() }
    switch (record.state, session.intent) {
    case (.waiting, .lost):
      // Sending again is the new owner's to decide.
      giveBack(1, of: session)
    case (.waiting, _):
      tally.retries += 1
      session.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
    default:
      var answer = HeldAnswer(
        index: index, record: record, fate: decision.token, timestamp: completion.timestamp,
        unknownReason: completion.unknownReason)
      if case .terminal(let outcome) = record.state { count(outcome, of: session.context) }
      if decision.token != .keep, session.context.guard.isUndecided {
        hold(answer, of: session)
        return apply(decision.effect, of: session.context, completion)
      }
      if decision.token != .keep, session.context.guard.tripReason == nil, !mayAct(on: session.context) {
        answer.report = session.context.watch.report
        session.held.append(answer)
        return apply(decision.effect, of: session.context, completion)
      }
      if decision.token != .keep, session.context.guard.tripReason != nil || session.context.isOutdated {
        withhold(answer, of: session)
      } else {
        append(answer, to: session, fate: answer.fate)
      }
    }
    session.end(index)
    apply(decision.effect, of: session.context, completion)
  }

  private func count(_ outcome: Outcome, of context: CampaignContext) {
    let isOpen = !context.guard.isUndecided
    if context.guard.count(outcome, isAlone: scheduler.fleet <= 1) { answers.note(decided: context) }
    if isOpen { context.watch.count(outcome, context.guard.policy, fleet: scheduler.fleet) }
  }

  /// Records a final answer, with what it does to the device.
  func append(_ answer: HeldAnswer, to session: SliceSession, fate: Disposition.TokenFate) {
    let index = answer.index
    var record = answer.record
    if session.context.hasVariants { record.variant = session.variant(of: index) }
    let tally = session.context.tally
    if case .terminal(let outcome) = record.state { tally.count(outcome) }
    let results = session.context.campaign.results
    let keepsResult = results == .all || results == .failures && record.state != .terminal(.accepted)
    guard keepsResult || fate != .keep || record.reason == .other,
      let (chunk, position) = session.targets.place(of: index)
    else {
      session.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
      return
    }
    let action: OutcomeBatch.Action =
      switch fate {
      case .keep: .none
      case .prune: .prune
      case .quarantine: .quarantine
      }
    if fate == .prune { tally.prunes += 1 }
    if fate == .quarantine { tally.quarantines += 1 }
    session.outcomes.record(EventLoop.now) { batch in
      batch.append(
        record, at: index, action: action, token: chunk.token(position), user: chunk.user(position),
        // Without a timestamp the time of receipt counts (design: absent timestamp).
        timestamp: answer.timestamp == 0 ? record.at : answer.timestamp, keepsResult: keepsResult,
        unknownReason: answer.unknownReason ?? "")
    }
  }

  /// What an answer says about more than its target.
  private func apply(_ effect: Disposition.Effect, of context: CampaignContext, _ completion: PushCompletion) {
    let id = context.campaign.id
    switch effect {
    case .none: return
    // It is paused already, or was resumed since the push: what was refused may have been mended meanwhile.
    case .pauseCampaign where context.isPaused || context.isOutdated: return
    case .pauseCampaign:
      pauseCampaign(id, round: context.round, refusal(completion, of: context) + ", then resume")
    case .leaveCampaign: object(to: id, round: context.round, refusal(completion, of: context))
    // The connection has told the credential, which has stopped unless it was another's by then.
    case .stopCredential: objectForStoppedCredentials()
    }
  }

  private func refusal(_ completion: PushCompletion, of context: CampaignContext) -> String {
    let service = context.app.service
    let words = service.words(of: completion.answer, unknownReason: completion.unknownReason)
    return "\(service.title) refuses every push of it: \(words); mend the job, its app or the way to \(service.title)"
  }

  /// Records a target that was granted and is not going to be sent now: with an outcome, or to be granted again later.
  ///
  /// - Parameter milliseconds: until it may be granted again.
  func settle(
    _ session: SliceSession, _ index: Int, _ outcome: Outcome?, reason: ReasonCode = .none,
    after milliseconds: Int = 0
  ) {
    let (attempt, history) = session.targets.attempt(of: index)
    var record = LedgerRecord(
      state: .waiting, attempt: attempt, history: history, reason: reason, at: UInt64(max(0, milliseconds)))
    defer { session.end(index) }
    if let outcome {
      // Whatever keeps it from being sent now, an earlier attempt may have been delivered.
      record.finish(history.isAmbiguous ? .unknown : outcome, at: now)
      append(HeldAnswer(index: index, record: record, fate: .keep, timestamp: 0), to: session, fate: .keep)
    } else if session.intent == .lost {
      giveBack(1, of: session)
    } else {
      session.outcomes.record(EventLoop.now) { $0.append(record, at: index) }
    }
  }
}
