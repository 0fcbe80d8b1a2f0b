import Dispatch
import PushCore
import PushTransport

public import CampaignStore
public import EventLoop

/// Takes campaigns from the store, sends their pushes, and records what became of them.
///
/// Any number of identical workers share the work; none is special. An actor on a queue of its own: per push it handles
/// plain values in batches, per slice and commit it suspends.
///
/// The actor starts and ends its parts, and does nothing else. Each part owns its state and is confined to the actor's loop;
/// ``WorkerParts`` connects them. `README.md` lists them.
public actor PushWorker: WorkerLoopHost {
  private let loop: EventLoop
  private let environment: WorkerEnvironment
  private let parts: WorkerParts
  /// Measures the call by which Redis takes a heartbeat: one every few seconds. A driver that has lost this call makes no progress.
  public nonisolated let waitsForRedis = CallClock()

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - configuration: how the worker is set up.
  ///   - store: for commits and expansion; opened before.
  ///   - sharedStore: the same store over another client, for everything else.
  ///   - blocking: the same store over a third client, which will be blocked most of the time.
  ///   - loop: where the worker lives; that of the clients of `store` and `sharedStore`, so that no thread is woken for a call.
  ///   - observer: gets what is worth a line in the log; called on the worker's queue, must not block.
  public init(
    configuration: WorkerConfiguration, store: CampaignStore, sharedStore: CampaignStore, blocking: CampaignStore,
    loop: EventLoop = EventLoop(label: "worker"), observer: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.loop = loop
    environment = WorkerEnvironment(
      configuration, store: store.fenced(), sharedStore: sharedStore.fenced(), log: TroubleLog(observer),
      loop: WorkerLoop(loop))
    parts = WorkerParts(environment, blocking: blocking, loop: loop, heartbeats: waitsForRedis)
  }

  /// Whether the store is being given other partitions, or has them: nothing new is taken in, and the worker ends when
  /// nothing runs.
  public var isStoreLocked: Bool { environment.storeLock != .none }

  /// Returns what the worker is doing and has done. Asks neither Redis nor a connection's queue.
  public func metrics() -> WorkerMetrics { parts.reporter.metrics() }

  // MARK: Start and end

  /// Works until ``stop(within:)``, or until no campaign is left when it drains, or when the store is locked (``isStoreLocked``).
  ///
  /// - Throws: what makes working impossible from the start: Redis out of reach, or unfit.
  public func run() async throws {
    environment.loop.attach(self)
    parts.answers.start()
    try await environment.measureClock()
    environment.noteStart()
    await parts.failover.checkServer()
    // Before this worker begins any campaign: its webhooks get every event from now on.
    try await parts.failover.begin { try await parts.maintenance.registerWebhooks() }
    do {
      try await parts.presence.enter(on: loop)
      // Whoever pauses a campaign waits from now on for this worker, too.
      try await parts.failover.begin { try await parts.follower.follow() }
    } catch {
      await parts.presence.unsubscribe()
      throw error
    }
    environment.log.tell(.started(name: environment.configuration.name))
    let unattended = Task { await parts.maintenance.runUnattended() }
    defer { unattended.cancel() }
    await work()
    await parts.shutdown.closeConnections()
    await parts.maintenance.endLease()
    await parts.presence.leave()
    environment.log.tell(.stopped(parts.reporter.totals))
    environment.life.end()
  }

  /// Runs the loops of the parts until the worker has finished.
  private func work() async {
    let (environment, parts) = (environment, parts)
    await environment.loop.withGroup { group in
      environment.loop.start(in: &group) { await parts.intake.run() }
      environment.loop.start(in: &group) { await parts.presence.run() }
      environment.loop.start(in: &group) { await parts.follower.run { parts.presence.isIdle } }
      environment.loop.start(in: &group) { await parts.maintenance.run() }
      await parts.fetcher.run(&group)
      await parts.failover.replayBeforeEnd()
      await parts.maintenance.finish()
      environment.life.finish()
      environment.signals.ringAtEnd()
    }
  }

  /// Finishes what is in flight, records it, gives the rest back, and returns when ``run()`` is about to. Idempotent.
  ///
  /// - Parameter deadline: seconds for answers under way; what is unanswered then stays in doubt in the ledger.
  public func stop(within deadline: Int = 10) async {
    environment.loop.attach(self)
    parts.shutdown.begin()
    guard !environment.life.hasEnded else { return }
    let limit = Task {
      let began = ContinuousClock.now
      try await Task.sleep(for: .seconds(deadline))
      let grace = WorkerLife.grace(after: ContinuousClock.now - began, of: .seconds(deadline))
      if grace > .zero { try await Task.sleep(for: grace) }
      parts.shutdown.abandon()
    }
    await withCheckedContinuation { environment.life.add($0) }
    limit.cancel()
  }

  // MARK: For the parts

  func runTask(_ number: Int) async { await environment.loop.task(number)?() }

  func runGroup(_ number: Int) async {
    // The use of `self` keeps the body on the actor.
    await withDiscardingTaskGroup { group in await self.runGroup(number, &group) }
  }

  private func runGroup(_ number: Int, _ group: inout DiscardingTaskGroup) async {
    await environment.loop.group(number)?(&group)
  }

  func runCallback(_ number: Int, _ value: any Sendable) { environment.loop.call(number, value) }
}
