/// Server information from `INFO`.
public struct RedisServerInfo: Sendable {
  /// Role of the server in replication.
  public enum Role: String, Sendable {
    /// The server accepts writes.
    case master
    /// The server copies a master.
    case replica = "slave"
    /// The server monitors masters and has no data.
    case sentinel
  }

  /// All `name:value` lines, including those without a property here.
  public var fields: [String: String]

  /// Parses the text of `INFO`; unknown lines are kept in ``fields``.
  public init(parsing text: String) {
    var fields: [String: String] = [:]
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
    for line in Array(text.utf8).split(whereSeparator: isEnd) where line.first != UInt8(ascii: "#") {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      fields[String(decoding: line[..<colon], as: UTF8.self)] = String(decoding: line[(colon + 1)...], as: UTF8.self)
    }
    self.fields = fields
  }

  /// Version; `nil` if the server does not report it.
  public var version: RedisVersion? { fields["redis_version"].flatMap { RedisVersion($0) } }
  /// Id of the server process. It changes with every restart. A restart loses data that was not persisted.
  public var runID: String? { fields["run_id"] }
  /// Seconds since the process was started.
  public var uptime: Int? { fields["uptime_in_seconds"].flatMap { Int($0) } }
  /// Id of the replication history. It changes when a replica becomes the primary.
  public var replicationID: String? { fields["master_replid"] }
  /// Master, replica or sentinel.
  public var role: Role? {
    if fields["redis_mode"] == "sentinel" { return .sentinel }
    return fields["role"].flatMap { Role(rawValue: $0) }
  }
  /// Whether the server is a node of a cluster.
  public var isCluster: Bool { fields["redis_mode"] == "cluster" || fields["cluster_enabled"] == "1" }
  /// Whether the server is still loading its data and refuses all other commands.
  public var isLoading: Bool { fields["loading"] == "1" }
  /// Eviction policy for full memory; any policy except `noeviction` loses data silently.
  public var evictionPolicy: String? { fields["maxmemory_policy"] }
  /// Memory limit in bytes; 0 for none.
  public var maximumMemory: Int? { fields["maxmemory"].flatMap { Int($0) } }
  /// Used memory in bytes.
  public var usedMemory: Int? { fields["used_memory"].flatMap { Int($0) } }
  /// Whether every write is logged (`appendonly yes`).
  public var isAppendOnlyEnabled: Bool { fields["aof_enabled"] == "1" }
  /// Whether the last write of the append-only file and the last snapshot succeeded.
  public var isPersistenceHealthy: Bool {
    fields["aof_last_write_status"] ?? "ok" == "ok" && fields["rdb_last_bgsave_status"] ?? "ok" == "ok"
  }
  /// Number of connected replicas.
  public var connectedReplicas: Int? { fields["connected_slaves"].flatMap { Int($0) } }
}
