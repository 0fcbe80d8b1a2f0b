import Redis
import Synchronization

/// The identity of one run of one Redis server. If it changes, the server may have lost writes.
public struct ServerIdentity: Sendable {
  /// Address of the server, the same for all its runs.
  public let place: String
  /// Run id and replication id, which change with a restart or failover.
  public let name: String
  /// Seconds since the server's start.
  public let uptime: Int
  /// Whether the server accepts writes.
  public let isPrimary: Bool
  /// The connection on which the server reported these values.
  public let connection: UInt64
  private let state: RedisServerState
  private let keys: Keyspace

  init(_ state: RedisServerState, keys: Keyspace) {
    place = state.endpoint
    name = "\(state.info.runID ?? "") \(state.info.replicationID ?? "")"
    uptime = state.info.uptime ?? .max
    isPrimary = state.info.role == .master
    connection = state.connection
    self.state = state
    self.keys = keys
  }

  /// Whether this server has the control keys.
  public var hasControl: Bool { state.owns(keys.home) }

  /// Returns whether this server has the keys of a partition.
  public func has(partition: Int) -> Bool { state.owns(keys.home(of: partition)) }
}

/// The admitted connections of a worker's store: those whose servers the worker has identified
/// (``CampaignStore/admit(_:)``). The copies of a store share this object.
final class ConnectionFence: Sendable {
  private struct State {
    var byPlace: [String: UInt64] = [:]
    var admitted = RedisConnections()
  }

  private let state = Mutex(State())

  /// The admitted connections; empty before the first is admitted.
  var admitted: RedisConnections { state.withLock { $0.admitted } }

  func admit(_ servers: [ServerIdentity]) {
    state.withLock { state in
      for server in servers { state.byPlace[server.place] = server.connection }
      state.admitted = RedisConnections(Array(state.byPlace.values))
    }
  }
}
