import EventLoop
import PushTransport
import PushCore

/// What a worker tells of itself. Nothing here is asked of Redis, or of a connection's queue.
extension PushWorker {
  /// What it is doing and has done.
  public func metrics() -> WorkerMetrics {
    let apps = configuration.apps.sorted { $0.key < $1.key }
    return WorkerMetrics(
      apps: figures.tallies.map(\.published),
      pools: routes.routes.map { route in
        let names = apps.filter { $1.credential === route.credential && $1.endpoint == route.endpoint }.map(\.key)
        return .init(
          apps: names.isEmpty
            ? apps.filter { $1.credential === route.credential && $1.broadcasting.endpoint == route.endpoint }.map(
              \.key)
            : names,
          state: route.pool.published)
      },
      credentials: credentials(),
      totals: figures.totals, events: log.counts, window: budget.window, windowUsed: budget.lent,
      slicesInHand: slices.taken.count, fleet: scheduler.fleet, isStopping: life.isStopping,
      isListed: membership.hasJoined,
      isHeld: isHeld, silence: membership.silence(EventLoop.now), pulseError: membership.pulseError)
  }
}
