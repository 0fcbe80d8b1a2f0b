import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// What a worker says of itself.
extension PushWorker {
  /// How it is now.
  func report() -> WorkerReport {
    let now = EventLoop.now
    var report = WorkerReport()
    report.version = configuration.version
    report.startedAt = clock.startedAt
    report.engine = configuration.engine.rawValue
    report.window = configuration.window
    report.lent = budget.lent
    report.slices = slices.sessions.reduce(0) { count, _ in count + 1 }
    report.perSecond = figures.reporting.perSecond(figures.totals.recorded, now)
    report.accepted = figures.totals.accepted
    report.superseded = log.counts.superseded
    report.takesNothing = life.isStopping || isHeld
    report.pools = routes.routes.map { route in
      let state = route.pool.published
      return WorkerReport.Pool(
        endpoint: route.endpoint.url, open: state.open, inFlight: state.inFlight, backlog: state.backlog,
        failures: state.failures, health: .init(route.pool.health(now: now)))
    }
    report.credentials = credentials()
    return report
  }

  /// Each credential once, with the apps that use it.
  func credentials() -> [WorkerReport.Credential] {
    var order: [any PushCredential] = []
    var known: [ObjectIdentifier: WorkerReport.Credential] = [:]
    for (name, app) in configuration.apps.sorted(by: { $0.key < $1.key }) {
      let credential = app.credential
      if known[ObjectIdentifier(credential)] == nil {
        order.append(credential)
        known[ObjectIdentifier(credential)] = WorkerReport.Credential(
          apps: [], stopped: credential.stopped.map { credential.explain($0) },
          expiresAt: credential.expiry.map { Int($0) * 1000 })
      }
      known[ObjectIdentifier(credential)]?.apps.append(name)
    }
    return order.compactMap { known[ObjectIdentifier($0)] }
  }
}

extension WorkerReport.Pool.Health {
  init(_ health: PoolHealth) {
    self =
      switch health {
      case .ready: .ready
      case .connecting: .connecting
      case .unreachable: .unreachable
      case .unresponsive: .unresponsive
      case .breakerOpen: .breakerOpen
      case .credentialStopped: .credentialStopped
      }
  }
}
