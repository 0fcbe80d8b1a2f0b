public import Redis

/// The present state of a Redis server.
public struct FleetNode: Sendable {
  /// Address of the server.
  public var endpoint: String
  /// Whether the server has the control keys: the keys without a partition.
  public var hasControl: Bool
  /// The server's `INFO`, in the sections of ``sections``.
  public var info: RedisServerInfo
  /// The server's use of memory.
  public var memory: MemoryUse

  /// The sections of `INFO` that are read.
  static let sections = ["server", "clients", "memory", "persistence", "stats", "replication"]

  init(_ state: RedisServerState, _ keys: Keyspace) {
    self.init(endpoint: state.endpoint, info: state.info, hasControl: state.owns(keys.home))
  }

  /// Creates a node.
  ///
  /// - Parameters:
  ///   - endpoint: address of the server.
  ///   - info: the server's `INFO`.
  ///   - hasControl: whether the server has the control keys.
  public init(endpoint: String, info: RedisServerInfo, hasControl: Bool = true) {
    self.endpoint = endpoint
    self.hasControl = hasControl
    self.info = info
    memory = MemoryUse(info)
  }

  /// The server's version; empty if unknown.
  public var version: String { info.version.map(\.description) ?? "" }

  /// Used percent of the memory limit; `nil` without a limit.
  public var percentUsed: Int? { memory.limit > 0 ? memory.used * 100 / memory.limit : nil }

  /// Commands a second, as Redis has measured recently.
  public var commandsPerSecond: Int { info.fields["instantaneous_ops_per_sec"].flatMap { Int($0) } ?? 0 }
}
