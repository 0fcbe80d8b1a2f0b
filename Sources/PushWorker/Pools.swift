import APNs
import EventLoop
import PushCore

/// The connections to APNs that this worker has, by credential and place.
extension PushWorker {
  struct KnownPool {
    var credential: any PushCredential
    var endpoint: APNsEndpoint
    var pool: ConnectionPool
    var watch = PoolWatch()
  }

  /// Streams that APNs allows on a connection it trusts (seen on the wire, 2021 and later).
  private static let maximumStreams = 1000

  /// The pool for an app; apps that share credential and endpoint share one.
  func pool(for app: AppChannel) -> ConnectionPool {
    if let known = pools.first(where: { $0.credential === app.credential && $0.endpoint == app.endpoint }) {
      return known.pool
    }
    let inbox = inbox
    // More streams than the window can fill would only let one connection take what another could send: libcurl looks at
    // every transfer of a connection whenever its socket is readable, and keeps some 20 kB for each.
    let share = (configuration.window + configuration.connections - 1) / configuration.connections
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: app.endpoint, connections: configuration.connections,
        maximumStreams: min(share, Self.maximumStreams),
        suspectStreams: min(configuration.window, Self.maximumStreams),
        requestTimeout: UInt64(configuration.answerTimeout) * 1_000_000),
      credential: app.credential
    ) { inbox.put($0) }
    pools.append(KnownPool(credential: app.credential, endpoint: app.endpoint, pool: pool))
    return pool
  }

  /// Tells of connections to APNs: of trouble at once, of how they are now and then.
  ///
  /// - Parameter isLast: whether the worker is about to close them.
  func reportConnections(isLast: Bool = false) {
    let now = EventLoop.now
    for index in pools.indices {
      let url = pools[index].endpoint.url
      for notice in pools[index].watch.look(at: pools[index].pool.published, now: now, isLast: isLast) {
        switch notice {
        case .failed(let error): report("connection to \(url)", "connection to \(url): \(error)")
        case .storm: observer(.storm(endpoint: url))
        case .calm: observer(.calm(endpoint: url))
        case .connections(let state): observer(.connections(endpoint: url, state))
        }
      }
    }
  }
}
