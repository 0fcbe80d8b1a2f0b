import Foundation
import Redis
import TestSupport

/// Servers for the tests of the store: a single Redis, the same with TLS, a cluster of one node, a cluster of six, the
/// oldest supported Redis, and Valkey. On the cluster of one node, a script that uses a second slot or an undeclared
/// key fails.
enum Backend: String, CaseIterable, CustomStringConvertible {
  case single, cluster, tls, nodes
  case redis62 = "redis-6.2"
  case valkey

  /// Servers for every test. If `CARILLON_TEST_REDIS` names a server, the tests use only that one.
  ///
  /// The default is the cluster of one node, because it rejects calls that a single server accepts. The tests of
  /// workers and commands, and `make faults`, use a single server.
  static let allCases: [Backend] = named.map { [$0] } ?? [.cluster]

  /// Servers for the few tests that run a whole campaign and so use many features: each server that is installed here.
  static let wholeWay: [Backend] = named.map { [$0] } ?? all.filter { $0.program.isPresent }

  /// Returns the servers for a test that runs a whole campaign with much data: the cluster of one node, and another
  /// that depends on the test's name. The long form uses all of them.
  static func pair(for test: String) -> [Backend] {
    if TestForm.isLong || named != nil { return wholeWay }
    let others = wholeWay.filter { $0 != .cluster }
    return [.cluster, others[test.utf8.reduce(0) { $0 &+ Int($1) } % others.count]]
  }

  private static let named: Backend? = ProcessInfo.processInfo.environment["CARILLON_TEST_REDIS"].map { name in
    guard let backend = Backend(rawValue: name) else { fatalError("CARILLON_TEST_REDIS is none of \(Backend.all)") }
    guard backend.program.isPresent else { fatalError("\(name) is not there: deploy/install-foreign-servers") }
    return backend
  }

  private static let all: [Backend] = [.single, .cluster, .tls, .nodes, .redis62, .valkey]

  private var program: RedisServer.Program {
    switch self {
    case .single, .cluster, .tls, .nodes: .distribution
    case .redis62: .redis62
    case .valkey: .valkey
    }
  }

  var description: String { rawValue }

  /// A client that all tests share. No test may block it.
  var client: RedisClient {
    get async throws {
      switch self {
      case .single: try await Self.singleClient.value
      case .cluster: try await Self.clusterClient.value
      case .tls: try await Self.tlsClient.value
      case .nodes: try await Self.nodesClient.value
      case .redis62: try await Self.redis62Client.value
      case .valkey: try await Self.valkeyClient.value
      }
    }
  }

  private static let singleClient = Task { try await Backend.single.connect() }
  private static let clusterClient = Task { try await Backend.cluster.connect() }
  private static let tlsClient = Task { try await Backend.tls.connect() }
  private static let nodesClient = Task { try await Backend.nodes.connect() }
  private static let redis62Client = Task { try await Backend.redis62.connect() }
  private static let valkeyClient = Task { try await Backend.valkey.connect() }

  /// Opens another client.
  func connect() async throws -> RedisClient {
    switch self {
    case .single: try Self.connect(to: await RedisServer.shared)
    case .cluster: try Self.connect(to: await RedisServer.sharedCluster)
    case .tls: try Self.connect(to: await RedisServer.sharedTLS)
    case .redis62: try Self.connect(to: await RedisServer.sharedRedis62)
    case .valkey: try Self.connect(to: await RedisServer.sharedValkey)
    case .nodes: RedisClient(url: try RedisURL(try await RedisCluster.shared.url), options: Self.options())
    }
  }

  static func connect(to server: RedisServer) throws -> RedisClient {
    RedisClient(url: try RedisURL(server.url), options: options(server.certificates))
  }

  /// Long timeouts, because tests share two cores with compilers and other tests. They cost no time if no call is
  /// expected to fail.
  private static func options(_ certificates: RedisCertificates? = nil) -> RedisOptions {
    RedisOptions(
      tls: RedisTLS(trustRoots: certificates?.trustRoots), answerTimeout: .seconds(60), waitTimeout: .seconds(60))
  }
}
