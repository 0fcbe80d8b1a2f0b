import CampaignStore
import EventLoop

/// What one worker does for all: it notices who has died, begins what is scheduled, brings back what is due or got lost.
extension PushWorker {
  func housekeepingLoop() async {
    while !life.isFinished {
      alarms.housekeeping.reset()
      if slices.taken.isEmpty { housekeeping.noteIdle() }
      var wait = Housekeeping.beat
      do {
        if let chores = try await chores() {
          wait = try await keepHouse(chores)
        } else if housekeeping.untilMissing(EventLoop.now) == 0 {
          wait = Housekeeping.look
        } else {
          // Not all of a fleet look at once.
          wait = housekeeping.untilMissing(EventLoop.now) + .random(in: 0...Housekeeping.look)
        }
      } catch {
        housekeeping.end(EventLoop.now)
        presence.forget()
        log.report("housekeeping failed", error)
        await mend(error)
      }
      guard !life.isFinished else { return }
      await alarms.housekeeping.sleep(milliseconds: wait) { [weak self] in
        self?.assumeIsolated { $0.alarms.housekeeping.ring() }
      }
    }
  }

  /// What is to be done; `nil` when another does it.
  private func chores() async throws -> Fleet.Chores? {
    let isDue = housekeeping.isMine || housekeeping.untilMissing(EventLoop.now) == 0
    guard isDue else { return nil }
    if let chores = try await keepHouse(replacing: nil) { return chores }
    if housekeeping.isMine {
      housekeeping.end(EventLoop.now)
      return nil
    }
    // It gives no beat: its lease runs out, or its process has ended.
    guard membership.canTellTheDead(EventLoop.now), let holder = try await control.fleet.housekeeper(),
      presence.look(try await control.fleet.sights(of: [holder])).contains(holder)
    else { return nil }
    return try await keepHouse(replacing: holder)
  }

  private func keepHouse(replacing former: WorkerInstance?) async throws -> Fleet.Chores? {
    let idleBeat = housekeeping.untilIdleBeat(fleet: scheduler.fleet)
    let chores = try await control.fleet.housekeep(
      as: membership.instance, replacing: former, timeout: configuration.lease, beat: Housekeeping.beat,
      idleBeat: idleBeat)
    if chores != nil, let idleBeat { housekeeping.gaveIdleBeat(next: idleBeat) }
    return chores
  }

  /// - Returns: ms until the next beat.
  private func keepHouse(_ chores: Fleet.Chores) async throws -> Int {
    let heard = EventLoop.now
    if housekeeping.begin(chores.notes) { log.tell(.keepsHouse) }
    await lookAfter("slices that are due") {
      try await control.slices.unpark(chores.due, worker: configuration.name)
    }
    do {
      tell(begun: try await control.queue.promote(chores.scheduled))
    } catch {
      // Others' slices are looked after all the same.
      log.report("could not begin a scheduled campaign", error)
      await mend(error)
    }
    await lookAtGates(chores.gates)
    if housekeeping.looksAround() {
      if membership.canTellTheDead(EventLoop.now) {
        for instance in presence.look(try await control.fleet.sights()) where instance != membership.instance {
          try await takeOver(from: instance.name, isGone: true)
          try await control.fleet.removeWorker(instance.name, nonce: instance.nonce)
        }
      }
      for dead in chores.dead where dead != configuration.name {
        try await takeOver(from: dead)
        try await control.fleet.removeWorker(dead)
      }
    }
    applyEvents(on: chores.events)
    if housekeeping.goesRound(heard) { try await goRound() }
    // Those that lead nowhere must not hold up the others.
    if chores.isMoreDue { return 0 }
    return min(Housekeeping.beat, chores.nextScheduled ?? .max)
  }

  /// Looks whether stages of campaigns can begin. What is wrong with one holds up nothing else.
  private func lookAtGates(_ gates: [(id: String, dueAt: Int)]) async {
    for (id, dueAt) in gates {
      do {
        switch try await control.campaigns.lookAtGate(of: id, dueAt: dueAt) {
        case .opened(let stage, let winner):
          if let winner { log.tell(.decided(campaign: id, variant: winner)) }
          log.tell(.opened(campaign: id, stage: stage))
          wakeClaims()
        case .paused(let reason): log.tell(.paused(campaign: id, reason: reason))
        case .waits: break
        }
      } catch {
        log.report("could not look at the gate of campaign \(id)", error)
        await mend(error)
      }
    }
  }

  /// Gives back what a dead worker, or an earlier life of this one, holds.
  func takeOver(from worker: String, only leftovers: Set<SliceReference>? = nil, isGone: Bool = false) async throws {
    let requeued = try await control.slices.takeOver(from: worker, only: leftovers, isGone: isGone)
    guard !requeued.isEmpty else { return }
    log.tell(.requeued(from: worker, slices: requeued.count))
    wakeClaims()
    // What it said of campaigns that it could not send says nothing any more.
    for id in Set(requeued.map(\.campaign)) where worker != configuration.name {
      try await control.campaigns.clearWaiting(id, worker: worker)
    }
  }

  /// Looks after a few partitions: prunes that nobody delivered, moves that nobody ended. Now and then, after references
  /// that got lost and campaigns that the schedule lost.
  private func goRound() async throws {
    let (partitions, isRare) = housekeeping.nextPartitions(of: control.keys.partitions)
    for partition in partitions {
      await lookAfter("partition \(partition)") { _ = try await control.registry.redoMoves(in: partition) }
      await lookAfter("partition \(partition)") { try await control.erasure.forgetOldStatements(in: partition) }
      upkeep.note(prunesIn: partition)
    }
    await deliverFeedback()
    await lookAfter("erasures of users") { _ = try await control.erasure.finishErasures() }
    if isRare {
      await lookAfter("running campaigns") {
        housekeeping.notes.running = try await control.slices.reopenLost(from: housekeeping.notes.running).next
      }
      await lookAfter("the schedule") {
        let repaired = try await control.queue.repairSchedule(from: housekeeping.notes.schedule)
        housekeeping.notes.schedule = repaired.next
        tell(begun: repaired.begun)
      }
    }
    // Also when something failed: the next housekeeper goes on behind it.
    try await control.fleet.write(housekeeping.notes)
  }

  /// Does one task of the round. A failure concerns what it names, and no other task.
  private func lookAfter(_ what: String, _ task: () async throws -> Void) async {
    do {
      try await task()
    } catch {
      log.report("could not look after \(what)", error)
      await mend(error)
    }
  }

  private func tell(begun campaigns: [String]) {
    for campaign in campaigns { log.tell(.begun(campaign: campaign)) }
  }
}
