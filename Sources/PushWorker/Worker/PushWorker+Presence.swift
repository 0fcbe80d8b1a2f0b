import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Once a second: a sign of life, and what others left behind.
extension PushWorker {
  /// ms between signs of life, and between looks at what others left behind.
  static let pulseInterval = 1000

  /// Gives signs of life, more of them when a scheduled campaign is due sooner, so that it begins on time.
  func pulseLoop() async {
    var nextUpkeep: UInt64 = 0
    while !life.isFinished {
      pulseAlarm.reset()
      var wait = Self.pulseInterval
      do {
        // Before anything that others left behind is looked at: Redis may have forgotten that it is ours.
        await checkServer()
        let pulse = try await control.heartbeat(worker: configuration.name, timeout: configuration.lease)
        let heard = EventLoop.now
        scheduler.fleet = pulse.workers
        do {
          try await begin(pulse.scheduled)
        } catch {
          // Others' slices are looked after all the same.
          log.report("could not begin a scheduled campaign", error)
          await mend(error)
        }
        if heard >= nextUpkeep {
          nextUpkeep = heard + UInt64(Self.pulseInterval) * 1_000_000
          try await takeOver(pulse)
          await affirmObjections()
          // Those that lead nowhere must not hold up the others.
          if pulse.isMoreDue { nextUpkeep = heard }
          reportConnections()
          expireBacklogs()
          do {
            try await reportWaiting()
          } catch {
            // A remark for people: nothing else waits for it.
            log.report("could not say why campaigns wait", error)
          }
          try await measureClock()
          try await sweep()
        }
        let untilNext = UInt64(min(pulse.nextScheduled ?? .max, Self.pulseInterval)) * 1_000_000
        let due = min(nextUpkeep, heard + untilNext)
        wait = Int(due - min(due, EventLoop.now) + 999_999) / 1_000_000
      } catch {
        log.report("sign of life failed", error)
        await mend(error)
      }
      guard !life.isFinished else { return }
      await pulseAlarm.sleep(milliseconds: wait) { [weak self] in self?.assumeIsolated { $0.pulseAlarm.ring() } }
    }
  }

  // MARK: Others' leftovers

  /// Gives back what silent workers hold, and what is left in our own name without our knowing.
  private func takeOver(_ pulse: CampaignStore.Heartbeat) async throws {
    try await control.unpark(pulse.due, worker: configuration.name)
    for dead in pulse.dead where dead != configuration.name {
      let requeued = try await control.takeOver(from: dead)
      if !requeued.isEmpty { log.tell(.requeued(from: dead, slices: requeued.count)) }
      try await control.removeWorker(dead)
    }
    let listed = try await control.processing(of: configuration.name)
    let leftovers = upkeep.leftovers(listed: listed, taken: slices.taken)
    let own = try await control.takeOver(from: configuration.name, only: leftovers)
    if !own.isEmpty { log.tell(.requeued(from: configuration.name, slices: own.count)) }
    if !pulse.due.isEmpty || !pulse.dead.isEmpty || !own.isEmpty { wakeClaims() }
  }

  /// Looks after one partition at a time: prunes that nobody delivered, moves that nobody ended. Now and then, after
  /// references that got lost and campaigns that the schedule lost.
  private func sweep() async throws {
    let (partition, isRare) = upkeep.next(of: control.keys.partitions)
    await deliverFeedback()
    _ = try await control.redoMoves(in: partition)
    guard isRare else { return }
    if try await control.reopenLost() > 0 { wakeClaims() }
    let repaired = try await control.repairSchedule(from: upkeep.schedulePosition, narrowing: !isInGrace)
    upkeep.schedulePosition = repaired.next
    tell(begun: repaired.begun)
  }

  /// Delivers what the prunes of slices that have ended entail; should it fail, the sweep does it later.
  func deliverFeedback() async {
    let partitions = upkeep.takeUndelivered()
    do {
      try await control.deliverFeedback(from: partitions)
    } catch {
      log.report("could not deliver feedback", error)
    }
  }

  // MARK: The schedule

  /// Begins scheduled campaigns whose time has come.
  private func begin(_ scheduled: [String]) async throws {
    tell(begun: try await control.promote(scheduled, narrowing: !isInGrace))
  }

  private func tell(begun campaigns: [String]) {
    for campaign in campaigns { log.tell(.begun(campaign: campaign)) }
    if !campaigns.isEmpty { wakeClaims() }
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
    let (clock, now) = (self.now, EventLoop.now)
    var stuck = campaigns.objections.raised.map { (id: $0, reason: $1.reason, since: $1.since) }
    for context in campaigns.contexts.values where campaigns.objections.raised[context.campaign.id] == nil {
      guard let obstacle = context.route.obstacle else { continue }
      stuck.append((id: context.campaign.id, reason: obstacle.reason, since: obstacle.since))
    }
    for change in waiting.update(stuck) {
      switch change {
      case .waits(let id, let reason, let since):
        let milliseconds = Int(clock) - Int((now - min(since, now)) / 1_000_000)
        try await control.noteWaiting(id, worker: configuration.name, reason: reason, since: milliseconds)
      case .goesOn(let id): try await control.clearWaiting(id, worker: configuration.name)
      }
    }
  }
}
