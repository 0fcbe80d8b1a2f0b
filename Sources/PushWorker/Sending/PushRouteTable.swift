import EventLoop
import PushCore
import PushTransport

/// The routes of a worker, by credential and endpoint. Apps with the same credential and endpoint share one route.
/// Confined to the worker's loop.
final class PushRouteTable {
  private(set) var routes: [PushRoute] = []
  /// Number of routes that the configured apps can need.
  private let configured: Int

  /// Receives the completions of all pushes, from any thread.
  private let inbox: CompletionInbox

  init(_ channels: some Collection<ServiceChannel>, inbox: CompletionInbox) {
    self.inbox = inbox
    var seen: [ServiceChannel] = []
    for channel in channels
    where !seen.contains(where: { $0.credential === channel.credential && $0.endpoint == channel.endpoint }) {
      seen.append(channel)
    }
    configured = seen.count
  }

  /// Whether the worker has, or may need, more than one route.
  var areSeveral: Bool { max(configured, routes.count) > 1 }

  /// Returns the route for a channel. Creates it if necessary.
  func route(for channel: ServiceChannel, _ configuration: WorkerConfiguration) -> PushRoute {
    if let known = routes.first(where: { $0.credential === channel.credential && $0.endpoint == channel.endpoint }) {
      return known
    }
    // With more streams than its share of the window, one connection would take pushes that another could send. Also,
    // libcurl checks every transfer of a connection whenever its socket is readable, and uses about 20 kB for each
    // transfer.
    let connections = channel.connections ?? configuration.connections
    let share = (configuration.window + connections - 1) / connections
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: channel.endpoint, service: channel.service, connections: connections,
        maximumStreams: share, unprovenStreams: configuration.window,
        requestTimeout: UInt64(configuration.answerTimeout) * 1_000_000, engine: configuration.engine),
      credential: channel.credential, onCompletions: { [inbox] in inbox.put($0) })
    let route = PushRoute(
      number: routes.count, credential: channel.credential, endpoint: channel.endpoint, service: channel.service.title,
      pool: pool)
    routes.append(route)
    return route
  }

  /// Logs the connections of all routes: errors immediately, their state from time to time.
  ///
  /// - Parameter isLast: whether the worker is about to close the connections.
  func reportConnections(to log: WorkerEventLog, isLast: Bool = false) {
    let now = EventLoop.now
    for route in routes {
      let (service, url) = (route.service, route.endpoint.url)
      for notice in route.notices(now, isLast: isLast) {
        switch notice {
        case .failed(let error): log.report("connection to \(url)", "connection to \(url): \(error)")
        case .breakerOpened: log.write(.breakerOpened(service: service, endpoint: url))
        case .breakerClosed: log.write(.breakerClosed(service: service, endpoint: url))
        case .connections(let state): log.write(.connections(service: service, endpoint: url, state))
        }
      }
    }
  }

  /// Closes all connections.
  ///
  /// - Parameters:
  ///   - deadline: Time in ns for the connections to close.
  ///   - timeout: Additional time in ns for an engine that hangs.
  func drain(deadline: UInt64, timeout: UInt64) async {
    let pools = routes.map(\.pool)
    await withDiscardingTaskGroup { group in
      for pool in pools {
        group.addTask { _ = await pool.drain(deadline: deadline, timeout: timeout) }
      }
    }
  }
}
