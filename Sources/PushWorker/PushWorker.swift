import PushTransport
public import CampaignStore
import Dispatch
public import EventLoop
import PushCore

/// Pulls campaigns from the store, sends their pushes, records what became of them.
///
/// Any number of identical workers share the work; none is special. An actor on a queue of its own: per push it handles
/// plain values in batches, per slice and commit it suspends.
///
/// It has many properties and decides little: they are the parts, each of which owns its state and decides (``Scheduler``,
/// ``CreditBudget``, ``CampaignControl``, ``FailoverReplay`` …), and the actor wires them: it brings them what happened
/// and does what they say. Each `PushWorker+….swift` is a loop or a step, in the folder of its part.
public actor PushWorker {
  let loop: EventLoop
  var configuration: WorkerConfiguration
  /// For commits and expansion.
  let store: CampaignStore
  /// For everything that may wait behind a large reply without slowing the commits.
  let control: CampaignStore
  /// For the blocking wait on the intake list.
  let blocking: CampaignStore
  let log: TroubleLog

  // Data plane: pushes, in microseconds.
  let inbox: CompletionInbox
  var slices = SliceTable()
  /// Runs while slices are in hand, see ``tick()``.
  var ticks: LoopTimer?
  var budget: CreditBudget
  var scheduler = Scheduler()
  var left = LeftSlices()
  var routes: RouteTable
  var answers = AnswerDesk()
  var rates = RateTable()
  var figures = WorkerFigures()

  // Control plane: campaigns and other workers, in seconds.
  var life = WorkerLife()
  let alarms: WorkerAlarms
  var campaigns = CampaignControl()
  var failover = FailoverReplay()
  var upkeep = Upkeep()
  var memory = MemoryWatch()
  var waiting = WaitingReports()
  var housekeeping = Housekeeping()
  /// Webhooks to which events are being delivered just now, by name.
  var webhooksUnderWay: Set<String> = []
  var presence = PresenceWatch()
  var membership: FleetMembership
  /// The call by which Redis takes a sign of life: one every few seconds. A driver that has lost it makes no progress.
  public nonisolated let waitsForRedis = CallClock()
  var clock = StoreClock()
  /// The connection on which jobs are waited for, by the server's number, to end a wait; `nil` before the first and when
  /// no job is taken in any more.
  var intakeConnection: Int?
  /// ms until the first of the campaigns begins that the latest look passed over, as they wait for registration events;
  /// `nil` for none.
  var eventWait: Int?
  /// Jobs in hand that take long to check.
  var largeJobs = LargeJobs()
  /// The jobs of campaigns that are being read.
  var readings = JobReadings()
  /// Where jobs are checked: small ones never wait for large ones.
  let (smallJobChecks, largeJobChecks): (JobChecker, JobChecker)
  /// Whether campaigns may begin.
  private(set) var hold = StoreHold.none
  /// Whether the store is being given other partitions, or has them: nothing new is taken in, and the worker ends when
  /// nothing runs.
  public var isHeld: Bool { hold != .none }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - configuration: how it is set up.
  ///   - store: for commits and expansion; opened before.
  ///   - control: the same store over another client.
  ///   - blocking: the same store over a third one, which will be blocked most of the time.
  ///   - loop: where it lives; that of the clients of `store` and `control`, so that no thread is woken for a call.
  ///   - observer: told what is worth a line in the log; called on the worker's queue, must not block.
  public init(
    configuration: WorkerConfiguration, store: CampaignStore, control: CampaignStore, blocking: CampaignStore,
    loop: EventLoop = EventLoop(label: "worker"), observer: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.configuration = configuration
    self.store = store.fenced()
    self.control = control.fenced()
    self.blocking = blocking
    self.loop = loop
    log = TroubleLog(observer)
    budget = CreditBudget(window: configuration.window)
    routes = RouteTable(configuration.apps.values)
    budget.isShared = routes.areSeveral
    inbox = CompletionInbox(loop: loop)
    smallJobChecks = JobChecker(priority: .normal, limit: configuration.jobCheckLimit)
    largeJobChecks = JobChecker(priority: .low, limit: configuration.jobCheckLimit)
    var chance = SystemRandomNumberGenerator()
    membership = FleetMembership(WorkerInstance(name: configuration.name, using: &chance))
    alarms = WorkerAlarms(on: loop)
  }

  // MARK: Start and end

  /// Nanoseconds for connections to close when a worker ends, and as long again for an engine that hangs. Every push was
  /// answered before: what is left are orphans, whose slices are others' or in doubt in the ledger.
  private static let closingTime: UInt64 = 1_000_000_000

  /// Works until ``stop(within:)``, or until no campaign is left when it drains, or when the store is held (``isHeld``).
  ///
  /// - Throws: what makes working impossible from the start: Redis out of reach, or unfit.
  public func run() async throws {
    inbox.onArrival { [weak self] in self?.assumeIsolated { $0.handleArrivals() } }
    try await measureClock()
    clock.startedAt = Int(now)
    await checkServer()
    // Before this worker begins any campaign: its webhooks get every event from now on.
    try await begin { try await registerWebhooks() }
    // Before it is listed: who is listed and does not listen is dead.
    await listen()
    do {
      try await begin { try await join() }
      // Listed before anything is taken: others look for what a worker left behind only if it is.
      try await begin { try await giveSignOfLife() }
      // Whoever pauses a campaign waits from now on for this worker, too.
      try await begin { try await followControl() }
    } catch {
      await membership.ear?.close()
      throw error
    }
    log.tell(.started(name: configuration.name))
    let telling = configuration.webhooks.isEmpty ? nil : Task { await webhookLoop() }
    let asking = configuration.apps.values.contains { $0.backend != nil } ? Task { await backendLoop() } : nil
    defer {
      telling?.cancel()
      asking?.cancel()
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.intakeLoop() }
      group.addTask { await self.pulseLoop() }
      group.addTask { await self.controlLoop() }
      group.addTask { await self.housekeepingLoop() }
      await claimLoop(&group)
      while !slices.taken.isEmpty { await waitForClaim() }
      await tellWhatIsForgotten()
      await deliverFeedback()
      life.finish()
      alarms.ringAtEnd()
    }
    ticks = nil
    reportConnections(isLast: true)
    await withDiscardingTaskGroup { group in
      for route in routes.routes {
        // After the deadline of a stop nothing is waited for.
        let deadline = life.isAbandoning ? 0 : Self.closingTime
        group.addTask { [pool = route.pool] in
          _ = await pool.drain(deadline: deadline, patience: Self.closingTime)
        }
      }
    }
    if housekeeping.isMine { try? await control.fleet.endHousekeeping(of: membership.instance) }
    try? await control.fleet.removeWorker(membership.instance.name, nonce: membership.instance.nonce)
    await membership.ear?.close()
    log.tell(.stopped(figures.totals))
    life.end()
  }

  /// Finishes what is in flight, records it, gives the rest back, and returns when ``run()`` is about to. Idempotent.
  ///
  /// - Parameter deadline: seconds for answers under way; what is unanswered then stays in doubt in the ledger.
  public func stop(within deadline: Int = 10) async {
    beginStop()
    guard !life.hasEnded else { return }
    let limit = Task {
      let began = ContinuousClock.now
      try await Task.sleep(for: .seconds(deadline))
      let grace = WorkerLife.grace(after: ContinuousClock.now - began, of: .seconds(deadline))
      if grace > .zero { try await Task.sleep(for: grace) }
      abandonUnanswered()
    }
    await withCheckedContinuation { life.add($0) }
    limit.cancel()
  }

  /// Takes note of whether campaigns may begin.
  func note(_ hold: StoreHold) {
    guard hold != self.hold else { return }
    let was = isHeld
    self.hold = hold
    if isHeld != was { log.tell(isHeld ? .held : .released) }
    wakeClaims()
  }

  func beginStop() {
    guard life.stop() else { return }
    log.tell(.draining)
    for session in slices.sessions { withdraw(session, .leave) }
    wakeClaims()
    alarms.intake.ring()
    alarms.largeJobs.ring()
    smallJobChecks.stop()
    largeJobChecks.stop()
    Task { await endIntakeWait() }
  }

  /// Ends the wait for a job. Again and again, as it may be about to begin; where Redis does not let us, it ends by itself.
  private func endIntakeWait() async {
    while let connection = intakeConnection {
      try? await control.queue.endWait(of: connection)
      await pause(milliseconds: 100)
    }
  }

  /// The deadline of a stop has passed: whatever is unanswered or can't be recorded stays in doubt in the ledger.
  func abandonUnanswered() {
    life.abandon()
    for session in slices.sessions {
      session.unanswered = 0
      session.wake()
    }
  }

  // MARK: Time

  /// ms since the epoch by Redis' clock.
  var now: UInt64 { clock.now }

  /// ns.
  var lease: UInt64 { UInt64(configuration.lease) * 1_000_000 }

  func measureClock() async throws { note(clock: try await control.time() / 1000) }

  /// Takes note of what Redis' clock said just now, in ms since the epoch.
  func note(clock milliseconds: Int) {
    clock.set(milliseconds)
    for app in configuration.apps.values { app.credential.setOffset(Int64((Double(clock.offset) / 1000).rounded())) }
  }

  /// Suspends; a stopping worker's loops end a moment later, so it need not be cut short.
  func pause(milliseconds: Int) async {
    do {
      try await Task.sleep(for: .milliseconds(milliseconds))
    } catch {
      // Cancelled: whoever runs us wants the end, not a graceful one.
      beginStop()
      abandonUnanswered()
    }
  }
}
