import APNs
import CampaignStore
import EventLoop
import PushCore

/// Between the ledger and the connections: batches out, answers in. The hot path: per push plain values only.
extension PushWorker {
  func lend(_ amount: Int, to run: SliceRun) {
    budget.lend(amount)
    run.credit += amount
  }

  func giveBack(_ amount: Int, of run: SliceRun) {
    budget.giveBack(amount)
    run.credit -= amount
  }

  /// Reads granted targets and hands them to the connections.
  func send(_ run: SliceRun, _ targets: [GrantedTarget]) async throws {
    do {
      try await run.load(targets.map(\.index))
    } catch {
      // They are granted: whoever looks for what is in doubt finds them.
      giveBack(targets.count, of: run)
      throw error
    }
    // The campaign's time may have passed, and its slice may have been lost or paused, while the targets were read.
    let isExpired = run.context.deadline.map { $0 * 1000 <= Int(now) } ?? false
    let fresh = targets.filter { !run.isUnderWay($0.index) }
    for target in targets where run.isUnderWay(target.index) {
      run.renumber(target.index, attempt: target.attempt, free: target.free)
      giveBack(1, of: run)
    }
    for target in fresh { run.begin(target.index, attempt: target.attempt, free: target.free) }
    guard !isExpired, run.intent == .send else {
      for target in fresh { settle(run, target.index, isExpired ? .expired : nil) }
      return
    }
    try submit(run, fresh.map(\.index))
  }

  /// Hands targets that are under way to the connections.
  private func submit(_ run: SliceRun, _ indexes: [Int]) throws {
    let context = run.context
    var batch = PushBatch(headers: context.headers, payload: context.campaign.payload, capacity: indexes.count)
    var suspects: PushBatch?
    for index in indexes {
      guard let (chunk, position) = run.place(of: index), position < chunk.count else {
        throw StoreError(
          .mismatch, "slice \(run.ledger.slice) has no target \(index), though it was sealed with \(run.count)",
          hint: "Redis lost writes that it had acknowledged; see its persistence settings")
      }
      let token = chunk.token(position)
      taste(token)
      let id = token.withUnsafeBytes { context.ids.apnsID(token: $0) }
      let tag = run.tagBase | UInt64(index)
      if isSuspect(index, of: run, token, user: chunk.user(position)) {
        if suspects == nil {
          suspects = PushBatch(
            headers: context.headers, isSuspect: true, payload: context.campaign.payload, capacity: indexes.count)
        }
        suspects?.append(tag: tag, apnsID: id, token: token)
      } else {
        batch.append(tag: tag, apnsID: id, token: token)
      }
    }
    submit(run, batch)
    if let suspects { submit(run, suspects) }
    if !indexes.isEmpty { pass(.sent) }
    if breaks(.acknowledgeFirst) { acknowledgeFirst(run, indexes) }
  }

  private func submit(_ run: SliceRun, _ batch: PushBatch) {
    guard !batch.pushes.isEmpty else { return }
    run.unanswered += batch.pushes.count
    totals.submitted += batch.pushes.count
    if !run.context.pool.submit(batch, lane: run.context.lane) { takeBack(run, batch.pushes.map(\.tag)) }
  }

  /// Whether a push goes over the connection for suspects: nobody registered the token (a job lists it), or this worker
  /// has seen it rejected lately, or an earlier attempt was not accepted. The last makes it another connection, too, for
  /// what is tried again after a 5xx or in doubt. That a registered device was never sent to is not known.
  private func isSuspect(
    _ index: Int, of run: SliceRun, _ token: ArraySlice<UInt8>, user: ArraySlice<UInt8>
  ) -> Bool {
    if user.isEmpty { return run.context.campaign.channel == nil }
    let (attempt, free) = run.attempt(of: index)
    return attempt > free || rejected.contains(token)
  }

  /// Takes the answers that have come.
  func handleArrivals() {
    let clock = EventLoop.now
    let now = now
    var last: SliceRun?
    for completion in inbox.take() {
      if last?.tagBase != completion.tag & ~0xffff_ffff {
        let slot = Int(completion.tag >> 32 & 0xffff)
        last = slot < slots.count ? slots[slot] : nil
      }
      guard let run = last, run.tagBase == completion.tag & ~0xffff_ffff else {
        if orphans > 0 {
          orphans -= 1
          budget.giveBack(1)
        }
        continue
      }
      let index = Int(completion.tag & 0xffff_ffff)
      guard run.isUnderWay(index) else { continue }
      // After the deadline of a stop nothing is waited for; what comes all the same counts.
      run.unanswered = max(0, run.unanswered - 1)
      if completion.answer.kind == .answered, completion.status == 200 {
        pass(.answered)
        totals.accepted += 1
        let attempt = run.attempt(of: index)
        let record = LedgerRecord(
          state: .terminal(.accepted), attempt: attempt.attempt, free: attempt.free, status: 200, at: now)
        if run.context.campaign.results == .all, let (chunk, position) = run.place(of: index) {
          run.record(clock) { $0.append(record, at: index, token: chunk.token(position)) }
        } else {
          run.record(clock) { $0.append(record, at: index) }
        }
        run.end(index)
        count(.accepted, of: run.context)
      } else if completion.answer.kind == .notSent, completion.reason == .none, run.intent == .send {
        // Certainly not processed, and still granted: it may go again at once, and the ledger need not know.
        unsent.append((run, index))
      } else {
        handle(completion, of: run, index, now)
      }
    }
    if !decided.isEmpty { followGuards() }
    if !unsent.isEmpty { resubmitUnsent() }
    wakeSlices()
  }

  private func resubmitUnsent() {
    for (run, entries) in Dictionary(grouping: unsent, by: { ObjectIdentifier($0.run) }).values.map({ ($0[0].run, $0) })
    {
      // A guard that has just tripped has withdrawn the slice.
      guard run.intent == .send else {
        for entry in entries { settle(run, entry.index, nil) }
        continue
      }
      do {
        try submit(run, entries.map(\.index))
      } catch {
        for entry in entries { settle(run, entry.index, nil) }
      }
    }
    unsent = []
  }

  /// An answer that says more than "accepted", or a push without an answer.
  private func handle(_ completion: PushCompletion, of run: SliceRun, _ index: Int, _ now: UInt64) {
    let campaign = run.context.campaign
    let (attempt, free) = run.attempt(of: index)
    let decision = Disposition.decide(
      completion.answer, attempt: max(0, Int(attempt) - Int(free)) + 1, policy: configuration.retry,
      ambiguity: campaign.ambiguity,
      jitter: .random(in: 0..<1), isStorm: completion.status >= 500 && run.context.pool.isInStorm)
    if completion.answer.blamesToken, let (chunk, position) = run.place(of: index) {
      rejected.insert(chunk.token(position))
    }
    var record = LedgerRecord(
      state: .waiting, attempt: attempt, free: decision.countsAttempt ? free : Self.counted(free),
      status: completion.status,
      reason: completion.reason.code)
    switch decision.target {
    case .finish(let outcome):
      record.state = .terminal(outcome)
      record.at = now
      if outcome == .accepted { totals.accepted += 1 }
    case .retry(let milliseconds):
      record.at = UInt64(max(0, milliseconds))
      if let deadline = run.context.deadline, Int(now) + milliseconds >= deadline * 1000 {
        record.state = .terminal(.expired)
        record.at = now
      }
    case .resendNow: record.at = 0
    }
    switch (record.state, run.intent) {
    case (.waiting, .lost):
      // Sending again is the new owner's to decide.
      giveBack(1, of: run)
    case (.waiting, _):
      run.record(EventLoop.now) { $0.append(record, at: index) }
    default:
      let answer = HeldAnswer(
        index: index, record: record, fate: decision.token, timestamp: completion.timestamp,
        unknownReason: completion.unknownReason)
      if case .terminal(let outcome) = record.state { count(outcome, of: run.context) }
      if decision.token != .keep, run.context.guard.isProbing {
        hold(answer, of: run)
        return follow(decision.effect, of: run.context, completion)
      }
      if decision.token != .keep, run.context.guard.tripReason != nil || run.context.isOutdated {
        spare(answer, of: run)
      } else {
        append(answer, to: run, fate: answer.fate)
      }
    }
    run.end(index)
    follow(decision.effect, of: run.context, completion)
  }

  private func count(_ outcome: Outcome, of context: CampaignContext) {
    if context.guard.count(outcome) { decided.append(context) }
  }

  /// Records a final answer, with what it does to the device.
  func append(_ answer: HeldAnswer, to run: SliceRun, fate: Disposition.TokenFate) {
    let (index, record) = (answer.index, answer.record)
    let results = run.context.campaign.results
    let keepsResult = results == .all || results == .failures && record.state != .terminal(.accepted)
    guard keepsResult || fate != .keep || record.reason == .other, let (chunk, position) = run.place(of: index) else {
      run.record(EventLoop.now) { $0.append(record, at: index) }
      return
    }
    let action: OutcomeBatch.Action =
      switch fate {
      case .keep: .none
      case .prune: .prune
      case .quarantine: .quarantine
      }
    run.record(EventLoop.now) { batch in
      batch.append(
        record, at: index, action: action, token: chunk.token(position), user: chunk.user(position),
        // Without a timestamp the time of receipt counts (design: absent timestamp).
        timestamp: answer.timestamp == 0 ? record.at : answer.timestamp, keepsResult: keepsResult,
        unknownReason: answer.unknownReason ?? "")
    }
  }

  /// What an answer says about more than its target.
  private func follow(_ effect: Disposition.Effect, of context: CampaignContext, _ completion: PushCompletion) {
    let id = context.campaign.id
    switch effect {
    case .none: return
    case .pauseCampaign(let reason):
      pauseCampaign(
        id,
        "APNs refuses every push of it: \(Self.words(reason, completion)); mend the job, its app or the way to APNs, "
          + "then resume")
    case .stopCredential(let reason):
      context.app.credential.stop(reason)
      followCredentials(Self.words(reason, completion))
    }
  }

  /// Pauses every campaign in hand whose credential was stopped: nothing is sent with it any more, so nothing would ever
  /// be answered. What stopped it may have been said of another campaign's push, or of none.
  ///
  /// - Parameter words: what APNs said, where its reason has no name.
  func followCredentials(_ words: String = "an answer without a reason that is known") {
    for case let run? in slots where run.intent == .send && !run.context.isPaused {
      let (credential, campaign) = (run.context.app.credential, run.context.campaign)
      guard let reason = credential.stopped else { continue }
      pauseCampaign(
        campaign.id,
        "APNs refuses the credential of app \(campaign.app): " + (reason.name.isEmpty ? words : "")
          + "\(credential.explain(reason)), then resume")
    }
  }

  /// The reason, or the status with whatever word came in the reason's place.
  private static func words(_ reason: Reason, _ completion: PushCompletion) -> String {
    guard reason.name.isEmpty else { return reason.name }
    return "status \(completion.status)" + (completion.unknownReason.map { " “\($0)”" } ?? "")
  }

  func pauseCampaign(_ id: String, _ reason: String) {
    guard pausing.insert(id).inserted else { return }
    let held = slots.compactMap { $0?.context }.filter { $0.campaign.id == id }
    // One task a campaign that is paused, not one a push.
    Task {
      do {
        try await control.steer(id, .pause, reason: reason)
        for context in held { context.isPaused = true }
        observer(.paused(campaign: id, reason: reason))
      } catch {
        observer(.trouble("could not pause campaign \(id): \(error)"))
      }
      pausing.remove(id)
    }
  }

  /// Records a target that was granted and is not going to be sent now: with an outcome, or to be granted again later.
  func settle(_ run: SliceRun, _ index: Int, _ outcome: Outcome?) {
    let (attempt, free) = run.attempt(of: index)
    var record = LedgerRecord(state: .waiting, attempt: attempt, free: free)
    defer { run.end(index) }
    if let outcome {
      record.state = .terminal(outcome)
      record.at = now
      append(HeldAnswer(index: index, record: record, fate: .keep, timestamp: 0), to: run, fate: .keep)
    } else if run.intent == .lost {
      giveBack(1, of: run)
    } else {
      record.free = Self.counted(free)
      run.record(EventLoop.now) { $0.append(record, at: index) }
    }
  }

  /// One more, up to what a byte holds: the ledger's attempts stop there too.
  static func counted(_ free: UInt8) -> UInt8 { free == .max ? .max : free + 1 }

  /// Settles pushes that no connection has taken, with an outcome or to be granted again: they were certainly not sent.
  func takeBack(_ run: SliceRun, _ tags: [UInt64], as outcome: Outcome? = nil) {
    for tag in tags {
      run.unanswered -= 1
      settle(run, Int(tag & 0xffff_ffff), outcome)
    }
  }

  /// Takes back what waits for a connection, in a storm say, while its campaign's time has passed.
  func expireBacklogs() {
    let now = Int(now)
    for case let run? in slots where run.unanswered > 0 {
      guard let deadline = run.context.deadline, deadline * 1000 <= now else { continue }
      let base = run.tagBase
      takeBack(run, run.context.pool.cancelBacklog { $0 & ~0xffff_ffff == base }, as: .expired)
      run.wake()
    }
  }
}
