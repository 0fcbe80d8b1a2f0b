/// What a Redis server says of itself in `INFO`.
public struct RedisServerInfo: Sendable {
  /// What the server is to others of its data set.
  public enum Role: String, Sendable {
    /// Takes writes.
    case master
    /// Copies a master.
    case replica = "slave"
    /// Watches masters; holds no data.
    case sentinel
  }

  /// Every `name:value` line, for what has no property here.
  public var fields: [String: String]

  /// Reads the text of `INFO`; unknown lines are kept in ``fields``.
  public init(parsing text: String) {
    var fields: [String: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[String(line[..<colon])] = String(line[line.index(after: colon)...])
    }
    self.fields = fields
  }

  /// The version; `nil` when the server would not tell.
  public var version: RedisVersion? { fields["redis_version"].flatMap { RedisVersion($0) } }
  /// Changes whenever the server process does: what it had not persisted is gone then.
  public var runID: String? { fields["run_id"] }
  /// Seconds since the process was started.
  public var uptime: Int? { fields["uptime_in_seconds"].flatMap { Int($0) } }
  /// Names a line of writes: changes when a replica becomes the primary.
  public var replicationID: String? { fields["master_replid"] }
  /// Master, replica or sentinel.
  public var role: Role? {
    if fields["redis_mode"] == "sentinel" { return .sentinel }
    return fields["role"].flatMap { Role(rawValue: $0) }
  }
  /// Whether it is a node of a cluster.
  public var isCluster: Bool { fields["redis_mode"] == "cluster" || fields["cluster_enabled"] == "1" }
  /// Whether it still loads its data and answers nothing else.
  public var isLoading: Bool { fields["loading"] == "1" }
  /// What it does when memory is full; anything but `noeviction` loses data silently.
  public var evictionPolicy: String? { fields["maxmemory_policy"] }
  /// The memory limit in bytes; 0 for none.
  public var maximumMemory: Int? { fields["maxmemory"].flatMap { Int($0) } }
  /// The memory in use, in bytes.
  public var usedMemory: Int? { fields["used_memory"].flatMap { Int($0) } }
  /// Whether every write is logged (`appendonly yes`).
  public var isAppendOnlyEnabled: Bool { fields["aof_enabled"] == "1" }
  /// Whether the last write of the append-only file and the last snapshot succeeded.
  public var isPersistenceHealthy: Bool {
    fields["aof_last_write_status"] ?? "ok" == "ok" && fields["rdb_last_bgsave_status"] ?? "ok" == "ok"
  }
  /// When the last snapshot succeeded, in seconds since 1970; the start of the server when there was none.
  public var lastSnapshot: Int? { fields["rdb_last_save_time"].flatMap { Int($0) } }
  /// How many replicas follow.
  public var connectedReplicas: Int? { fields["connected_slaves"].flatMap { Int($0) } }
}
