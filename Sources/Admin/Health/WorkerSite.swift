import HTTPServer
public import PushWorker
import Synchronization

/// The present worker of this process, for health checks and metrics. The object exists before the worker starts. After
/// a repartition of the store, a new worker replaces the present one in the same process.
public final class CurrentWorker: Sendable {
  private struct State {
    var worker: PushWorker?
    var obstacle: String?
  }

  private let state = Mutex(State())

  /// Creates an object without a worker.
  public init() {}

  /// Sets the worker that is about to run.
  public func begin(_ worker: PushWorker) { state.withLock { $0 = State(worker: worker) } }

  /// Sets the reason why the worker can't start, for operators.
  public func waits(because reason: String) { state.withLock { $0 = State(obstacle: reason) } }

  /// Time since which the worker waits for Redis' answer to its heartbeat, in ns of `DispatchTime`; `nil` if it does
  /// not wait.
  public var waitsForRedisSince: UInt64? { worker?.waitsForRedis.since }

  var worker: PushWorker? { state.withLock { $0.worker } }
  var obstacle: String? { state.withLock { $0.obstacle } }
}

/// The routes of each worker: liveness, readiness and metrics. They need no token, because they contain no names of
/// campaigns, users or devices.
public enum WorkerSite {
  /// Returns the routes of the worker of this process.
  ///
  /// - Parameters:
  ///   - liveness: checks whether the essential parts make progress.
  ///   - droppedLogLines: returns the number of log lines that were dropped.
  public static func routes(
    of current: CurrentWorker, _ identity: WorkerIdentity, _ liveness: Liveness,
    droppedLogLines: @escaping @Sendable () -> Int
  ) -> [Route] {
    [
      liveness.route,
      .probe("/readyz") { _ in
        let health = WorkerHealth(await current.worker?.metrics(), obstacle: current.obstacle)
        return .init(health.isReady ? 200 : 503, health.json, type: "application/json")
      },
      .probe("/metrics") { _ in
        let worker = await current.worker?.metrics()
        var metrics = Exposition()
        WorkerExposition(
          identity: identity, worker: worker, isReady: WorkerHealth(worker, obstacle: current.obstacle).isReady
        ).write(to: &metrics)
        ProcessUsage.write(to: &metrics, droppedLogLines: droppedLogLines())
        return .init(200, metrics.text, type: Exposition.type)
      },
    ]
  }
}
