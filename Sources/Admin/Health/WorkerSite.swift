import HTTPServer
public import PushWorker
import Synchronization

/// The worker of this process as its health and its metrics show it; there is one before Redis is asked anything, and perhaps
/// another later, when the store was given other partitions.
public final class WorkerWatch: Sendable {
  private struct State {
    var worker: PushWorker?
    var obstacle: String?
  }

  private let state = Mutex(State())

  /// No worker yet.
  public init() {}

  /// A worker is about to run.
  public func begin(_ worker: PushWorker) { state.withLock { $0 = State(worker: worker) } }

  /// What keeps the worker from beginning, for people.
  public func waits(because reason: String) { state.withLock { $0 = State(obstacle: reason) } }

  /// Since when the worker waits for Redis' answer to its sign of life, in ns of `DispatchTime`; `nil` while it does not.
  public var waitsForRedisSince: UInt64? { worker?.waitsForRedis.since }

  var worker: PushWorker? { state.withLock { $0.worker } }
  var obstacle: String? { state.withLock { $0.obstacle } }
}

/// What each worker serves: whether it lives, whether it is ready, its metrics. Nobody is asked for a token: no name of a
/// campaign, a user or a device is in any of it.
public enum WorkerSite {
  /// - Parameters:
  ///   - liveness: looks after what must make progress.
  ///   - droppedLogLines: returns the number of log lines that were dropped.
  public static func routes(
    of watch: WorkerWatch, _ identity: WorkerIdentity, _ liveness: Liveness,
    droppedLogLines: @escaping @Sendable () -> Int
  ) -> [Route] {
    [
      liveness.route,
      .probe("/readyz") { _ in
        let health = WorkerHealth(await watch.worker?.metrics(), obstacle: watch.obstacle)
        return .init(health.isReady ? 200 : 503, health.json, type: "application/json")
      },
      .probe("/metrics") { _ in
        let worker = await watch.worker?.metrics()
        var metrics = Exposition()
        WorkerExposition(
          identity: identity, worker: worker, isReady: WorkerHealth(worker, obstacle: watch.obstacle).isReady
        ).write(to: &metrics)
        ProcessUsage.write(to: &metrics, droppedLogLines: droppedLogLines())
        return .init(200, metrics.text, type: Exposition.type)
      },
    ]
  }
}
