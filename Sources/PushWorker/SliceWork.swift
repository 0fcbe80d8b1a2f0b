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
      let epoch = followedEpoch
      if let run = try await claim(reference) {
        defer { discard(run) }
        // Steered since its state was read: we may have said already that we have followed.
        if followedEpoch != epoch { try await followSteering() }
        if try await prepare(run) { try await drive(run) }
      }
    } catch {
      // The reference stays in our list and the lease runs out: rescue finds both.
      report("slice", of: reference, error)
    }
    working.remove(reference)
    wakeClaims()
  }

  // MARK: Beginning

  /// Claims a slice, and ends it at once where nothing is left to send.
  private func claim(_ reference: SliceReference) async throws -> SliceRun? {
    guard let (context, state) = try await context(of: reference) else { return nil }
    if state == .active, isHeldBack(by: context.pool),
      try await control.park(reference, for: Self.stormPause, worker: configuration.name)
    {
      return nil
    }
    let ledger = SliceLedger(
      store: store, slice: reference, lease: configuration.lease, app: context.campaign.app)
    // Should Redis come back without a later claim than this, its targets are not for us to seal.
    let expanding = store.pinned()
    let standing: SliceStanding
    switch try await ledger.claim(worker: configuration.name, sparing: sparing) {
    case .held(let milliseconds):
      try await control.postpone(reference, for: milliseconds, worker: configuration.name)
      return nil
    case .finished:
      _ = try await end(ledger, context, .finish)
      return nil
    case .claimed(let claimed): standing = claimed
    }
    pass(.claimed)
    if state == .cancelled {
      _ = try await end(ledger, context, .cancel)
      return nil
    }
    let slot = slots.firstIndex { $0 == nil } ?? slots.count
    if slot == slots.count { slots.append(nil) }
    generation &+= 1
    let run = SliceRun(slot: slot, generation: generation, ledger: ledger, context: context, expanding: expanding)
    slots[slot] = run
    adopt(standing, run)
    if standing.isSealed, standing.inDoubt > 0 {
      observer(.tookOver(slice: reference, inDoubt: standing.inDoubt))
      run.doubtIsInherited = true
      run.mustReconcile = true
      if standing.deaths >= PoisonHunt.threshold, context.campaign.ambiguity == .resend {
        run.suspicion = .init(deaths: standing.deaths, trial: standing.trial)
      }
    }
    if isStopping || state != .active || context.guard.tripReason != nil { giveBack(run) }
    return run
  }

  /// Takes note of what a claim brought.
  func adopt(_ standing: SliceStanding, _ run: SliceRun) {
    run.renewAt = EventLoop.now + renewal
    guard standing.isSealed else { return }
    run.seal = standing.seal
    run.version = standing.version
    if !run.isReady { run.adopt(count: standing.count, granted: standing.granted, waiting: standing.waiting) }
  }

  /// Expands a slice that is not sealed, or reads what an earlier owner left in doubt.
  ///
  /// - Returns: false when the claim was lost on the way.
  private func prepare(_ run: SliceRun) async throws -> Bool {
    if run.mustReconcile {
      try await reconcile(run)
      if let suspicion = run.suspicion {
        observer(.suspected(slice: run.ledger.slice, deaths: suspicion.deaths))
        run.hunt = PoisonHunt(doubt: run.doubt, trial: suspicion.trial)
        run.setAside = run.doubt
        run.doubt = []
      }
    } else if !run.isReady {
      let (audience, filter) = (run.context.campaign.audience, run.context.filter)
      guard let targets = try await run.expanding.expand(run.ledger, audience: audience, filter: filter) else {
        observer(.lost(slice: run.ledger.slice))
        return false
      }
      pass(.sealed)
      run.seal = run.ledger.claim
      run.journal.note(targets, at: EventLoop.now)
      run.adopt(count: targets.count, granted: 0, waiting: 0)
    }
    return true
  }

  /// Lets go of a slice, wherever an error may have ended it. What is on its way to APNs stays in doubt in the ledger, and
  /// keeps its credit until it is answered: another slice must not have it meanwhile.
  private func discard(_ run: SliceRun) {
    slots[run.slot] = nil
    tellRest(of: run.context)
    keep(run)
    let base = run.tagBase
    let unsent = run.context.pool.cancelBacklog { $0 & ~0xffff_ffff == base }.count
    let underWay = max(0, run.unanswered - unsent)
    orphans += underWay
    giveBack(run.credit - underWay, of: run)
  }

  var renewal: UInt64 { UInt64(configuration.lease) * 1_000_000 / 3 }

  private func context(of reference: SliceReference) async throws -> (CampaignContext, CampaignState)? {
    guard let record = try await control.campaign(reference.campaign) else {
      try await control.dismiss(reference, worker: configuration.name)
      return nil
    }
    noteRest(of: record)
    if let known = contexts[reference.campaign], known.round >= record.round {
      if record.state == .active { insist(known) }
      return (known, record.state)
    }
    do {
      let campaign = try CampaignJob.parse(record.job, knownApps: configuration.apps.mapValues(\.traits))
      guard let app = configuration.apps[campaign.app] else { return nil }
      let context = CampaignContext(
        campaign: campaign, record: record, app: app,
        pool: pool(for: campaign.channel == nil ? app : app.broadcasting),
        policy: configuration.guard.within(window: configuration.window))
      contexts[reference.campaign] = context
      // Whoever set the campaign going again wants its credential tried again.
      if record.state == .active { app.credential.resume() }
      return (context, record.state)
    } catch let error {
      // It was valid where it was taken in: this worker is configured otherwise.
      let reason = "worker \(configuration.name) can't run it: \(error.reason)"
      try await control.steer(reference.campaign, .pause, reason: reason)
      try await control.requeue(reference, lane: record.lane, worker: configuration.name)
      observer(.paused(campaign: reference.campaign, reason: reason))
      return nil
    }
  }

  // MARK: Driving

  private func drive(_ run: SliceRun) async throws {
    while true {
      do {
        if try await perform(nextStep(of: run, now: EventLoop.now), run) { return }
      } catch let error where !isAbandoning && !Self.isFinal(error) {
        // What is under way is answered all the same, and the answers are ours to record: the slice is not let go of.
        run.mustReconcile = true
        report("slice", of: run.ledger.slice, error)
        await checkServer()
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Whether trying again is pointless: the store is not what this version can work with.
  private static func isFinal(_ error: any Error) -> Bool {
    error is CancellationError || (error as? StoreError)?.code == .mismatch
  }

  /// - Returns: whether the slice is out of our hands.
  private func perform(_ step: SliceStep, _ run: SliceRun) async throws -> Bool {
    switch step {
    case .replay: try await replay(run)
    case .wait: await run.sleep()
    case .commit(let credit): try await commit(run, credit: credit)
    case .resend(let count): try await resend(run, count)
    case .hunt: try await hunt(run)
    case .flush: flush(run)
    case .finish:
      run.ending = .finish
      if try await end(run.ledger, run.context, .finish) { return true }
      run.ending = nil
      run.mustReconcile = true
      try await commit(run, credit: 0)
      let isStuck = run.doubt.isEmpty && run.setAside.isEmpty && run.waiting == 0 && run.granted == run.count
      if isStuck, !run.mustReplay, run.intent == .send {
        throw StoreError(
          .refused, "it has targets left, and none of them is granted, waiting or new",
          hint: "a defect: keep the keys of the slice for whoever looks into it")
      }
    case .cancel:
      run.ending = .cancel
      return try await end(run.ledger, run.context, .cancel)
    case .park(let milliseconds):
      try await run.ledger.release()
      if try await !control.park(run.ledger.slice, for: milliseconds, worker: configuration.name) {
        try await requeue(run)
      }
      return true
    case .leave:
      try await run.ledger.release()
      try await requeue(run)
      return true
    case .abandon:
      observer(.lost(slice: run.ledger.slice))
      try await postpone(run.ledger.slice)
      return true
    }
    return false
  }

  /// What a slice does next.
  func nextStep(of run: SliceRun, now: UInt64) -> SliceStep {
    run.situation(
      credit: credit(for: run), window: budget.window, lease: UInt64(configuration.lease) * 1_000_000, now: now
    ).next
  }

  private func requeue(_ run: SliceRun) async throws {
    let lane = Lane.allCases[run.context.lane]
    try await control.requeue(run.ledger.slice, lane: lane, worker: configuration.name)
  }

  /// Credit that this slice may ask for: nothing while a higher lane could use it.
  private func credit(for run: SliceRun) -> Int {
    let free = budget.free
    guard free > 0, run.intent == .send, !isRestoring else { return 0 }
    let isOutranked = slots.contains { other in
      guard let other, other.intent == .send else { return false }
      return other.context.lane < run.context.lane && other.count - other.granted + other.doubt.count > 0
        && !other.context.pool.isInStorm
    }
    // Two searches at once would take each other's deaths for their own.
    let isSecondHunt = run.hunt != nil && slots.contains { ($0?.slot ?? .max) < run.slot && $0?.hunt != nil }
    if isOutranked || isSecondHunt { return 0 }
    // One after the other is enough to find out when it is over.
    if run.context.pool.isInStorm { return run.unanswered == 0 ? 1 : 0 }
    return run.context.guard.isProbing ? min(free, run.context.probe.allowance) : free
  }

  // MARK: Ending

  /// Sets a slice aside that somebody else has claimed.
  private func postpone(_ slice: SliceReference) async throws {
    try await control.postpone(slice, for: configuration.lease, worker: configuration.name)
  }

  /// Slices with prunes after which these are delivered together.
  private static let undeliveredSlices = 16

  /// Delivers what the prunes of slices that have ended entail; should it fail, the sweep does it later.
  func deliverFeedback() async {
    let partitions = undelivered
    undelivered = []
    do {
      try await control.deliverFeedback(from: partitions)
    } catch {
      report("could not deliver feedback", error)
    }
  }

  /// Closes a slice and counts it for its campaign.
  ///
  /// - Returns: false when targets are left that we took for answered.
  func end(_ ledger: SliceLedger, _ context: CampaignContext, _ closing: Closing) async throws -> Bool {
    let counters: SliceCounters
    switch try await ledger.close(closing) {
    case .closed(let final): counters = final
    case .unfinished: return false
    case .stale:
      observer(.lost(slice: ledger.slice))
      try await postpone(ledger.slice)
      return true
    }
    pass(.closed)
    totals.slices += 1
    let lane = Lane.allCases[context.lane]
    if counters.pruned + counters.quarantined > 0 { undelivered.insert(ledger.slice.partition) }
    let state = try await control.finish(ledger.slice, counters: counters, lane: lane, worker: configuration.name)
    if let state {
      contexts[ledger.slice.campaign] = nil
      observer(.ended(campaign: ledger.slice.campaign, state: state))
    }
    if state != nil || undelivered.count >= Self.undeliveredSlices { await deliverFeedback() }
    return true
  }
}
