import Redis
import Synchronization

/// Identifies one run of one Redis.
public struct ServerIdentity: Sendable {
  /// Where it is: the same for all its runs.
  public let place: String
  /// Run and line of writes.
  public let name: String
  /// Seconds since it was started.
  public let uptime: Int
  /// Whether it takes writes.
  public let isPrimary: Bool
  /// The connection it was said on.
  public let connection: UInt64
  private let sight: RedisServerSight
  private let keys: Keyspace

  init(_ sight: RedisServerSight, keys: Keyspace) {
    place = sight.endpoint
    name = "\(sight.info.runID ?? "") \(sight.info.replicationID ?? "")"
    uptime = sight.info.uptime ?? .max
    isPrimary = sight.info.role == .master
    connection = sight.connection
    self.sight = sight
    self.keys = keys
  }

  /// Whether the control keys are here.
  public var hasControl: Bool { sight.holds(keys.home) }

  /// Whether the keys of a partition are here.
  public func has(partition: Int) -> Bool { sight.holds(keys.home(of: partition)) }
}

/// The connections on which it is known which server answers; shared by the copies of a store.
final class ConnectionFence: Sendable {
  private struct State {
    var byPlace: [String: UInt64] = [:]
    var admitted = RedisConnections()
  }

  private let state = Mutex(State())

  /// None before the first is admitted.
  var admitted: RedisConnections { state.withLock { $0.admitted } }

  func admit(_ servers: [ServerIdentity]) {
    state.withLock { state in
      for server in servers { state.byPlace[server.place] = server.connection }
      state.admitted = RedisConnections(Array(state.byPlace.values))
    }
  }
}
