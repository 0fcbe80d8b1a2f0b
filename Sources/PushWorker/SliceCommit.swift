import CampaignStore
import EventLoop
import PushCore

/// What a worker and the ledger tell each other of a slice: outcomes and grants, and what either has not heard of.
extension PushWorker {
  func commit(_ run: SliceRun, credit asked: Int) async throws {
    var batch = run.takeBatch(EventLoop.now)
    // After a lost reply Redis may have granted what we never heard of: first that is to be known.
    let credit = run.mustReconcile ? 0 : asked
    lend(credit, to: run)
    run.context.probe.spend(credit)
    var sent = 0
    defer { run.context.probe.settle(spent: credit, sent: sent) }
    run.renewAt = EventLoop.now + renewal
    let resent = run.resent
    let answer: CommitAnswer
    do {
      if credit > 0, run.granted < run.count {
        try await run.load(run.granted..<min(run.granted + credit, run.count))
      }
      answer = try await run.ledger.commit(
        &batch, CommitRequest(seal: run.seal, standing: .acknowledged(run.version), credit: credit, resent: resent))
    } catch {
      // The outcomes are kept, and merging them twice does no harm. The credit is Redis' to know about.
      run.putBack(batch)
      run.uncertain += credit
      throw error
    }
    if !batch.isEmpty { pass(.committed) }
    run.journal.note(batch, retries: answer.retries, at: EventLoop.now)
    run.markRecorded(batch)
    run.resent -= resent
    totals.recorded += batch.count
    giveBack(batch.count, of: run)
    guard answer.isOwner || breaks(.fenceIgnored) else {
      giveBack(credit, of: run)
      return await disowned(run)
    }
    let expected = run.version
    run.version = answer.version.next
    let isRemembered =
      answer.isSealed && answer.granted >= run.granted && answer.version.sequence >= expected.sequence
      && answer.version.replays == expected.replays
    guard isRemembered || breaks(.fenceIgnored) else {
      giveBack(credit, of: run)
      // Redis has forgotten something, or was told by somebody else what it had forgotten.
      run.mustReplay = true
      return run.wake()
    }
    let before = run.granted
    run.granted = answer.granted
    run.waiting = answer.waiting
    run.nextRetry = answer.nextRetry.map { EventLoop.now + UInt64($0) * 1_000_000 }
    if run.mustReconcile || answer.version != expected && !breaks(.fenceIgnored) {
      giveBack(credit, of: run)
      // What Redis granted in a reply that was lost was never sent; what is left of an earlier owner's may have been.
      run.doubtIsInherited = run.doubtIsInherited && !(run.doubt.isEmpty && run.setAside.isEmpty)
      try await reconcile(run)
    } else {
      if run.granted > before || !answer.retries.isEmpty { pass(.granted) }
      sent = run.granted - before + answer.retries.count
      if breaks(.creditIgnored) { run.granted = min(run.count, run.granted + 64) }
      giveBack(credit - (run.granted - before) - answer.retries.count, of: run)
      // In one call: who can't read targets gives back the credit of all of them.
      let targets = answer.retries + (before..<run.granted).map { GrantedTarget(index: $0) }
      if !targets.isEmpty { try await send(run, targets) }
    }
    wakeSlices()
  }

  /// The claim does not hold any more.
  private func disowned(_ run: SliceRun) async {
    run.doubt = []
    run.setAside = []
    run.hunt = nil
    // Redis may have forgotten a claim of a moment ago, and a seal with it.
    await checkServer()
    if isRestoring, run.intent != .lost {
      run.mustReplay = true
      run.wake()
    } else {
      withdraw(run, .lost)
    }
  }

  /// Finds out which targets are in doubt; what Redis may have granted unheard is among them.
  func reconcile(_ run: SliceRun) async throws {
    run.mustReconcile = true
    let isOurs = try await findDoubt(run)
    run.mustReconcile = false
    giveBack(run.uncertain, of: run)
    run.uncertain = 0
    if !isOurs { await disowned(run) }
  }

  /// Reads which targets are granted without an answer and not under way here.
  ///
  /// - Returns: false when the claim was lost: what is granted then may be another's, who is sending it.
  private func findDoubt(_ run: SliceRun) async throws -> Bool {
    var found: [GrantedTarget] = []
    let known = Set((run.doubt + run.setAside).map(\.index))
    for first in stride(from: 0, to: run.granted, by: SliceRun.chunkSize) {
      let (records, isOwner) = try await run.ledger.records(
        from: first, count: min(SliceRun.chunkSize, run.granted - first))
      guard isOwner || breaks(.fenceIgnored) else { return false }
      for (offset, record) in records.enumerated() where record.state == .granted {
        let index = first + offset
        // What was answered while Redis could not be told is in no doubt, though the ledger does not know it yet.
        let isUnrecorded = run.isUnrecorded(index) && !breaks(.resendsUnrecorded)
        if run.isUnderWay(index) { run.renumber(index, attempt: record.attempt, free: record.free) }
        guard !run.isUnderWay(index), !isUnrecorded, !known.contains(index) else { continue }
        found.append(.init(index: index, attempt: record.attempt, free: record.free))
      }
    }
    run.doubt += found
    run.journal.note(OutcomeBatch(), retries: found.filter { $0.attempt > 0 }, at: EventLoop.now)
    return true
  }

  /// Sends targets in doubt again, or records that nobody knows, as the campaign wants it.
  func resend(_ run: SliceRun, _ count: Int) async throws {
    let targets = Array(run.doubt.prefix(count))
    try await run.load(targets.map(\.index))
    // While they were read the slice may have been lost, and with it what was in doubt.
    guard run.doubt.starts(with: targets) else { return }
    run.doubt.removeFirst(count)
    lend(count, to: run)
    run.context.probe.spend(count)
    defer { run.context.probe.settle(spent: count, sent: count) }
    guard run.doubtIsInherited else { return try await send(run, targets) }
    switch run.context.campaign.ambiguity {
    case .resend:
      run.resent += count
      totals.resent += count
      try await send(run, targets)
    case .skip:
      for target in targets { giveUp(run, target) }
    }
  }

  /// Records that nobody knows whether a target in doubt was reached, on credit that was lent for it.
  private func giveUp(_ run: SliceRun, _ target: GrantedTarget) {
    let record = LedgerRecord(state: .terminal(.unknown), attempt: target.attempt, free: target.free, at: now)
    append(HeldAnswer(index: target.index, record: record, fate: .keep, timestamp: 0), to: run, fate: .keep)
    run.markUnrecorded(target.index)
  }

  // MARK: Poison

  /// Goes on with the search for the target that kills its workers.
  func hunt(_ run: SliceRun) async throws {
    guard var search = run.hunt else { return }
    switch search.next() {
    case .attempt(let targets):
      guard let first = targets.first, let last = targets.last else { return }
      guard try await run.ledger.tryOnly(first.index...last.index) else { return withdraw(run, .lost) }
      run.doubt = Array(targets)
      run.setAside.removeAll { target in targets.contains { $0.index == target.index } }
      run.hunt = search
    case .bury(let target):
      try await bury(run, target)
      run.setAside.removeAll { $0.index == target.index }
      lend(1, to: run)
      giveUp(run, target)
      observer(.poison(slice: run.ledger.slice, index: target.index))
      run.hunt = search
    case .acquit: try await acquit(run)
    }
  }

  /// Ends the search: what it had set aside goes the way of all that is in doubt.
  private func acquit(_ run: SliceRun) async throws {
    guard try await run.ledger.tryOnly(nil) else { return withdraw(run, .lost) }
    run.hunt = nil
    run.doubt += run.setAside
    run.setAside = []
  }

  /// Puts a target on the dead list, as a job of its own. Before its outcome is recorded: should this worker die in
  /// between, it stands there twice, and not nowhere.
  private func bury(_ run: SliceRun, _ target: GrantedTarget) async throws {
    try await run.load([target.index])
    guard let (chunk, position) = run.place(of: target.index) else { return }
    guard let token = DeviceToken(bytes: chunk.token(position)) else { return }
    let slice = run.ledger.slice
    let job = try CampaignJob.alone(
      run.context.job, token: run.context.app.traits.service.text(of: token),
      suffix: "\(slice.partition).\(target.index)")
    try await control.bury(
      job, reason: "target \(target.index) of slice \(slice) killed every worker that sent it",
      hint: "find out why in the workers' logs; `carillon dead retry` sends it as a campaign of its own",
      worker: configuration.name)
  }
}
