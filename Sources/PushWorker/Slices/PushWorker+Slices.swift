import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// The life of a slice on a worker: claim, expand, send within the window, commit, finish.
extension PushWorker {
  /// Works on a slice until it is finished, parked, given back or lost.
  func work(on reference: SliceReference) async {
    do {
      let epoch = campaigns.epoch
      if let session = try await claim(reference) {
        // Paused or cancelled since its state was read: we may have said already that we have followed.
        if campaigns.epoch != epoch {
          do { try await followControl() } catch {
            discard(session)
            throw error
          }
        }
        return await work(apart: session)
      }
    } catch {
      // The reference stays in our list and the lease runs out: a takeover finds both.
      log.report("slice", of: reference, error)
      await mend(error, of: reference)
    }
    slices.drop(reference)
    wakeClaims()
  }

  /// Goes on with a slice that is claimed, apart from any other.
  ///
  /// - Parameter isPrepared: whether its targets are known, and what an earlier owner left in doubt.
  func work(apart tag: SliceTag, isPrepared: Bool = false) async {
    guard let session = slices.session(in: tag.slot) else { return }
    await work(apart: session, isPrepared: isPrepared)
  }

  private func work(apart session: SliceSession, isPrepared: Bool = false) async {
    do {
      defer { discard(session) }
      var mayDrive = isPrepared
      if !mayDrive { mayDrive = try await prepare(session) }
      // The next of what dead workers left is taken up whatever is in hand.
      if !left.isEmpty(EventLoop.now) { wakeClaims() }
      if mayDrive { try await drive(session) }
    } catch {
      log.report("slice", of: session.slice, error)
      await mend(error, of: session.slice)
    }
    slices.drop(session.slice)
    wakeClaims()
  }

  // MARK: Beginning

  /// ms for which a slice is set aside whose pool can't send. Short, as nobody tells when it can again, and longer than it
  /// takes to go through all slices of a campaign.
  private static let stuckPause = 5000
  /// ms for which a reference to a slice is set aside of which Redis has yet to be told what it forgot.
  private static let tellingPause = 200

  /// Claims a slice, and ends it at once where nothing is left to send.
  private func claim(_ reference: SliceReference) async throws -> SliceSession? {
    guard !failover.mustTell(of: reference) else {
      try await postponeUntilTold(reference)
      return nil
    }
    guard let (context, state) = try await context(of: reference) else { return nil }
    // Those in hand are enough to find out when the pool can send again.
    if state == .active, context.route.isStuck, slices.sessions.contains(where: { $0.context.route === context.route }),
      try await control.slices.park(reference, for: Self.stuckPause, worker: configuration.name)
    {
      log.tell(.parked(slice: reference, milliseconds: Self.stuckPause))
      return nil
    }
    let ledger = SliceLedger(
      store: store, slice: reference, lease: configuration.lease, app: context.campaign.app, rules: context.rules)
    // Should Redis come back without a later claim than this, its targets are not for us to seal.
    let expanding = store.pinned()
    if state == .active, try await leavesForRate(reference, context) { return nil }
    let standing: SliceStanding
    let claimedAt = EventLoop.now
    switch try await ledger.claim(worker: configuration.name, gracePeriod: failover.takeoverGrace(EventLoop.now)) {
    case .held(let milliseconds):
      try await control.slices.postpone(reference, for: milliseconds, worker: configuration.name)
      return nil
    case .finished:
      _ = try await end(ledger, context, .finish)
      return nil
    case .claimed(let claimed): standing = claimed
    }
    if state == .cancelled {
      pass(.claimed)
      log.tell(.claimed(slice: reference, targets: standing.isSealed ? standing.count : nil))
      _ = try await end(ledger, context, .cancel)
      return nil
    }
    return takeUp(ledger, context, standing, at: claimedAt, expanding: expanding, isActive: state == .active)
  }

  /// Takes a slice in hand that is claimed.
  ///
  /// - Parameter claimedAt: when its claim was asked for, monotonic ns: its lease begins no earlier.
  func takeUp(
    _ ledger: SliceLedger, _ context: CampaignContext, _ standing: SliceStanding, at claimedAt: UInt64,
    expanding: CampaignStore, isActive: Bool = true
  ) -> SliceSession {
    let id = ledger.slice.campaign
    pass(.claimed)
    log.tell(.claimed(slice: ledger.slice, targets: standing.isSealed ? standing.count : nil))
    if !slices.has(id) {
      context.startServing(at: Scheduler.start(of: context.account, among: entries(EventLoop.now)))
    }
    let session = SliceSession(tag: slices.nextTag(), ledger: ledger, context: context, expanding: expanding)
    session.claim.graceEnd = failover.claimsResume
    slices.add(session)
    startTicking()
    adopt(standing, session, at: claimedAt)
    inherit(standing, session)
    let isObjected = campaigns.objections.applies(to: id, round: context.round)
    if life.isStopping || !isActive || context.guard.tripReason != nil || isObjected {
      withdraw(session, .leave)
    }
    return session
  }

  /// Takes note of what a claim brought that was asked for at `claimedAt`.
  func adopt(_ standing: SliceStanding, _ session: SliceSession, at claimedAt: UInt64) {
    session.claim.renewAt = claimedAt + renewal
    session.context.route.maySend(until: claimedAt + lease)
    session.adopt(standing)
  }

  /// Takes note of what an earlier owner left in doubt.
  private func inherit(_ standing: SliceStanding, _ session: SliceSession) {
    guard standing.isSealed, standing.inDoubt > 0 else { return }
    log.tell(.tookOver(slice: session.slice, inDoubt: standing.inDoubt))
    session.doubt.isInherited = true
    session.claim.mustReconcile = true
    if standing.deaths >= Bisection.threshold, session.context.campaign.delivery.ambiguity == .resend {
      session.doubt.deaths = (standing.deaths, standing.bisected)
    }
  }

  /// ns between renewals of a lease.
  var renewal: UInt64 { lease / 3 }

  /// Expands a slice that is not sealed, or reads what an earlier owner left in doubt.
  ///
  /// - Returns: false when the claim was lost on the way, or given up for want of room.
  private func prepare(_ session: SliceSession) async throws -> Bool {
    if session.claim.mustReconcile {
      try await reconcile(session)
      if let deaths = session.doubt.beginBisection() {
        log.tell(.bisecting(slice: session.slice, deaths: deaths))
      }
    } else if !session.isReady {
      guard try await canExpand(session.context) else {
        try await setAside(session)
        return false
      }
      guard try await knowsQuotas(of: session) else {
        try await setAside(session, for: Self.rankingPause)
        return false
      }
      let (campaign, filter) = (session.context.campaign, session.context.filter)
      let quota = session.context.prospect.quotas.map { $0[session.slice.partition] }
      guard
        let targets = try await session.expanding.expansion.expand(
          session.ledger, of: campaign, filter: filter, quota: quota, now: Int(now),
          departures: session.claim.departures)
      else {
        log.tell(.lost(slice: session.slice))
        return false
      }
      noteSeal(targets, of: session)
    }
    return true
  }

  /// The targets of a slice are fixed.
  func noteSeal(_ targets: SealedTargets, of session: SliceSession) {
    pass(.sealed)
    session.journal.note(targets, at: EventLoop.now)
    let times = targets.times.map(session.context.times)
    session.seal(
      session.ledger.claim, count: targets.count, later: times?.later(of: targets.count, now: Int(now)) ?? 0,
      times: times)
    session.context.prospect.noteExpanded(targets: targets.count)
    let unknown = session.context.noteUnknownZones(targets.unknownZones)
    if !unknown.isEmpty {
      log.tell(
        .zonesUnknown(
          campaign: session.context.campaign.id.description, zones: unknown,
          instead: session.context.campaign.delivery.timing.defaultZone))
    }
    log.tell(.sealed(slice: session.slice, targets: targets.count))
  }

  /// Lets go of a slice, wherever an error may have ended it. What is on its way stays in doubt in the ledger, and keeps
  /// its credit until it is answered: another slice must not have it meanwhile.
  func discard(_ session: SliceSession) {
    slices.remove(session)
    if slices.isEmpty { ticks = nil }
    tellRest(of: session.context)
    failover.keep(session, at: EventLoop.now)
    // Of a slice that has ended everything was answered.
    let isEnded = session.claim.ending != nil && session.unanswered == 0
    let unsent = isEnded ? 0 : session.context.route.pool.cancelBacklog(where: session.tag.matches).count
    let underWay = max(0, session.unanswered - unsent)
    session.context.unspend(unsent)
    tellRates(of: session.context)
    answers.addOrphans(underWay, of: session)
    giveBack(session.credit - underWay, of: session)
  }

  // MARK: Driving

  private func drive(_ session: SliceSession) async throws {
    while true {
      do {
        if try await perform(nextStep(of: session), session) { return }
      } catch let error where !life.isAbandoning && !isFinal(error) {
        // What is under way is answered all the same, and the answers are ours to record: the slice is not let go of.
        session.claim.mustReconcile = true
        log.report("slice", of: session.slice, error)
        await checkServer()
        try await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Whether trying again is pointless: the store is not what this version can work with, or the slice is to be taken out.
  private func isFinal(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return error is CancellationError }
    return switch error.damage {
    case .slice?, .campaign?, .partition?: true
    // Somebody mends it, or not; a worker that stops does not wait for that.
    case .catalog?, .shared?: life.isStopping
    case .list?, nil: error.code == .mismatch
    }
  }

  /// - Returns: whether the slice is out of our hands.
  private func perform(_ step: SliceStep, _ session: SliceSession) async throws -> Bool {
    switch step {
    case .replay: try await replay(session)
    case .wait: await session.bell.wait()
    case .commit(let credit): try await commit(session, credit: credit)
    case .resend(let count): try await resend(session, count)
    case .passOver(let count): try await passOver(session, count)
    case .bisect: try await bisect(session)
    case .flush: flush(session)
    case .finish: return try await finish(session)
    case .cancel:
      session.claim.ending = .cancel
      return try await end(session.ledger, session.context, .cancel)
    case .park(let milliseconds):
      try await session.ledger.unclaim()
      if try await control.slices.park(session.slice, for: milliseconds, worker: configuration.name) {
        log.tell(.parked(slice: session.slice, milliseconds: milliseconds))
      } else {
        try await requeue(session)
      }
      return true
    case .leave:
      try await session.ledger.unclaim()
      try await requeue(session)
      return true
    case .abandon:
      log.tell(.lost(slice: session.slice))
      try await postpone(session.slice)
      return true
    }
    return false
  }

  func requeue(_ session: SliceSession) async throws {
    let lane = Lane.allCases[session.context.account.lane]
    try await control.slices.requeue(session.slice, lane: lane, worker: configuration.name)
    log.tell(.gaveBack(slice: session.slice))
  }

  /// Sets a reference aside until Redis knows again what this worker knows of the slice.
  func postponeUntilTold(_ slice: SliceReference) async throws {
    try await control.slices.postpone(slice, for: Self.tellingPause, worker: configuration.name)
  }

  /// Sets a slice aside that somebody else has claimed.
  private func postpone(_ slice: SliceReference) async throws {
    try await control.slices.postpone(slice, for: configuration.lease, worker: configuration.name)
  }

  // MARK: Ending

  /// Ends a slice every target of which we take for answered.
  ///
  /// - Returns: false when Redis knows of targets that are left.
  private func finish(_ session: SliceSession) async throws -> Bool {
    session.claim.ending = .finish
    if try await end(session.ledger, session.context, .finish) { return true }
    session.claim.ending = nil
    session.claim.mustReconcile = true
    try await commit(session, credit: 0)
    let isStuck =
      session.doubt.isEmpty && session.claim.waiting + session.claim.later == 0 && session.ungranted == 0
    if isStuck, !session.claim.mustReplay, session.intent == .send {
      throw StoreError(
        .refused, "it has targets left, and none of them is granted, waiting or new",
        hint: "a defect: keep the keys of the slice for whoever looks into it")
    }
    return false
  }

  /// Closes a slice and counts it for its campaign.
  ///
  /// - Returns: false when targets are left that we took for answered.
  func end(_ ledger: SliceLedger, _ context: CampaignContext, _ closing: Closing) async throws -> Bool {
    let counters: SliceCounters
    switch try await ledger.close(
      closing, variantLanguages: context.campaign.message.content?.variantLanguages, results: context.campaign.results)
    {
    case .closed(let final): counters = final
    case .unfinished: return false
    case .stale:
      log.tell(.lost(slice: ledger.slice))
      try await postpone(ledger.slice)
      return true
    }
    noteEnd(of: ledger.slice, counters)
    let lane = Lane.allCases[context.account.lane]
    let state = try await control.slices.finish(
      ledger.slice, counters: counters, lane: lane, worker: configuration.name)
    await noteCount(of: ledger.slice.campaign, state)
    return true
  }

  /// A slice is closed; its campaign has yet to count it.
  func noteEnd(of slice: SliceReference, _ counters: SliceCounters) {
    pass(.closed)
    figures.totals.slices += 1
    log.tell(.closed(slice: slice, targets: counters.targets))
    if counters.pruned + counters.quarantined > 0 { upkeep.note(prunesIn: slice.partition) }
  }

  /// Slices of a campaign are counted.
  ///
  /// - Parameter state: the campaign's, when it has ended with them.
  func noteCount(of campaign: String, _ state: CampaignState?) async {
    if let state {
      campaigns.drop(campaign)
      log.tell(.ended(campaign: campaign, state: state))
      let whole = CampaignID(campaign).whole
      let record = try? await control.campaigns.find(whole)
      if whole != campaign, let record, record.state.isFinal {
        log.tell(.ended(campaign: whole, state: record.state))
      }
      // Of parts that end together only the last one tells it.
      let last = record?.parts.max { ($0.finishedAt ?? 0, $0.id) < ($1.finishedAt ?? 0, $1.id) }
      if let reason = record?.whyNobody, last?.id ?? campaign == campaign {
        log.tell(.reachedNobody(campaign: whole, reason: reason))
      }
    }
    if state != nil || upkeep.isDeliveryDue { await deliverFeedback() }
  }
}
