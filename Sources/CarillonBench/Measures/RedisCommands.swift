import Redis

/// Execution times of commands as Redis measures them, without the time for reading, writing and the append-only file.
struct RedisCommands {
  /// Microseconds so far, by command.
  var microseconds: [String: Double] = [:]

  /// Calls of all commands so far, including those in scripts.
  var total = 0.0

  init(_ client: RedisClient) async throws {
    self.init(try await client.serverInfo(section: "commandstats"))
  }

  /// Reads lines such as `cmdstat_evalsha:calls=4,usec=120,usec_per_call=30.00,…`.
  init(_ info: RedisServerInfo) {
    for (name, value) in info.fields where name.hasPrefix("cmdstat_") {
      let calls = value.split(separator: ",").first { $0.hasPrefix("calls=") }?.dropFirst("calls=".count)
      total += calls.flatMap { Double($0) } ?? 0
      let spent = value.split(separator: ",").first { $0.hasPrefix("usec=") }?.dropFirst("usec=".count)
      microseconds[String(name.dropFirst("cmdstat_".count))] = spent.flatMap { Double($0) }
    }
  }

  /// Returns the time since another measurement, divided by `count`. Values below a hundredth of a microsecond are
  /// omitted.
  func since(_ other: RedisCommands, each count: Double) -> [String: Double] {
    microseconds
      .reduce(into: [:]) { $0[$1.key] = ($1.value - other.microseconds[$1.key, default: 0]) / count }
      .filter { $0.value >= 0.01 }
  }
}
