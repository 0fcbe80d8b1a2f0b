import CampaignStore
import CommandSupport
import EventLoop
import Foundation
import Redis

/// A Redis Cluster without replicas. The shared keys are on a separate server, so that their cost can be measured
/// separately from the cost of the partitions.
struct BenchCluster: Sendable {
  /// Resource usage of the servers so far.
  struct Usage {
    /// CPU time of the server with the shared keys, in microseconds.
    var control = 0.0
    /// CPU time of each other server, in microseconds.
    var data: [Double] = []
    /// Network traffic of all servers, in bytes.
    var received = 0.0
    var sent = 0.0
    /// Memory of all servers, in bytes.
    var memory = 0.0

    static func - (left: Usage, right: Usage) -> Usage {
      Usage(
        control: left.control - right.control, data: zip(left.data, right.data).map { $0 - $1 },
        received: left.received - right.received, sent: left.sent - right.sent, memory: left.memory - right.memory)
    }
  }

  /// The servers. The first one has only the shared keys.
  let servers: [BenchWorld.RedisProcess]
  let url: RedisURL
  let keys: Keyspace

  /// Starts the servers, assigns the slots, and waits until the cluster is complete.
  ///
  /// - Parameter count: number of servers with partitions.
  static func start(_ world: BenchWorld, partitions count: Int) async throws -> BenchCluster {
    var servers: [BenchWorld.RedisProcess] = []
    for _ in 0...count { servers.append(try await world.startClusterServer()) }
    let first = servers[0]
    let slot = try await ask(first, "CLUSTER", "KEYSLOT", first.store.keys.home).integer ?? 0
    _ = try await ask(first, "CLUSTER", "ADDSLOTS", String(slot))
    let share = (slots + count - 1) / count
    for (index, server) in servers.dropFirst().enumerated() {
      let own = (index * share..<min(slots, (index + 1) * share)).filter { $0 != slot }
      _ = try await ask(server, ["CLUSTER", "ADDSLOTS"] + own.map(String.init))
      _ = try await ask(server, "CLUSTER", "MEET", "127.0.0.1", String(first.port))
    }
    for server in servers {
      try await server.process.wait(for: "the cluster", seconds: timeout) {
        let info = (try? await ask(server, "CLUSTER", "INFO").string) ?? ""
        return info.contains("cluster_state:ok") && info.contains("cluster_size:\(servers.count)")
      }
    }
    return BenchCluster(
      servers: servers, url: try RedisURL("cluster://127.0.0.1:\(first.port)"), keys: first.store.keys)
  }

  private static let slots = 16_384
  private static let timeout = 60.0

  private static func ask(_ server: BenchWorld.RedisProcess, _ words: String...) async throws -> RedisReply {
    try await ask(server, words)
  }

  private static func ask(_ server: BenchWorld.RedisProcess, _ words: [String]) async throws -> RedisReply {
    var pipeline = RedisPipeline()
    pipeline.command("CLUSTER") { arguments in for word in words.dropFirst() { arguments.append(word) } }
    return try await server.client.execute(pipeline)[0].get()
  }

  /// Creates a store with a separate client.
  func store(for name: String, on loop: EventLoop) -> (CampaignStore, RedisClient) {
    let options = RedisOptions(
      clientName: name, home: keys.home, answerTimeout: .seconds(60), waitTimeout: .seconds(60))
    let client = RedisClient(url: url, options: options, on: loop)
    return (CampaignStore(redis: client, keys: keys, services: .known), client)
  }

  func usage() async throws -> Usage {
    var usage = Usage()
    for (index, server) in servers.enumerated() {
      let cpu = ProcessCost.cpuMicroseconds(of: server.process.id)
      if index == 0 { usage.control = cpu } else { usage.data.append(cpu) }
      usage.memory += try await Double(server.client.serverInfo(section: "memory").usedMemory ?? 0)
      let fields = try await server.client.serverInfo(section: "stats").fields
      usage.received += fields["total_net_input_bytes"].flatMap { Double($0) } ?? 0
      usage.sent += fields["total_net_output_bytes"].flatMap { Double($0) } ?? 0
    }
    return usage
  }

  /// Stops the servers.
  func stop(_ world: BenchWorld) async {
    for server in servers { await world.stop(server) }
  }
}
