import PushTransport
import EventLoop
import PushCore

/// The way to a push service with one credential: a pool of connections, and what is known of its health. Confined to
/// the worker's loop.
final class PushRoute {
  /// Tells routes apart in accounts of credit.
  let number: Int
  let credential: any PushCredential
  let endpoint: PushEndpoint
  let pool: ConnectionPool
  /// As of the last look.
  private(set) var health = PoolHealth.ready
  private var watch = PoolHealthLog()

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
  func notices(_ now: UInt64, isLast: Bool) -> [PoolHealthLog.Notice] {
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
