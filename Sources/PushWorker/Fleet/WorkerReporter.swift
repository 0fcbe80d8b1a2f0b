import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Describes the state of this worker, for its report to the fleet and for its metrics.
final class WorkerReporter: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let credit: CreditLedger
  private let routes: PushRouteTable
  private let rates: RateService
  private let figures: WorkerFigures
  private let membership: FleetMembership
  private var pace = ReportPace()

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, credit: CreditLedger, routes: PushRouteTable,
    rates: RateService, figures: WorkerFigures, membership: FleetMembership
  ) {
    self.environment = environment
    self.slices = slices
    self.credit = credit
    self.routes = routes
    self.rates = rates
    self.figures = figures
    self.membership = membership
  }

  /// Totals of this worker so far.
  var totals: WorkerTotals { figures.totals }

  /// Returns the report for the next heartbeat; `nil` if nothing has changed.
  func next() -> WorkerReport? { pace.next(report(), EventLoop.now) }

  /// Records that a report did not arrive, or was lost.
  func invalidate() { pace.invalidate() }

  /// Returns the worker's present state and its totals.
  func metrics() -> WorkerMetrics {
    let channels = environment.configuration.apps.sorted { $0.key < $1.key }
      .flatMap { name, app in app.services.map { (name: name, channel: $0) } }
    return WorkerMetrics(
      apps: figures.tallies.map(\.published),
      pools: routes.routes.map { route in
        let users = channels.filter { $0.channel.credential === route.credential }
        let names = users.filter { $0.channel.endpoint == route.endpoint }.map(\.name)
        return .init(
          apps: names.isEmpty
            ? users.filter { $0.channel.broadcasting.endpoint == route.endpoint }.map(\.name) : names,
          service: users.first?.channel.service.name ?? route.service, state: route.pool.published)
      },
      credentials: credentials(), quotas: rates.quotas,
      totals: figures.totals, events: log.counts, window: credit.budget.window, windowUsed: credit.budget.assigned,
      slicesInHand: slices.taken.count, isStopping: life.isStopping,
      isListed: membership.hasJoined,
      isStoreLocked: isStoreLocked, silence: membership.silence(EventLoop.now),
      heartbeatError: membership.heartbeatError)
  }

  /// Returns the worker's present state.
  private func report() -> WorkerReport {
    let now = EventLoop.now
    var report = WorkerReport()
    report.version = environment.configuration.version
    report.startedAt = environment.clock.startedAt
    report.engine = environment.configuration.engine.rawValue
    report.window = environment.configuration.window
    report.windowUsed = credit.budget.assigned
    report.slices = slices.sessions.reduce(0) { count, _ in count + 1 }
    report.perSecond = pace.perSecond(figures.totals.recorded, now)
    report.accepted = figures.totals.accepted
    report.superseded = log.counts.superseded
    report.takesNothing = life.isStopping || isStoreLocked
    report.pools = routes.routes.map { route in
      let state = route.pool.published
      return WorkerReport.Pool(
        endpoint: route.endpoint.url, open: state.open, inFlight: state.inFlight, backlog: state.backlog,
        failures: state.failures, health: .init(route.pool.health(now: now)))
    }
    report.credentials = credentials().map(\.state)
    return report
  }

  /// Returns each credential once, with the apps that use it.
  private func credentials() -> [WorkerMetrics.Credential] {
    var order: [any PushCredential] = []
    var known: [ObjectIdentifier: WorkerMetrics.Credential] = [:]
    for (name, channel) in environment.configuration.apps.sorted(by: { $0.key < $1.key })
      .flatMap({ name, app in app.services.map { (name, $0) } })
    {
      let credential = channel.credential
      if known[ObjectIdentifier(credential)] == nil {
        order.append(credential)
        known[ObjectIdentifier(credential)] = WorkerMetrics.Credential(
          service: channel.service.name,
          state: WorkerReport.Credential(
            apps: [], stopped: credential.problem, renewalProblem: credential.renewalProblem,
            expiresAt: credential.expiry.map { Int($0) * 1000 },
            clockError: credential.clockError == 0 ? nil : Int(credential.clockError)))
      }
      known[ObjectIdentifier(credential)]?.state.apps.append(name)
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
      case .credentialStopped, .credentialDelayed: .credentialStopped
      }
  }
}
