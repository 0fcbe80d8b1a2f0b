import Dispatch
import PushCore
import PushTransport

public import CampaignStore
public import EventLoop

/// Worker that takes campaigns from the store, sends their pushes, and records the outcomes.
///
/// Any number of identical workers share the work. The actor runs on its own queue. It handles pushes as plain values
/// in batches, and suspends once for each write to Redis for a slice, not for each push.
///
/// The actor starts and ends its parts, and does nothing else. Each part owns its state and is confined to the actor's
/// loop. ``WorkerParts`` connects the parts, and `README.md` lists them.
public actor PushWorker: WorkerLoopHost {
  private let loop: EventLoop
  private let environment: WorkerEnvironment
  private let parts: WorkerParts
  /// Measures the heartbeat call to Redis, which the worker makes at least every few seconds. A call that never returns
  /// means that the worker makes no progress.
  public nonisolated let waitsForRedis = CallClock()

  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - configuration: The settings of the worker.
  ///   - store: The store for writes of slices (commits) and for the expansion, already opened.
  ///   - sharedStore: The same store through another client, for everything else.
  ///   - blocking: The same store through a third client. A wait for a job blocks this client most of the time.
  ///   - loop: The worker's event loop. The clients of `store` and `sharedStore` use it too, so a call wakes no thread.
  ///   - observer: Receives the events to log. Runs on the worker's queue and must not block.
  public init(
    configuration: WorkerConfiguration, store: CampaignStore, sharedStore: CampaignStore, blocking: CampaignStore,
    loop: EventLoop = EventLoop(label: "worker"), observer: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.loop = loop
    environment = WorkerEnvironment(
      configuration, store: store.fenced(), sharedStore: sharedStore.fenced(), log: WorkerEventLog(observer),
      loop: WorkerLoop(loop))
    parts = WorkerParts(environment, blocking: blocking, loop: loop, heartbeats: waitsForRedis)
  }

  /// Whether the store is being repartitioned, or was repartitioned after the worker's start. If so, the worker takes
  /// no new work, and ends when no slice is running.
  public var isStoreLocked: Bool { environment.storeLock != .none }

  /// Returns the worker's present state and its totals. Calls neither Redis nor a connection's queue.
  public func metrics() -> WorkerMetrics { parts.reporter.metrics() }

  // MARK: Start and end

  /// Works until ``stop(within:)`` is called. Also ends if the worker drains and no campaign is left, or if the store
  /// is locked (``isStoreLocked``).
  ///
  /// - Throws: An error that makes work impossible from the start: Redis is unreachable or unsuitable.
  public func run() async throws {
    environment.loop.attach(self)
    parts.answers.start()
    try await environment.measureClock()
    environment.recordStart()
    await parts.failover.checkServer()
    // Registers the webhooks before this worker begins a campaign, so that they get all later events.
    try await parts.failover.begin { try await parts.maintenance.registerWebhooks() }
    do {
      try await parts.presence.enter(on: loop)
      // From now on, a pause or cancel command also waits until this worker has applied it.
      try await parts.failover.begin { try await parts.follower.follow() }
    } catch {
      await parts.presence.unsubscribe()
      throw error
    }
    environment.log.write(.started(name: environment.configuration.name))
    let background = Task { await parts.maintenance.runInBackground() }
    defer { background.cancel() }
    await work()
    await parts.shutdown.closeConnections()
    await parts.maintenance.endLease()
    await parts.presence.leave()
    environment.log.write(.stopped(parts.reporter.totals))
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
      environment.signals.wakeAtEnd()
    }
  }

  /// Waits for the answers to pushes in flight, records them, releases all other work, and returns when ``run()`` is
  /// about to return. Callers may call this function several times.
  ///
  /// - Parameter deadline: Maximum time in seconds to wait for answers. Targets without an answer by then stay in doubt
  ///   in Redis.
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
