import APNs
import CampaignStore
import Dispatch
import EventLoop
import PushCore

/// The life of a slice on a worker: claim, expand, send within the window, commit, finish.
extension PushWorker {
  /// Works on a slice until it is finished, parked, given back or lost.
  func work(on reference: SliceReference) async {
    do {
      if let run = try await claim(reference) {
        defer { discard(run) }
        if try await prepare(run) { try await drive(run) }
      }
    } catch {
      // The reference stays in our list and the lease runs out: rescue finds both.
      report("slice \(reference)", error)
    }
    working.remove(reference)
    wakeClaims()
  }

  // MARK: Beginning

  /// Claims a slice, and ends it at once where nothing is left to send.
  private func claim(_ reference: SliceReference) async throws -> SliceRun? {
    guard let (context, state) = try await context(of: reference) else { return nil }
    let ledger = SliceLedger(store: store, slice: reference, lease: configuration.lease)
    let standing: SliceStanding
    switch try await ledger.claim(worker: configuration.name, app: context.campaign.app) {
    case .held(let milliseconds):
      try await control.postpone(reference, for: milliseconds, worker: configuration.name)
      return nil
    case .finished:
      try await end(ledger, context, .finish)
      return nil
    case .claimed(let claimed): standing = claimed
    }
    pass(.claimed)
    if state == .cancelled {
      try await end(ledger, context, .cancel)
      return nil
    }
    let slot = slots.firstIndex { $0 == nil } ?? slots.count
    if slot == slots.count { slots.append(nil) }
    generation &+= 1
    let run = SliceRun(slot: slot, generation: generation, ledger: ledger, context: context)
    slots[slot] = run
    run.renewAt = EventLoop.now + renewal
    if standing.isSealed {
      run.adopt(count: standing.count, granted: standing.granted, waiting: standing.waiting)
      if standing.inDoubt > 0 {
        observer(.tookOver(slice: reference, inDoubt: standing.inDoubt))
        run.doubtIsInherited = true
        run.mustReconcile = true
      }
    }
    if isStopping || context.guard.tripReason != nil { giveBack(run) }
    return run
  }

  /// Expands a slice that is not sealed, or reads what an earlier owner left in doubt.
  ///
  /// - Returns: false when the claim was lost on the way.
  private func prepare(_ run: SliceRun) async throws -> Bool {
    if run.mustReconcile {
      run.mustReconcile = false
      try await findDoubt(run)
    } else if !run.isReady {
      let (audience, filter) = (run.context.campaign.audience, run.context.filter)
      guard let count = try await store.expand(run.ledger, audience: audience, filter: filter) else {
        observer(.lost(slice: run.ledger.slice))
        return false
      }
      pass(.sealed)
      run.adopt(count: count, granted: 0, waiting: 0)
    }
    return true
  }

  /// Lets go of a slice, wherever an error may have ended it. What is on its way to APNs stays in doubt in the ledger, and
  /// keeps its credit until it is answered: another slice must not have it meanwhile.
  private func discard(_ run: SliceRun) {
    slots[run.slot] = nil
    let base = run.tagBase
    let unsent = run.context.pool.cancelBacklog { $0 & ~0xffff_ffff == base }.count
    let underWay = max(0, run.unanswered - unsent)
    orphans += underWay
    giveBack(run.credit - underWay, of: run)
  }

  private var renewal: UInt64 { UInt64(configuration.lease) * 1_000_000 / 3 }

  private func context(of reference: SliceReference) async throws -> (CampaignContext, CampaignState)? {
    guard let record = try await control.campaign(reference.campaign) else {
      try await control.dismiss(reference, worker: configuration.name)
      return nil
    }
    if let known = contexts[reference.campaign], record.state != .active || !wasResumed(known) {
      return (known, record.state)
    }
    do {
      let campaign = try CampaignJob.parse(record.job, knownApps: Set(configuration.apps.keys))
      guard let app = configuration.apps[campaign.app] else { return nil }
      let context = CampaignContext(
        campaign: campaign, record: record, app: app, pool: pool(for: app),
        policy: configuration.guard.within(window: configuration.window))
      contexts[reference.campaign] = context
      // Whoever set the campaign going again wants its credential tried again.
      app.credential.resume()
      return (context, record.state)
    } catch let error {
      // It was valid where it was taken in: this worker is configured otherwise.
      let reason = "worker \(configuration.name) can't run it: \(error.field): \(error.message)"
      try await control.steer(reference.campaign, .pause, reason: reason)
      try await control.requeue(reference, lane: record.lane, worker: configuration.name)
      observer(.paused(campaign: reference.campaign, reason: reason))
      return nil
    }
  }

  /// Reads which targets are granted without an answer and not under way here.
  private func findDoubt(_ run: SliceRun) async throws {
    let known = Set(run.doubt.map(\.index))
    for first in stride(from: 0, to: run.granted, by: SliceRun.chunkSize) {
      let records = try await run.ledger.records(from: first, count: min(SliceRun.chunkSize, run.granted - first))
      for (offset, record) in records.enumerated() where record.state == .granted {
        let index = first + offset
        // What was answered while Redis could not be told is in no doubt, though the ledger does not know it yet.
        let isUnrecorded = run.isUnrecorded(index) && !breaks(.resendsUnrecorded)
        guard !run.isUnderWay(index), !isUnrecorded, !known.contains(index) else { continue }
        run.doubt.append(.init(index: index, attempt: record.attempt, free: record.free))
      }
    }
  }

  // MARK: Driving

  private func drive(_ run: SliceRun) async throws {
    while true {
      switch nextStep(of: run, now: EventLoop.now) {
      case .wait: await run.sleep()
      case .commit(let credit): try await commit(run, credit: credit)
      case .resend(let count): try await resend(run, count)
      case .flush: release(run)
      case .finish: return try await end(run.ledger, run.context, .finish)
      case .cancel: return try await end(run.ledger, run.context, .cancel)
      case .park(let milliseconds):
        try await run.ledger.release()
        if try await control.park(run.ledger.slice, for: milliseconds, worker: configuration.name) { return }
        return try await requeue(run)
      case .leave:
        try await run.ledger.release()
        return try await requeue(run)
      case .abandon:
        observer(.lost(slice: run.ledger.slice))
        return try await postpone(run.ledger.slice)
      }
    }
  }

  /// What a slice does next.
  func nextStep(of run: SliceRun, now: UInt64) -> SliceStep {
    run.situation(credit: credit(for: run), window: budget.window, now: now).next
  }

  private func requeue(_ run: SliceRun) async throws {
    let lane = Lane.allCases[run.context.lane]
    try await control.requeue(run.ledger.slice, lane: lane, worker: configuration.name)
  }

  /// Credit that this slice may ask for: nothing while a higher lane could use it.
  private func credit(for run: SliceRun) -> Int {
    let free = budget.free
    guard free > 0, run.intent == .send else { return 0 }
    let isOutranked = slots.contains { other in
      guard let other, other.intent == .send else { return false }
      return other.context.lane < run.context.lane && other.count - other.granted + other.doubt.count > 0
    }
    return isOutranked ? 0 : free
  }

  private func commit(_ run: SliceRun, credit asked: Int) async throws {
    var batch = run.takeBatch(EventLoop.now)
    // After a lost reply Redis may have granted what we never heard of: first that is to be known.
    let credit = run.mustReconcile ? 0 : asked
    lend(credit, to: run)
    run.renewAt = EventLoop.now + renewal
    let resent = run.resent
    let answer: CommitAnswer
    do {
      if credit > 0, run.granted < run.count {
        try await run.load(run.granted..<min(run.granted + credit, run.count))
      }
      answer = try await run.ledger.commit(&batch, credit: credit, resent: resent)
    } catch {
      // The outcomes are kept, and merging them twice does no harm.
      giveBack(credit, of: run)
      run.putBack(batch)
      run.mustReconcile = true
      report("could not commit; the outcomes are kept", error)
      if isAbandoning { throw error }
      try await Task.sleep(for: .milliseconds(100))
      return
    }
    if !batch.isEmpty { pass(.committed) }
    run.markRecorded(batch)
    run.resent -= resent
    totals.recorded += batch.count
    let before = run.granted
    run.granted = max(run.granted, answer.granted)
    if breaks(.creditIgnored) { run.granted = min(run.count, run.granted + 64) }
    run.waiting = answer.waiting
    run.nextRetry = answer.nextRetry.map { EventLoop.now + UInt64($0) * 1_000_000 }
    giveBack(batch.count, of: run)
    guard answer.isOwner else {
      giveBack(credit, of: run)
      run.doubt = []
      withdraw(run, .lost)
      return
    }
    if run.mustReconcile {
      run.mustReconcile = false
      // What Redis granted in a reply that was lost was never sent; only what is left of an earlier owner's is in doubt.
      run.doubtIsInherited = run.doubtIsInherited && !run.doubt.isEmpty
      try await findDoubt(run)
    } else {
      if run.granted > before || !answer.retries.isEmpty { pass(.granted) }
      giveBack(credit - (run.granted - before) - answer.retries.count, of: run)
      if !answer.retries.isEmpty { try await send(run, answer.retries) }
      if run.granted > before {
        try await send(run, (before..<run.granted).map { GrantedTarget(index: $0) })
      }
    }
    wakeSlices()
  }

  /// Sends targets in doubt again, or records that nobody knows, as the campaign wants it.
  private func resend(_ run: SliceRun, _ count: Int) async throws {
    let targets = Array(run.doubt.prefix(count))
    run.doubt.removeFirst(count)
    lend(count, to: run)
    guard run.doubtIsInherited else { return try await send(run, targets) }
    switch run.context.campaign.ambiguity {
    case .resend:
      run.resent += count
      totals.resent += count
      try await send(run, targets)
    case .skip:
      let now = now
      for target in targets {
        let record = LedgerRecord(state: .terminal(.unknown), attempt: target.attempt, free: target.free, at: now)
        run.record(EventLoop.now) { $0.append(record, at: target.index) }
        run.markUnrecorded(target.index)
      }
    }
  }

  // MARK: Ending

  /// Sets a slice aside that somebody else has claimed.
  private func postpone(_ slice: SliceReference) async throws {
    try await control.postpone(slice, for: configuration.lease, worker: configuration.name)
  }

  /// Closes a slice and counts it for its campaign.
  private func end(_ ledger: SliceLedger, _ context: CampaignContext, _ closing: Closing) async throws {
    guard let counters = try await ledger.close(closing) else {
      observer(.lost(slice: ledger.slice))
      return try await postpone(ledger.slice)
    }
    pass(.closed)
    totals.slices += 1
    let lane = Lane.allCases[context.lane]
    if let state = try await control.finish(ledger.slice, counters: counters, lane: lane, worker: configuration.name) {
      contexts[ledger.slice.campaign] = nil
      observer(.ended(campaign: ledger.slice.campaign, state: state))
    }
    if counters.pruned + counters.quarantined > 0 {
      try await control.deliverFeedback(from: ledger.slice.partition)
    }
  }
}
