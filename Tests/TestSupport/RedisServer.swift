import Foundation

/// A private redis-server on 127.0.0.1 in a scratch folder, by default without persistence. It ends with the last
/// reference or with the tests.
public actor RedisServer {
  /// The mode of the server.
  public enum Mode: Sendable {
    /// A single server with 16 databases.
    case single
    /// A cluster of one node that serves all slots. A command that touches two slots fails.
    case cluster
    /// A server for a cluster of several, see ``RedisCluster``.
    case member
  }

  /// The program of the server.
  public enum Program: String, Sendable {
    /// The distribution's Redis.
    case distribution = "redis-server"
    /// The oldest supported Redis. `deploy/install-foreign-servers` installs this Redis and Valkey.
    case redis62 = "redis-6.2"
    /// Valkey, the open-source successor of Redis.
    case valkey

    /// Whether the program is installed.
    public var isPresent: Bool { self == .distribution || FileManager.default.isExecutableFile(atPath: command) }

    /// The command that starts it.
    var command: String {
      if self == .distribution { return rawValue }
      let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
      return package.appending(path: ".build/foreign-servers/\(rawValue)").path
    }
  }

  /// Its port, which stays the same after a restart.
  public nonisolated let port: UInt16
  /// `redis://127.0.0.1:PORT`, or `rediss://` with certificates.
  public nonisolated let url: String
  /// The certificates for TLS; `nil` without TLS.
  public nonisolated let certificates: RedisCertificates?
  /// Its working folder with dumps and append-only files.
  public nonisolated let folder: ScratchFolder

  private struct Options {
    var mode: Mode
    var program: Program
    var arguments: [String]
    var password: String?
    var certificates: RedisCertificates?
    var launcher: [String]
  }

  private let options: Options
  private var process: ChildProcess
  private var isFrozen = false

  /// The process id, which changes with a restart.
  public var processIdentifier: Int32 { process.processIdentifier }

  /// A server that all tests of the process share. Use keys of your own, and don't change the server's settings and
  /// scripts.
  public static var shared: RedisServer { get async throws { try await sharedServer.value } }
  private static let sharedServer = Task { try await RedisServer.start() }

  /// A shared server like ``shared``, as a cluster of one node.
  public static var sharedCluster: RedisServer { get async throws { try await sharedClusterServer.value } }
  private static let sharedClusterServer = Task { try await RedisServer.start(.cluster) }

  /// A shared server like ``shared``, with the oldest supported Redis.
  public static var sharedRedis62: RedisServer { get async throws { try await sharedRedis62Server.value } }
  private static let sharedRedis62Server = Task { try await RedisServer.start(program: .redis62) }

  /// A shared server like ``shared``, with Valkey.
  public static var sharedValkey: RedisServer { get async throws { try await sharedValkeyServer.value } }
  private static let sharedValkeyServer = Task { try await RedisServer.start(program: .valkey) }

  /// A shared server like ``shared``, over TLS.
  public static var sharedTLS: RedisServer { get async throws { try await sharedTLSServer.value } }
  private static let sharedTLSServer = Task { try await RedisServer.start(certificates: RedisCertificates()) }

  /// Starts a server and waits until it answers.
  ///
  /// - Parameters:
  ///   - mode: a single server, or a cluster of one.
  ///   - program: the program, which must be installed.
  ///   - arguments: more options, such as `["--appendonly", "yes"]`. They come last and override the others.
  ///   - password: password of the default user.
  ///   - certificates: for a server with TLS.
  ///   - launcher: words before `redis-server`, such as `["unshare", "--mount"]`. The launcher must exec the server.
  public static func start(
    _ mode: Mode = .single, program: Program = .distribution, arguments: [String] = [], password: String? = nil,
    certificates: RedisCertificates? = nil, launcher: [String] = []
  ) async throws -> RedisServer {
    var failure = TestSupportError("\(program.rawValue) did not start")
    // Another process may take the port before the server binds it.
    for _ in 0..<5 {
      let folder = try ScratchFolder("redis")
      let port = try FreePort.find()
      do {
        let options = Options(
          mode: mode, program: program, arguments: arguments, password: password, certificates: certificates,
          launcher: launcher)
        let process = try await launch(options, port: port, folder: folder)
        let server = RedisServer(options, port, folder, process)
        try await server.join()
        return server
      } catch let error as TestSupportError {
        failure = error
      }
    }
    throw failure
  }

  private init(_ options: Options, _ port: UInt16, _ folder: ScratchFolder, _ process: ChildProcess) {
    self.options = options
    self.port = port
    self.folder = folder
    self.process = process
    certificates = options.certificates
    url = "redis\(options.certificates == nil ? "" : "s")://127.0.0.1:\(port)"
  }

  /// Stops the server in an orderly way (SIGTERM: it persists its data if configured) and waits for its end.
  public func stop() async { await kill(SIGTERM) }

  /// Whether the process runs and is not frozen by SIGSTOP from ``kill(_:)``.
  public var isRunning: Bool { process.exit == nil && !isFrozen }

  /// Sends a signal, and waits for the server's end unless it is SIGSTOP or SIGCONT.
  public func kill(_ signal: Int32) async {
    process.send(signal: signal)
    isFrozen = signal == SIGSTOP
    if signal != SIGSTOP, signal != SIGCONT { await process.waitForExit() }
  }

  /// Starts the server again on its port and in its folder. Kills it first if it still runs.
  public func restart() async throws {
    process.send(signal: SIGKILL)
    await process.waitForExit()
    isFrozen = false
    process = try await Self.launch(options, port: port, folder: folder)
    try await join()
  }

  /// Runs one command, to inspect the server without the module under test.
  ///
  /// - Returns: the output that redis-cli would have, without the last line break.
  @discardableResult
  public func command(_ words: String...) async throws -> String { try await command(words) }

  /// Runs one command, given as a list of words. If the server has TLS, or the first word is an option of `redis-cli`,
  /// `redis-cli` runs it.
  @discardableResult
  public func command(_ words: [String]) async throws -> String {
    if certificates == nil, words.first?.hasPrefix("-") == false {
      return try await PlainCommand.run(words, port: port, password: options.password)
        .trimmingCharacters(in: .newlines)
    }
    let login = options.password.map { ["--no-auth-warning", "-a", $0] } ?? []
    let way = ["-h", "127.0.0.1", "-p", String(port)] + (certificates?.clientArguments ?? [])
    let output = try await ChildProcess.run("redis-cli", way + login + words)
    guard output.exit == .status(0) else {
      throw TestSupportError("redis-cli \(words): \(output.standardOutput)\(output.standardError)")
    }
    return output.standardOutput.trimmingCharacters(in: .newlines)
  }

  private static func launch(_ options: Options, port: UInt16, folder: ScratchFolder) async throws -> ChildProcess {
    var words = [
      "--bind", "127.0.0.1", "--dir", folder.url.path, "--daemonize", "no", "--logfile", "",
      "--save", "", "--appendonly", "no",
    ]
    words += options.certificates?.serverArguments(port: port) ?? ["--port", String(port)]
    if options.mode != .single { words += ["--cluster-enabled", "yes"] }
    if let password = options.password { words += ["--requirepass", password] }
    let command = options.launcher + [options.program.command] + words + options.arguments
    let process = try await ChildProcess.start(command[0], Array(command.dropFirst()), folder: folder.url)
    var log: [String] = []
    for await line in process.lines {
      // Logged after the data is loaded and the port is bound (server.c, InitServerLast and loadDataFromDisk).
      if line.contains("eady to accept connections") { return process }
      log.append(line)
    }
    throw TestSupportError("\(options.program.rawValue) ended at its start:\n" + log.joined(separator: "\n"))
  }

  /// Assigns all slots to a new cluster node.
  private func join() async throws {
    guard options.mode == .cluster else { return }
    if try await !command("cluster", "info").contains("cluster_slots_assigned:16384") {
      try await command("cluster", "addslotsrange", "0", "16383")
    }
    // A node needs one or two seconds until its cluster is usable (cluster.c, CLUSTER_WRITABLE_DELAY).
    try await poll(until: "the cluster node is usable") {
      try await command("cluster", "info").contains("cluster_state:ok")
    }
  }
}
