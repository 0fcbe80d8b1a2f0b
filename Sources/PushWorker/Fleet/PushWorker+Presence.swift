import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Signs of life, and what a worker looks after in its own name.
extension PushWorker {
  /// ms between signs of life while there is something in hand.
  private static let pulseInterval = 1000
  /// ms between signs of life of a worker that has nothing to do.
  private static let idlePulseInterval = 2500
  /// ms between looks which server answers, on the same connections, of a worker that knows nothing that it may forget.
  private static let idleServerInterval = 60_000
  /// ms between looks that nothing should need: whoever has news tells, and the answer to each sign of life says it again.
  static let idleInterval = 60_000

  /// Whether nothing is in hand, and nothing left to look after.
  var isIdle: Bool {
    slices.taken.isEmpty && campaigns.isIdle && failover.former.isEmpty && upkeep.isIdle && waiting.isIdle
  }

  func pulseLoop() async {
    while !life.isFinished {
      alarms.pulse.reset()
      failover.noteRunning(EventLoop.now)
      do {
        // Before anything that is left in our name is looked at: Redis may have forgotten that it is ours.
        if await !isServerKnown() { await checkServer() }
        try await giveSignOfLife()
        if membership.isListening, !membership.hasJoined { try await join() }
        if !isIdle { try await lookAfterOwn() }
        reportConnections()
      } catch {
        membership.noteNoPulse("\(error)")
        log.report("sign of life failed", error)
        await mend(error)
        if await !isServerKnown() { await checkServer() }
      }
      guard !life.isFinished else { return }
      // Two of them are within a lease, also when one is late.
      let interval = min(isIdle ? Self.idlePulseInterval : Self.pulseInterval, max(50, configuration.lease * 5 / 12))
      await alarms.pulse.sleep(milliseconds: interval) { [weak self] in self?.assumeIsolated { $0.alarms.pulse.ring() }
      }
    }
  }

  /// Whether the server was looked at lately: each second while there is anything that it may forget, and whenever there
  /// is another connection.
  private func isServerKnown() async -> Bool {
    let interval = isIdle ? Self.idleServerInterval : Self.pulseInterval
    guard EventLoop.now < failover.lookedAt + UInt64(interval) * 1_000_000 else { return false }
    guard await store.isAdmitted() else { return false }
    return await control.isAdmitted()
  }

  /// Takes note of what messages may have said that did not arrive.
  func giveSignOfLife() async throws {
    let report = figures.reporting.next(self.report(), EventLoop.now)
    let pulse: Fleet.Heartbeat
    waitsForRedis.begin(EventLoop.now)
    defer { waitsForRedis.end() }
    do {
      pulse = try await control.fleet.heartbeat(
        worker: configuration.name, timeout: configuration.lease, report: report)
    } catch {
      figures.reporting.forget()
      throw error
    }
    membership.notePulse(at: EventLoop.now)
    note(clock: pulse.now)
    scheduler.fleet = pulse.workers
    upkeep.note(holdsSlices: pulse.holdsSlices)
    // Taken for dead meanwhile, and not listed any more: what is listed once is listed again.
    if pulse.isNew {
      membership.hasJoined = false
      figures.reporting.forget()
      campaigns.forgetEpoch()
    }
    if pulse.hasWork { offer(1) }
    if pulse.epoch != campaigns.epoch { alarms.control.ring() }
    if !pulse.hasHousekeeper {
      housekeeping.heardOfNone()
      alarms.housekeeping.ring()
    }
  }

  private func lookAfterOwn() async throws {
    let listed = try await control.slices.processing(of: configuration.name)
    try await takeOver(from: configuration.name, only: upkeep.leftovers(listed: listed, taken: slices.taken))
    await affirmObjections()
    expireBacklogs()
    await deliverFeedback()
    do {
      try await reportWaiting()
    } catch {
      // A remark for people: nothing else waits for it.
      log.report("could not say why campaigns wait", error)
    }
  }

  /// Delivers what the prunes of slices that have ended entail; should it fail, the sweep does it later.
  func deliverFeedback() async {
    let partitions = upkeep.takeUndelivered()
    guard !partitions.isEmpty else { return }
    do {
      try await control.results.deliverFeedback(from: partitions)
    } catch {
      log.report("could not deliver feedback", error)
    }
  }

  // MARK: Connections

  /// Tells of connections to push services: of trouble at once, of how they are now and then.
  ///
  /// - Parameter isLast: whether the worker is about to close them.
  func reportConnections(isLast: Bool = false) {
    let now = EventLoop.now
    for route in routes.routes {
      let url = route.endpoint.url
      for notice in route.notices(now, isLast: isLast) {
        switch notice {
        case .failed(let error): log.report("connection to \(url)", "connection to \(url): \(error)")
        case .breakerOpened: log.tell(.breakerOpened(endpoint: url))
        case .breakerClosed: log.tell(.breakerClosed(endpoint: url))
        case .connections(let state): log.tell(.connections(endpoint: url, state))
        }
      }
    }
  }

  /// Says of campaigns that can't be sent why and since when, for whoever looks.
  private func reportWaiting() async throws {
    try await lookAtObstacles()
    let (clock, now) = (self.now, EventLoop.now)
    var stuck = campaigns.objections.raised.map { (id: $0, reason: $1.reason, since: $1.since) }
    for context in campaigns.contexts.values where campaigns.objections.raised[context.campaign.id] == nil {
      if let obstacle = context.route.obstacle ?? context.prospect.obstacle.map({ (reason: $0.reason, since: $0.since) }
      )
        ?? rateObstacle(of: context, now)
      {
        stuck.append((id: context.campaign.id, reason: obstacle.reason, since: obstacle.since))
      }
    }
    for change in waiting.update(stuck) {
      switch change {
      case .waits(let id, let reason, let since):
        // Another worker may have ended the campaign.
        guard let standing = try await control.campaigns.standing(of: id), !standing.state.isFinal else {
          campaigns.drop(id)
          continue
        }
        let milliseconds = Int(clock) - Int((now - min(since, now)) / 1_000_000)
        try await control.campaigns.noteWaiting(id, worker: configuration.name, reason: reason, since: milliseconds)
      case .goesOn(let id): try await control.campaigns.clearWaiting(id, worker: configuration.name)
      }
    }
  }
}
