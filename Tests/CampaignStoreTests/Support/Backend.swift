import Redis
import TestSupport

/// The servers that every test of the store runs on: a single Redis, and a cluster of one node, where a script that
/// touches a second slot or an undeclared key fails.
enum Backend: String, CaseIterable, CustomStringConvertible {
  case single, cluster

  var description: String { rawValue }

  var server: RedisServer {
    get async throws {
      switch self {
      case .single: try await RedisServer.shared
      case .cluster: try await RedisServer.sharedCluster
      }
    }
  }

  /// A client that all tests share; nothing may block it.
  var client: RedisClient {
    get async throws {
      switch self {
      case .single: try await Self.singleClient.value
      case .cluster: try await Self.clusterClient.value
      }
    }
  }

  private static let singleClient = Task { try await connect(to: RedisServer.shared) }
  private static let clusterClient = Task { try await connect(to: RedisServer.sharedCluster) }

  /// Tests share two cores with compilers and other tests: patience costs nothing where nothing is expected to fail.
  static func connect(to server: RedisServer) throws -> RedisClient {
    RedisClient(
      url: try RedisURL(server.url), options: RedisOptions(answerTimeout: .seconds(60), patience: .seconds(60)))
  }
}
