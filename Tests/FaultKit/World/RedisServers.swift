import Glibc
import Redis
import TestSupport

/// The Redis servers of a world.
enum RedisServers: Sendable {
  /// The kind of servers.
  enum Kind: Sendable {
    case single, cluster, sentinels
    /// A cluster with TLS.
    case securedCluster
  }

  case single(RedisServer)
  case cluster(RedisCluster)
  case sentinels(RedisSentinels)

  /// Starts the servers.
  ///
  /// - Parameters:
  ///   - arguments: options of each redis-server.
  ///   - launcher: words before `redis-server`, only for a single server.
  static func start(_ kind: Kind, arguments: [String], launcher: [String]) async throws -> RedisServers {
    switch kind {
    case .single: .single(try await RedisServer.start(arguments: arguments, launcher: launcher))
    case .cluster: .cluster(try await RedisCluster(arguments: arguments))
    case .securedCluster: .cluster(try await RedisCluster(arguments: arguments, certificates: RedisCertificates()))
    case .sentinels: .sentinels(try await RedisSentinels())
    }
  }

  /// The URL for a configuration.
  var url: String {
    switch self {
    case .single(let server): server.url
    case .cluster(let cluster): cluster.url
    case .sentinels(let sentinels): sentinels.url
    }
  }

  /// The certificates for TLS; `nil` without TLS.
  var certificates: RedisCertificates? {
    if case .cluster(let cluster) = self { cluster.certificates } else { nil }
  }

  /// Returns the names of all keys that match a pattern.
  ///
  /// - Parameter client: a client of these servers.
  func keys(_ pattern: String, by client: RedisClient) async throws -> Set<String> {
    if case .cluster(let cluster) = self {
      var keys: Set<String> = []
      for server in try await cluster.primaries() {
        keys.formUnion(try await server.command("--scan", "--pattern", pattern).split(separator: "\n").map(String.init))
      }
      return keys
    }
    var keys: Set<String> = []
    var cursor = "0"
    repeat {
      let page = try await client.command("SCAN", cursor, "MATCH", pattern, "COUNT", 1000).get()
      cursor = page[0].string ?? "0"
      keys.formUnion(page[1].compactMap(\.string))
    } while cursor != "0"
    return keys
  }

  /// Stops the servers.
  func stop() async {
    switch self {
    case .single(let server): await server.kill(SIGKILL)
    case .cluster(let cluster): await cluster.stop()
    case .sentinels(let sentinels): await sentinels.stop()
    }
  }
}
