import PushTransport
import EventLoop
import PushCore

/// The way to a push service with one credential: a pool of connections, and what is known of its health. Confined to
/// the worker's loop.
final class Route {
  /// Tells routes apart in accounts of credit.
  let number: Int
  let credential: any PushCredential
  let endpoint: PushEndpoint
  let pool: ConnectionPool
  /// As of the last look.
  private(set) var health = PoolHealth.ready
  private var watch = PoolWatch()

  init(number: Int, credential: any PushCredential, endpoint: PushEndpoint, pool: ConnectionPool) {
    self.number = number
    self.credential = credential
    self.endpoint = endpoint
    self.pool = pool
  }

  /// Whether nothing, or next to nothing, can be sent on it just now: its credit and its slices leave room to others.
  var isStuck: Bool {
    switch health {
    case .unreachable, .unresponsive, .breakerOpen: true
    case .ready, .connecting, .credentialStopped: false
    }
  }

  /// Some claim of its slices holds until then, in monotonic ns: pushes that wait for a connection go on.
  func maySend(until deadline: UInt64) { pool.mayTake(until: deadline) }

  /// Looks how the pool is.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: whether ``isStuck`` is another now.
  func look(_ now: UInt64) -> Bool {
    let before = isStuck
    health = pool.health(now: now)
    return isStuck != before
  }

  /// What is worth telling of its connections since the last time.
  func notices(_ now: UInt64, isLast: Bool) -> [PoolWatch.Notice] {
    watch.look(at: pool.published, now: now, isLast: isLast)
  }

  /// Why nothing can be sent, for people, and since when by `EventLoop.now`; `nil` while something can.
  var obstacle: (reason: String, since: UInt64)? {
    switch health {
    case .unreachable(let since, let reason): ("push service unreachable at \(endpoint.url): \(reason)", since)
    case .unresponsive(let since): ("push service not answering at \(endpoint.url)", since)
    case .breakerOpen(let since):
      ("push service unavailable at \(endpoint.url): it answers nearly everything with 503", since)
    case .ready, .connecting, .credentialStopped: nil
    }
  }
}

/// The routes that a worker has, by credential and endpoint. Apps that share both share one.
struct RouteTable {
  private(set) var routes: [Route] = []
  /// Routes that the configuration can have campaigns for.
  private let configured: Int

  /// Streams at most on a connection: what the largest service allows one that it trusts (APNs, seen on the wire in 2021 and
  /// later); a connection has no more than its peer says.
  private static let maximumStreams = 1000

  init(_ apps: some Collection<AppChannel>) {
    var seen: [AppChannel] = []
    for app in apps where !seen.contains(where: { $0.credential === app.credential && $0.endpoint == app.endpoint }) {
      seen.append(app)
    }
    configured = seen.count
  }

  /// Whether there is, or may come to be, more than one.
  var areSeveral: Bool { max(configured, routes.count) > 1 }

  /// The route for an app; made when it is first asked for.
  ///
  /// - Parameter onCompletions: gets what becomes of pushes, from any thread.
  mutating func route(
    for app: AppChannel, _ configuration: WorkerConfiguration,
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void
  ) -> Route {
    if let known = routes.first(where: { $0.credential === app.credential && $0.endpoint == app.endpoint }) {
      return known
    }
    // More streams than the window can fill would only let one connection take what another could send: libcurl looks at
    // every transfer of a connection whenever its socket is readable, and keeps some 20 kB for each.
    let share = (configuration.window + configuration.connections - 1) / configuration.connections
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: app.endpoint, service: app.service, connections: configuration.connections,
        maximumStreams: min(share, Self.maximumStreams),
        unprovenStreams: min(configuration.window, Self.maximumStreams),
        requestTimeout: UInt64(configuration.answerTimeout) * 1_000_000, engine: configuration.engine),
      credential: app.credential, onCompletions: onCompletions)
    let route = Route(number: routes.count, credential: app.credential, endpoint: app.endpoint, pool: pool)
    routes.append(route)
    return route
  }
}
