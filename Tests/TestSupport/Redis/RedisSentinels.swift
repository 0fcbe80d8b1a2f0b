import Foundation

/// A private primary with its replicas, and sentinels that watch them.
public actor RedisSentinels {
  /// The sentinels' name of the primary.
  public static let name = "main"

  /// One sentinel.
  public struct Sentinel: Sendable {
    /// Its port.
    public let port: UInt16
    /// Its process.
    public let process: ChildProcess
  }

  /// All servers, beginning with the first primary.
  public nonisolated let servers: [RedisServer]
  /// All sentinels.
  public nonisolated let sentinels: [Sentinel]
  /// `sentinel://HOST:PORT,…/main`.
  public nonisolated let url: String
  private let folder: ScratchFolder
  private let certificates: RedisCertificates?
  private let password: String?

  /// Starts all servers and sentinels, and waits until they know each other.
  ///
  /// - Parameters:
  ///   - replicas: number of replicas.
  ///   - sentinels: number of sentinels. A majority decides on a failover.
  ///   - certificates: for servers and sentinels with TLS.
  ///   - password: password of the sentinels' default user.
  ///   - users: users of the sentinels, each in the form of `ACL SETUSER`.
  public init(
    replicas: Int = 2, sentinels count: Int = 3, certificates: RedisCertificates? = nil, password: String? = nil,
    users: [String] = []
  ) async throws {
    let folder = try ScratchFolder("sentinels")
    self.folder = folder
    self.certificates = certificates
    self.password = password
    // A replica gets its data immediately instead of after the usual five seconds for further replicas.
    var arguments = ["--repl-diskless-sync-delay", "0"]
    if certificates != nil { arguments += ["--tls-replication", "yes"] }
    let primary = try await RedisServer.start(arguments: arguments, certificates: certificates)
    var servers = [primary]
    for _ in 0..<replicas {
      servers.append(
        try await RedisServer.start(
          arguments: arguments + ["--replicaof", "127.0.0.1", String(primary.port)], certificates: certificates))
    }
    var sentinels: [Sentinel] = []
    for _ in 0..<count {
      sentinels.append(
        try await Self.start(
          watching: primary.port, of: count, certificates, password: password, users: users, in: folder))
    }
    self.servers = servers
    self.sentinels = sentinels
    url = "sentinel://" + sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ",") + "/" + Self.name
    for sentinel in sentinels {
      try await until("a sentinel knows the others and the replicas") {
        let facts = try await self.ask(sentinel, "sentinel", "master", Self.name)
        return facts["num-slaves"] == String(replicas) && facts["num-other-sentinels"] == String(count - 1)
      }
    }
  }

  /// Returns the primary according to the sentinels.
  public func primary() async throws -> RedisServer? {
    for sentinel in sentinels where sentinel.process.exit == nil {
      let lines = try await run(sentinel, "sentinel", "get-master-addr-by-name", Self.name)
      if let port = lines.last.flatMap({ UInt16($0) }) { return servers.first { $0.port == port } }
    }
    return nil
  }

  /// Requests a planned failover from the sentinels.
  public func failOver() async throws {
    // A sentinel refuses this unless it has a report of the replicas that is at most a second old.
    try await until("a sentinel accepts the failover") {
      try await self.run(self.sentinels[0], "sentinel", "failover", Self.name) == ["OK"]
    }
  }

  /// Waits until the sentinels report another primary than `old`.
  public func awaitPrimary(otherThan old: RedisServer) async throws {
    try await until("the sentinels have chosen another primary") {
      guard let primary = try await self.primary() else { return false }
      return primary.port != old.port
    }
  }

  /// Waits until all other servers are replicas of the sentinels' primary and have its data. Before that a failover
  /// would lose more than the last writes.
  public func awaitReplicas() async throws {
    try await until("all other servers are replicas of the primary") {
      guard let primary = try await self.primary() else { return false }
      let info = try await primary.command("info", "replication")
      return info.components(separatedBy: "state=online").count == self.servers.count
    }
  }

  /// Stops all servers and sentinels.
  public func stop() async {
    for sentinel in sentinels {
      sentinel.process.send(signal: SIGKILL)
      await sentinel.process.waitForExit()
    }
    for server in servers { await server.kill(SIGKILL) }
  }

  private static func start(
    watching primary: UInt16, of count: Int, _ certificates: RedisCertificates?, password: String?, users: [String],
    in folder: ScratchFolder
  ) async throws -> Sentinel {
    for _ in 0..<5 {
      let port = try FreePort.find()
      let words = certificates?.serverArguments(port: port) ?? ["--port", String(port)]
      // Without the type annotation, the compiler needs two seconds for this expression.
      var lines: [String] = stride(from: 0, to: words.count, by: 2).map { words[$0].dropFirst(2) + " " + words[$0 + 1] }
      if certificates != nil { lines.append("tls-replication yes") }
      if let password { lines += ["requirepass \(password)", "sentinel sentinel-pass \(password)"] }
      lines += users.map { "user \($0)" }
      lines += [
        "bind 127.0.0.1", "dir \(folder.url.path)", "sentinel monitor \(name) 127.0.0.1 \(primary) \(count / 2 + 1)",
        "sentinel down-after-milliseconds \(name) 1000", "sentinel failover-timeout \(name) 5000",
      ]
      let file = try folder.write("sentinel-\(port).conf", lines.joined(separator: "\n") + "\n")
      let process = try await ChildProcess.start("redis-server", [file, "--sentinel"])
      if await process.line(containing: "+monitor") != nil { return Sentinel(port: port, process: process) }
    }
    throw TestSupportError("no sentinel started")
  }

  private func run(_ sentinel: Sentinel, _ words: String...) async throws -> [String] {
    try await run(sentinel, words)
  }

  private func run(_ sentinel: Sentinel, _ words: [String]) async throws -> [String] {
    let login = password.map { ["--no-auth-warning", "-a", $0] } ?? []
    let way = ["-h", "127.0.0.1", "-p", String(sentinel.port)] + (certificates?.clientArguments ?? [])
    // A frozen sentinel never answers.
    let output = try await ChildProcess.run("timeout", ["5", "redis-cli"] + way + login + words)
    return output.standardOutput.split(separator: "\n").map(String.init)
  }

  private func ask(_ sentinel: Sentinel, _ words: String...) async throws -> [String: String] {
    let lines = try await run(sentinel, words)
    var facts: [String: String] = [:]
    for index in stride(from: 0, to: lines.count - 1, by: 2) { facts[lines[index]] = lines[index + 1] }
    return facts
  }

  /// Polls until a condition is true.
  ///
  /// - Parameter text: the condition, for the error.
  private func until(_ text: String, _ condition: () async throws -> Bool) async throws {
    // A sentinel whose clock has jumped makes no decisions for 30 seconds (sentinel.c, SENTINEL_TILT_PERIOD).
    try await poll(until: text, condition)
  }
}
