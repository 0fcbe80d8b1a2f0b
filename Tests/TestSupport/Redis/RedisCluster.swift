import Foundation

/// A private cluster: primaries that share the slots, and replicas of each.
public actor RedisCluster {
  /// All servers. The first ones started as primaries, the others as their replicas.
  public private(set) var servers: [RedisServer]
  /// `cluster://HOST:PORT,…` with the servers at the start.
  public nonisolated let url: String
  /// The certificates for TLS; `nil` without TLS.
  public nonisolated let certificates: RedisCertificates?
  private let arguments: [String]
  private let password: String?

  /// A server in the report of another one.
  public struct Node: Sendable {
    /// Its id in the cluster: 40 hex digits.
    public let id: String
    /// Its port.
    public let port: UInt16
    /// Words such as `myself`, `master`, `slave`, `fail?`.
    public let flags: Set<String>
    /// The id of its primary; `-` for none.
    public let primary: String
    /// Its slots.
    public let slots: [ClosedRange<Int>]
  }

  /// The cluster of six that all tests of the process share. Use keys of your own, and don't change its servers.
  public static var shared: RedisCluster { get async throws { try await sharedCluster.value } }
  private static let sharedCluster = Task { try await RedisCluster(nodeTimeout: 15_000) }

  /// Starts the servers, and waits until all of them know the owners of all slots.
  ///
  /// - Parameters:
  ///   - primaries: number of primaries; at least three, or no failover is possible.
  ///   - replicas: number of replicas for each primary.
  ///   - nodeTimeout: ms of silence after which a server counts as dead.
  ///   - arguments: more options for each server.
  ///   - password: password of the default user.
  ///   - certificates: for servers with TLS, also between each other.
  public init(
    primaries: Int = 3, replicas: Int = 1, nodeTimeout: Int = 3000, arguments: [String] = [], password: String? = nil,
    certificates: RedisCertificates? = nil
  ) async throws {
    self.certificates = certificates
    self.password = password
    // A replica gets its data immediately instead of after the usual five seconds for further replicas.
    var all = ["--cluster-node-timeout", String(nodeTimeout), "--repl-diskless-sync-delay", "0"]
    if let certificates {
      // The servers are also clients of each other and need a client certificate. A server certificate is not valid for
      // a client.
      all += [
        "--tls-replication", "yes", "--tls-cluster", "yes", "--tls-client-cert-file", certificates.clientCertificate,
        "--tls-client-key-file", certificates.clientKey,
      ]
    }
    if let password { all += ["--masterauth", password] }
    all += arguments
    self.arguments = all
    var servers: [RedisServer] = []
    for _ in 0..<(primaries * (1 + replicas)) {
      servers.append(
        try await RedisServer.start(.member, arguments: all, password: password, certificates: certificates))
    }
    self.servers = servers
    url = "cluster://" + servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    try await cli(
      ["--cluster", "create"] + servers.map { "127.0.0.1:\($0.port)" }
        + ["--cluster-replicas", String(replicas), "--cluster-yes"])
    try await awaitAgreement(primaries: primaries)
    try await awaitReplicas(primaries * replicas)
  }

  /// Waits until all servers know all replicas and the replicas have their data. Before that, no replica can take over.
  ///
  /// - Parameter count: number of replicas; `nil` for the number of servers without slots.
  public func awaitReplicas(_ count: Int? = nil) async throws {
    try await until {
      for server in self.servers where await server.isRunning {
        let nodes = try await self.nodes(asking: server)
        let replicas = nodes.count { $0.flags.contains("slave") && !$0.flags.contains("fail") }
        guard replicas == count ?? nodes.count(where: \.slots.isEmpty) else { return false }
        guard try await server.command("role").hasPrefix("slave") else { continue }
        guard try await server.command("info", "replication").contains("master_link_status:up") else { return false }
      }
      return true
    }
  }

  /// Waits until all running servers agree on the owners of all slots.
  ///
  /// - Parameter primaries: number of servers with slots; `nil` for any number.
  public func awaitAgreement(primaries: Int? = nil) async throws {
    try await until {
      var views: Set<String> = []
      for server in self.servers where await server.isRunning {
        guard try await server.command("cluster", "info").contains("cluster_state:ok") else { return false }
        let owners = try await self.nodes(asking: server).filter { !$0.slots.isEmpty }
        guard primaries == nil || owners.count == primaries else { return false }
        let isWhole = owners.reduce(0) { $0 + $1.slots.reduce(0) { $0 + $1.count } } == 16_384
        guard isWhole else { return false }
        views.insert(owners.map { "\($0.port) \($0.slots)" }.sorted().joined(separator: "; "))
      }
      return views.count == 1
    }
  }

  /// Returns a server's report on all servers.
  public func nodes(asking server: RedisServer? = nil) async throws -> [Node] {
    let asked: RedisServer
    if let server { asked = server } else { asked = try await running() }
    return try await asked.command("cluster", "nodes").split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      let address = words[1].prefix { $0 != "@" && $0 != "," }
      guard let port = address.lastIndex(of: ":").flatMap({ UInt16(address[address.index(after: $0)...]) }) else {
        return nil
      }
      let slots = words.dropFirst(8).compactMap { word -> ClosedRange<Int>? in
        let ends = word.split(separator: "-").compactMap { Int($0) }
        guard !word.hasPrefix("["), let first = ends.first, let last = ends.last else { return nil }
        return first...last
      }
      return Node(
        id: words[0], port: port, flags: Set(words[2].split(separator: ",").map(String.init)), primary: words[3],
        slots: slots)
    }
  }

  /// Returns the servers with slots.
  public func primaries() async throws -> [RedisServer] {
    let ports = Set(try await nodes().filter { !$0.slots.isEmpty }.map(\.port))
    return servers.filter { ports.contains($0.port) }
  }

  /// Returns the current owner of a slot.
  public func owner(of slot: Int) async throws -> RedisServer {
    let nodes = try await nodes()
    guard let node = nodes.first(where: { $0.slots.contains { $0.contains(slot) } }),
      let server = servers.first(where: { $0.port == node.port })
    else { throw TestSupportError("no server has slot \(slot)") }
    return server
  }

  /// Returns the replicas of a server.
  public func replicas(of server: RedisServer) async throws -> [RedisServer] {
    let nodes = try await nodes()
    let id = nodes.first { $0.port == server.port }?.id
    return nodes.filter { $0.primary == id }.compactMap { node in servers.first { $0.port == node.port } }
  }

  /// Returns the slot of a key.
  public func slot(of key: String) async throws -> Int {
    Int(try await running().command("cluster", "keyslot", key)) ?? 0
  }

  /// Waits until another server than `old` owns a slot and all servers agree on this.
  public func awaitOwner(of slot: Int, otherThan old: RedisServer) async throws {
    try await until { (try? await self.owner(of: slot))?.port != old.port }
    try await awaitAgreement()
  }

  /// Starts a planned failover to a replica of a server.
  public func failOver(_ server: RedisServer) async throws {
    guard let slot = try await nodes().first(where: { $0.port == server.port })?.slots.first?.lowerBound else {
      throw TestSupportError("the server has no slots")
    }
    guard let replica = try await replicas(of: server).first else { throw TestSupportError("it has no replica") }
    var asked: ContinuousClock.Instant?
    try await until {
      if (try? await self.owner(of: slot))?.port != server.port { return true }
      // Another request restarts the failover. A failed attempt ends after five seconds (cluster.h,
      // CLUSTER_MF_TIMEOUT).
      if asked.map({ ContinuousClock.now - $0 > .seconds(6) }) ?? true {
        _ = try? await replica.command("cluster", "failover")
        asked = .now
      }
      return false
    }
  }

  // MARK: Slot migration

  /// Opens a slot for the migration of its keys from its owner to another server.
  public func open(_ slot: Int, to target: RedisServer) async throws {
    let source = try await owner(of: slot)
    let (from, to) = (try await id(of: source), try await id(of: target))
    try await target.command("cluster", "setslot", String(slot), "importing", from)
    try await source.command("cluster", "setslot", String(slot), "migrating", to)
  }

  /// Moves keys of an open slot.
  ///
  /// - Parameter limit: maximum number of keys.
  /// - Returns: number of keys that were moved.
  @discardableResult
  public func moveKeys(_ slot: Int, from source: RedisServer, to target: RedisServer, limit: Int) async throws -> Int {
    let keys = try await source.command("cluster", "getkeysinslot", String(slot), String(limit))
      .split(separator: "\n").map(String.init)
    guard !keys.isEmpty else { return 0 }
    let login = password.map { ["auth", $0] } ?? []
    try await source.command(["migrate", "127.0.0.1", String(target.port), "", "0", "60000"] + login + ["keys"] + keys)
    return keys.count
  }

  /// Closes a slot after all its keys were moved.
  public func close(_ slot: Int, at target: RedisServer) async throws {
    let id = try await id(of: target)
    try await target.command("cluster", "setslot", String(slot), "node", id)
    for server in servers where await server.isRunning {
      _ = try? await server.command("cluster", "setslot", String(slot), "node", id)
    }
  }

  /// Moves a slot with its keys, ten keys at a time. Clients may use the slot during the move.
  public func move(_ slot: Int, to target: RedisServer) async throws {
    let source = try await owner(of: slot)
    guard source.port != target.port else { return }
    try await open(slot, to: target)
    while try await moveKeys(slot, from: source, to: target, limit: 10) > 0 {}
    try await close(slot, at: target)
  }

  /// Starts another primary without slots.
  public func addServer() async throws -> RedisServer {
    let server = try await RedisServer.start(
      .member, arguments: arguments, password: password, certificates: certificates)
    let known = try await running()
    try await server.command("cluster", "meet", "127.0.0.1", String(known.port))
    servers.append(server)
    let all = servers
    try await until {
      for other in all where await other.isRunning {
        guard try await self.nodes(asking: other).count >= all.count else { return false }
      }
      return true
    }
    return server
  }

  /// Stops all servers.
  public func stop() async {
    for server in servers { await server.kill(SIGKILL) }
  }

  // MARK: Asking

  private func id(of server: RedisServer) async throws -> String { try await server.command("cluster", "myid") }

  private func running() async throws -> RedisServer {
    for server in servers where await server.isRunning { return server }
    throw TestSupportError("no server of the cluster runs")
  }

  private func cli(_ words: [String]) async throws {
    let login = password.map { ["--no-auth-warning", "-a", $0] } ?? []
    // redis-cli waits without a limit until the servers have found each other.
    let output = try await ChildProcess.run(
      "timeout", ["90", "redis-cli"] + login + (certificates?.clientArguments ?? []) + words)
    guard output.exit == .status(0) else {
      throw TestSupportError("redis-cli \(words): \(output.standardOutput)\(output.standardError)")
    }
  }

  /// Polls until a condition is true.
  private func until(_ condition: () async throws -> Bool) async throws {
    try await poll(until: "the cluster is ready", condition)
  }
}
