import Foundation
import Redis
import TestSupport

/// The servers that tests of the store run on: a single Redis, a cluster of one node, where a script that touches a second
/// slot or an undeclared key fails, and a single Redis over TLS.
enum Backend: String, CaseIterable, CustomStringConvertible {
  case single, cluster, tls

  /// What every test runs on: TLS only where `CARILLON_TEST_REDIS_TLS` is set, and then nothing else.
  static let allCases: [Backend] =
    ProcessInfo.processInfo.environment["CARILLON_TEST_REDIS_TLS"] == nil ? [.single, .cluster] : [.tls]

  /// What a few tests run on, which go the whole way of a campaign, and bring much at once.
  static let withTLS: [Backend] = [.single, .cluster, .tls]

  var description: String { rawValue }

  var server: RedisServer {
    get async throws {
      switch self {
      case .single: try await RedisServer.shared
      case .cluster: try await RedisServer.sharedCluster
      case .tls: try await RedisServer.sharedTLS
      }
    }
  }

  /// A client that all tests share; nothing may block it.
  var client: RedisClient {
    get async throws {
      switch self {
      case .single: try await Self.singleClient.value
      case .cluster: try await Self.clusterClient.value
      case .tls: try await Self.tlsClient.value
      }
    }
  }

  private static let singleClient = Task { try await connect(to: RedisServer.shared) }
  private static let clusterClient = Task { try await connect(to: RedisServer.sharedCluster) }
  private static let tlsClient = Task { try await connect(to: RedisServer.sharedTLS) }

  /// Tests share two cores with compilers and other tests: patience costs nothing where nothing is expected to fail.
  static func connect(to server: RedisServer) throws -> RedisClient {
    RedisClient(
      url: try RedisURL(server.url),
      options: RedisOptions(
        tls: RedisTLS(trustRoots: server.certificates?.trustRoots), answerTimeout: .seconds(60),
        patience: .seconds(60)))
  }
}
