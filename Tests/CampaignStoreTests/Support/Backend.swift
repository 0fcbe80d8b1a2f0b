import Foundation
import Redis
import TestSupport

/// The servers that tests of the store run on: a single Redis, a cluster of one node, where a script that touches a second
/// slot or an undeclared key fails, a single Redis over TLS, a cluster of six, the oldest Redis there may be, and Valkey.
enum Backend: String, CaseIterable, CustomStringConvertible {
  case single, cluster, tls, nodes
  case redis62 = "redis-6.2"
  case valkey

  /// What every test runs on: where `CARILLON_TEST_REDIS` names one of them, that and nothing else.
  ///
  /// The cluster of one refuses what a single server would let pass. That a single one takes it all is shown by the tests of
  /// workers and commands, and by `make faults`.
  static let allCases: [Backend] = named.map { [$0] } ?? [.cluster]

  /// What a few tests run on, which go the whole way of a campaign, and bring much at once: each that is on this machine.
  static let wholeWay: [Backend] = named.map { [$0] } ?? all.filter { $0.program.isPresent }

  /// Returns the servers for such a test with much data: the cluster of one and another, which the test's name decides. The
  /// long form has all of them.
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

  /// A client that all tests share; nothing may block it.
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

  /// Another client.
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

  /// Tests share two cores with compilers and other tests: patience costs nothing where nothing is expected to fail.
  private static func options(_ certificates: RedisCertificates? = nil) -> RedisOptions {
    RedisOptions(
      tls: RedisTLS(trustRoots: certificates?.trustRoots), answerTimeout: .seconds(60), patience: .seconds(60))
  }
}
