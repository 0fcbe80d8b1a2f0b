public import Redis

/// A Redis server as it is now.
public struct FleetNode: Sendable {
  /// Where it is.
  public var endpoint: String
  /// Whether it has the keys that all share.
  public var hasControl: Bool
  /// What it says of itself, for what has no property here: the sections of ``sections``.
  public var info: RedisServerInfo
  /// How much of its memory it uses.
  public var memory: MemoryUse

  /// The sections of `INFO` that are read.
  static let sections = ["server", "clients", "memory", "persistence", "stats", "replication"]

  init(_ sight: RedisServerSight, _ keys: Keyspace) {
    self.init(endpoint: sight.endpoint, info: sight.info, hasControl: sight.holds(keys.home))
  }

  /// - Parameters:
  ///   - endpoint: where it is.
  ///   - info: what it says of itself.
  ///   - hasControl: whether it has the keys that all share.
  public init(endpoint: String, info: RedisServerInfo, hasControl: Bool = true) {
    self.endpoint = endpoint
    self.hasControl = hasControl
    self.info = info
    memory = MemoryUse(info)
  }

  /// Its version; empty when it would not tell.
  public var version: String { info.version.map(\.description) ?? "" }

  /// Percent of its limit that it uses; `nil` without a limit.
  public var percentUsed: Int? { memory.limit > 0 ? memory.used * 100 / memory.limit : nil }

  /// Commands a second, lately.
  public var commandsPerSecond: Int { info.fields["instantaneous_ops_per_sec"].flatMap { Int($0) } ?? 0 }
}
