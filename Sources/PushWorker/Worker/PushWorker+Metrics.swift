import EventLoop
import PushTransport
import PushCore

/// What a worker tells of itself. Nothing here is asked of Redis, or of a connection's queue.
extension PushWorker {
  /// The tally of an app's pushes in a lane.
  func tally(of campaign: Campaign, _ service: any PushService) -> PushTally {
    if let known = tallies.first(where: { $0.app == campaign.app && $0.lane == campaign.lane }) { return known }
    let tally = PushTally(app: campaign.app, lane: campaign.lane, service: service)
    tallies.append(tally)
    return tally
  }

  /// What it is doing and has done.
  public func metrics() -> WorkerMetrics {
    let apps = configuration.apps.sorted { $0.key < $1.key }
    return WorkerMetrics(
      apps: tallies.map(\.published),
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
      totals: totals, events: log.counts, window: budget.window, windowUsed: budget.lent,
      slicesInHand: slices.taken.count, fleet: scheduler.fleet, isStopping: life.isStopping, isListed: hasJoined,
      isHeld: isHeld, silence: pulseTakenAt.map { EventLoop.now - min($0, EventLoop.now) }, pulseError: pulseError)
  }

  /// Returns once the loop has got to it.
  public func turn() {}
}
