import PushTransport
import EventLoop
import PushCore

/// The route to a push service with one credential: a pool of connections, and the health of the pool. Confined to the
/// worker's loop.
final class PushRoute {
  /// Distinguishes routes in the accounts of credit.
  let number: Int
  let credential: any PushCredential
  let endpoint: PushEndpoint
  /// Display name of the push service.
  let service: String
  let pool: ConnectionPool
  /// Health at the last check.
  private(set) var health = PoolHealth.ready
  private var watch = PoolHealthLog()

  init(
    number: Int, credential: any PushCredential, endpoint: PushEndpoint, service: String, pool: ConnectionPool
  ) {
    self.number = number
    self.credential = credential
    self.endpoint = endpoint
    self.service = service
    self.pool = pool
  }

  /// Whether the route can send nothing, or almost nothing, now. If so, its slices leave credit and room to other
  /// slices.
  var isStuck: Bool {
    switch health {
    case .unreachable, .unresponsive, .breakerOpen, .credentialDelayed: true
    case .ready, .connecting, .credentialStopped: false
    }
  }

  /// Permits the pool to send waiting pushes until `deadline`, a monotonic time in ns. Until then, this worker has a
  /// valid claim on at least one slice of the pool.
  func maySend(until deadline: UInt64) { pool.mayTake(until: deadline) }

  /// Checks the health of the pool.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: Whether ``isStuck`` has changed.
  func check(_ now: UInt64) -> Bool {
    let before = isStuck
    health = pool.health(now: now)
    return isStuck != before
  }

  /// Returns the changes to log since the last call.
  func notices(_ now: UInt64, isLast: Bool) -> [PoolHealthLog.Notice] {
    watch.check(at: pool.published, now: now, isLast: isLast)
  }

  /// The reason why nothing can be sent, for operators, and since when by `EventLoop.now`; `nil` while the route can
  /// send.
  var obstacle: (reason: String, since: UInt64)? {
    switch health {
    case .unreachable(let since, let reason): ("push service unreachable at \(endpoint.url): \(reason)", since)
    case .unresponsive(let since): ("push service not answering at \(endpoint.url)", since)
    case .breakerOpen(let since):
      ("push service unavailable at \(endpoint.url): it answers almost everything with server errors", since)
    case .credentialDelayed(let since, let reason): ("no authorization for \(endpoint.url): \(reason)", since)
    case .ready, .connecting, .credentialStopped: nil
    }
  }
}
