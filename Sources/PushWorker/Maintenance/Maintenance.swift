import CampaignStore
import EventLoop

/// Runs the housekeeping tasks, which one worker does for the fleet: it detects dead workers, starts scheduled
/// campaigns, and brings back slices that are due or were lost.
final class Maintenance: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let membership: FleetMembership
  private let housekeeping: HousekeepingLease
  private let takeover: SliceTakeover
  private let feedback: FeedbackDelivery
  private let registrations: RegistrationIntake
  private let webhooks: WebhookDelivery
  private let backends: BackendMonitor
  private let damage: DamageIsolator
  private var presence = LivenessMonitor()

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, membership: FleetMembership,
    housekeeping: HousekeepingLease, takeover: SliceTakeover, feedback: FeedbackDelivery,
    registrations: RegistrationIntake, webhooks: WebhookDelivery, backends: BackendMonitor, damage: DamageIsolator
  ) {
    self.environment = environment
    self.slices = slices
    self.membership = membership
    self.housekeeping = housekeeping
    self.takeover = takeover
    self.feedback = feedback
    self.registrations = registrations
    self.webhooks = webhooks
    self.backends = backends
    self.damage = damage
  }

  /// Registers new webhooks, so that they get every later event. The caller calls the function before the worker takes
  /// a job or a slice.
  func registerWebhooks() async throws { try await webhooks.register() }

  /// Runs the deliveries to webhooks and the checks of backends. No other part waits for these tasks. The function
  /// returns when its task is cancelled.
  func runInBackground() async {
    await loop.withGroup { group in
      if self.webhooks.isNeeded { self.loop.start(in: &group) { await self.webhooks.run() } }
      if self.backends.isNeeded { self.loop.start(in: &group) { await self.backends.run() } }
    }
  }

  /// Delivers the prunes of the last slices.
  func finish() async { await feedback.deliver() }

  /// Releases the housekeeping lease.
  func endLease() async {
    if housekeeping.isLeader { try? await sharedStore.fleet.endHousekeeping(of: membership.instance) }
  }

  /// Runs until the worker has finished.
  func run() async {
    while !life.isFinished {
      signals.maintenance.reset()
      if slices.taken.isEmpty { housekeeping.recordIdle() }
      var wait = HousekeepingLease.signalInterval
      do {
        if let dueTasks = try await dueTasks() {
          wait = try await runTasks(dueTasks)
        } else if housekeeping.untilMissing(EventLoop.now) == 0 {
          wait = HousekeepingLease.retryInterval
        } else {
          // The random part keeps the workers of the fleet from asking at the same time.
          wait = housekeeping.untilMissing(EventLoop.now) + .random(in: 0...HousekeepingLease.retryInterval)
        }
      } catch {
        housekeeping.end(EventLoop.now)
        presence.reset()
        log.report("housekeeping failed", error)
        await damage.repair(error)
      }
      guard !life.isFinished else { return }
      await signals.maintenance.wait(milliseconds: wait, on: loop)
    }
  }

  /// Renews or takes the housekeeping lease, and returns the due work. Returns `nil` if another worker is the leader.
  private func dueTasks() async throws -> Fleet.DueTasks? {
    let isDue = housekeeping.isLeader || housekeeping.untilMissing(EventLoop.now) == 0
    guard isDue else { return nil }
    if let dueTasks = try await runTasks(replacing: nil) { return dueTasks }
    if housekeeping.isLeader {
      housekeeping.end(EventLoop.now)
      return nil
    }
    // The leader sends no signal. If its process has ended, this worker replaces the leader before the lease expires.
    guard membership.canDetectDeadWorkers(EventLoop.now), let holder = try await sharedStore.fleet.housekeeper(),
      presence.check(try await sharedStore.fleet.presences(of: [holder])).contains(holder)
    else { return nil }
    return try await runTasks(replacing: holder)
  }

  private func runTasks(replacing former: WorkerInstance?) async throws -> Fleet.DueTasks? {
    let idleSignalDelay = housekeeping.idleSignalDelay(fleet: environment.fleet)
    let dueTasks = try await sharedStore.fleet.housekeep(
      as: membership.instance, replacing: former, timeout: environment.configuration.lease,
      signalInterval: HousekeepingLease.signalInterval,
      idleSignalDelay: idleSignalDelay)
    if dueTasks != nil, let idleSignalDelay { housekeeping.recordIdleSignal(next: idleSignalDelay) }
    return dueTasks
  }

  /// Runs the housekeeping tasks that are due.
  ///
  /// - Returns: Time in ms until the next run.
  private func runTasks(_ dueTasks: Fleet.DueTasks) async throws -> Int {
    let now = EventLoop.now
    if housekeeping.begin(dueTasks.progress) { log.write(.becameHousekeeper) }
    await runTask("slices that are due") {
      try await sharedStore.slices.unpark(dueTasks.due, worker: environment.configuration.name)
    }
    do {
      logStarted(try await sharedStore.queue.promote(dueTasks.scheduled))
    } catch {
      // Continue with the slices of dead workers.
      log.report("could not start a scheduled campaign", error)
      await damage.repair(error)
    }
    await checkGates(dueTasks.gates)
    if housekeeping.countRun() {
      if membership.canDetectDeadWorkers(EventLoop.now) {
        for instance in presence.check(try await sharedStore.fleet.presences()) where instance != membership.instance {
          try await takeover.takeOver(from: instance.name, isGone: true)
          try await sharedStore.fleet.removeWorker(instance.name, nonce: instance.nonce)
        }
      }
      for dead in dueTasks.dead where dead != environment.configuration.name {
        try await takeover.takeOver(from: dead)
        try await sharedStore.fleet.removeWorker(dead)
      }
    }
    registrations.apply(dueTasks.events)
    if housekeeping.isSweepDue(now) { try await sweep() }
    // Runs again immediately if more slices may be due. Entries that can't be handled must not delay the others.
    if dueTasks.isMoreDue { return 0 }
    return min(HousekeepingLease.signalInterval, dueTasks.nextScheduled ?? .max)
  }

  /// Checks whether stages of campaigns can begin. An error in one campaign delays nothing else.
  private func checkGates(_ gates: [(id: String, dueAt: Int)]) async {
    for (id, dueAt) in gates {
      do {
        switch try await sharedStore.campaigns.checkGate(of: id, dueAt: dueAt) {
        case .opened(let stage, let winner):
          if let winner { log.write(.decided(campaign: id, variant: winner)) }
          log.write(.opened(campaign: id, stage: stage))
          wakeClaims()
        case .paused(let reason): log.write(.paused(campaign: id, reason: reason))
        case .waits: break
        }
      } catch {
        log.report("could not check the gate of campaign \(id)", error)
        await damage.repair(error)
      }
    }
  }

  /// Sweeps through a few partitions: delivers remaining prunes, and completes unfinished registrations. Every eighth
  /// step also searches for slices without a reference and for campaigns that are missing in the schedule.
  private func sweep() async throws {
    let (partitions, isRare) = housekeeping.nextPartitions(of: sharedStore.keys.partitions)
    for partition in partitions {
      await runTask("partition \(partition)") { _ = try await sharedStore.registry.redoMoves(in: partition) }
      await runTask("partition \(partition)") { try await sharedStore.erasure.forgetOldStatements(in: partition) }
      feedback.add(prunesIn: partition)
    }
    await feedback.deliver()
    await runTask("erasures of users") { _ = try await sharedStore.erasure.finishErasures() }
    if isRare {
      await runTask("running campaigns") {
        housekeeping.progress.running = try await sharedStore.slices.reopenLost(from: housekeeping.progress.running)
          .next
      }
      await runTask("the schedule") {
        let repaired = try await sharedStore.queue.repairSchedule(from: housekeeping.progress.schedule)
        housekeeping.progress.schedule = repaired.next
        logStarted(repaired.begun)
      }
    }
    // Stores the positions also after a failure, so that the next leader continues after this step.
    try await sharedStore.fleet.write(housekeeping.progress)
  }

  /// Runs one task of a run. A failure affects no other task.
  private func runTask(_ what: String, _ task: () async throws -> Void) async {
    do {
      try await task()
    } catch {
      log.report("housekeeping of \(what) failed", error)
      await damage.repair(error)
    }
  }

  private func logStarted(_ campaigns: [String]) {
    for campaign in campaigns { log.write(.campaignStarted(campaign: campaign)) }
  }
}
