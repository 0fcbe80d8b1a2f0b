import Redis

/// The memory that a Redis uses for data.
struct RedisMemory {
  /// Used memory in bytes, without the current buffers of clients and of the append-only file.
  var used: Double

  init(_ client: RedisClient) async throws {
    self.init(try await client.serverInfo(section: "memory"))
  }

  init(_ info: RedisServerInfo) {
    func field(_ name: String) -> Double { info.fields[name].flatMap { Double($0) } ?? 0 }
    used = field("used_memory") - field("mem_clients_normal") - field("mem_aof_buffer")
  }
}
