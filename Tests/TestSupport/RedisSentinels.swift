import Foundation

/// A primary, its replicas, and sentinels that watch them, all of the test's own.
public actor RedisSentinels {
  /// What the sentinels call the primary.
  public static let name = "main"

  /// One sentinel.
  public struct Sentinel: Sendable {
    /// Its port.
    public let port: UInt16
    /// It.
    public let process: ChildProcess
  }

  /// All servers, the first primary first.
  public nonisolated let servers: [RedisServer]
  /// All sentinels.
  public nonisolated let sentinels: [Sentinel]
  /// `sentinel://HOST:PORT,…/main`.
  public nonisolated let url: String
  private let folder: ScratchFolder
  private let certificates: RedisCertificates?
  private let password: String?

  /// Starts everything, and waits until all know each other.
  ///
  /// - Parameters:
  ///   - replicas: how many.
  ///   - sentinels: how many; a majority decides on a failover.
  ///   - certificates: for servers and sentinels that speak TLS.
  ///   - password: of the sentinels' default user.
  ///   - users: users of the sentinels, each as `ACL SETUSER` takes it.
  public init(
    replicas: Int = 2, sentinels count: Int = 3, certificates: RedisCertificates? = nil, password: String? = nil,
    users: [String] = []
  ) async throws {
    let folder = try ScratchFolder("sentinels")
    self.folder = folder
    self.certificates = certificates
    self.password = password
    // A replica has its data at once, not after the five seconds in which others may join in.
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
      try await until {
        let facts = try await self.ask(sentinel, "sentinel", "master", Self.name)
        return facts["num-slaves"] == String(replicas) && facts["num-other-sentinels"] == String(count - 1)
      }
    }
  }

  /// The server that the sentinels take for the primary now.
  public func primary() async throws -> RedisServer? {
    for sentinel in sentinels where sentinel.process.exit == nil {
      let lines = try await run(sentinel, "sentinel", "get-master-addr-by-name", Self.name)
      if let port = lines.last.flatMap({ UInt16($0) }) { return servers.first { $0.port == port } }
    }
    return nil
  }

  /// Has the sentinels make another server the primary, as for maintenance.
  public func failOver() async throws {
    // A sentinel knows of the replicas what they said last, at most a second ago; without that it refuses.
    try await until { try await self.run(self.sentinels[0], "sentinel", "failover", Self.name) == ["OK"] }
  }

  /// Waits until the sentinels name another primary than `old`.
  public func awaitPrimary(otherThan old: RedisServer) async throws {
    try await until {
      guard let primary = try await self.primary() else { return false }
      return primary.port != old.port
    }
  }

  /// Waits until the sentinels' primary has all the others for its replicas, each with its data: before that a failover
  /// would lose more than the last writes.
  public func awaitReplicas() async throws {
    try await until {
      guard let primary = try await self.primary() else { return false }
      let said = try await primary.command("info", "replication")
      return said.components(separatedBy: "state=online").count == self.servers.count
    }
  }

  /// Ends everything.
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
      var lines = stride(from: 0, to: words.count, by: 2).map { words[$0].dropFirst(2) + " " + words[$0 + 1] }
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
    // One that is frozen never answers.
    let output = try await ChildProcess.run("timeout", ["5", "redis-cli"] + way + login + words)
    return output.standardOutput.split(separator: "\n").map(String.init)
  }

  private func ask(_ sentinel: Sentinel, _ words: String...) async throws -> [String: String] {
    let lines = try await run(sentinel, words)
    var facts: [String: String] = [:]
    for index in stride(from: 0, to: lines.count - 1, by: 2) { facts[lines[index]] = lines[index + 1] }
    return facts
  }

  /// Asks again and again until it is so.
  private func until(_ condition: () async throws -> Bool) async throws {
    // One whose clock has jumped decides nothing for 30 seconds (sentinel.c, SENTINEL_TILT_PERIOD).
    let deadline = ContinuousClock.now + .seconds(120)
    while try await !condition() {
      guard ContinuousClock.now < deadline else { throw TestSupportError("waited in vain for the sentinels") }
      await nextLook()
    }
  }
}
