import APNs
import CampaignStore
import CommandSupport
import FCM
import Foundation
import Glibc
import PushTransport
import Redis
import TLS

/// The environment of a benchmark: a temporary folder, and Redis servers, simulators and workers on free ports.
/// ``close()`` removes everything.
actor BenchWorld {
  /// A running Redis.
  struct RedisProcess: Sendable {
    var process: BenchProcess
    /// The URL, as in `redis.url`.
    var address: String
    /// The folder of its files.
    var directory: String
    /// The benchmark's own client.
    var client: RedisClient
    /// The store in this Redis.
    var store: CampaignStore
    /// The server's port.
    var port: UInt16 { client.url.addresses[0].port }
  }

  /// A running simulator.
  struct SimulatorProcess: Sendable {
    var process: BenchProcess
    var endpoint: String
    /// Endpoint of FCM, and the URL of the token endpoint.
    var fcm: String
    var tokens: String
  }

  /// The folder of all files.
  nonisolated let folder: String
  private static let namespace = "bench"
  /// The configuration of workers and commands, beside the simulator's keys. It has one app with one push service,
  /// because a worker with several pools gives one pool at most three quarters of its window (see `CreditBudget`).
  private static let configuration = "simulator/bench.yaml"
  private static let configurationText = """
    apps:
      news:
        apns:
          topic: \(SimulatorFolder.topic)
          environment: production
          token:
            keyFile: \(SimulatorFolder.signingKey)
            keyID: \(SimulatorFolder.keyID)
            teamID: \(SimulatorFolder.teamID)
          trustRoots: \(SimulatorFolder.authority)
    retry:
      serverError: 2s

    """
  static let partitions = 256
  /// Maximum time in seconds for the start of a Redis. Loading ten million devices takes some tens of seconds.
  private static let redisTimeout = 300.0
  /// Maximum time in seconds for an import. Importing ten million devices takes minutes.
  private static let importTimeout = 3600.0

  /// The file of this program, whose `engine` command is also measured.
  nonisolated let program: String
  /// The file of the product's program, in the same folder.
  private nonisolated let carillon: String
  private var processes: [BenchProcess] = []
  private var registries: [String: String] = [:]
  private var importSeconds: [String: Double] = [:]
  private var names = 0

  init() throws {
    // Resolves the link here, because a child process would resolve its own /proc/self.
    program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    carillon = URL(fileURLWithPath: program).deletingLastPathComponent().appending(path: "carillon").path
    guard access(carillon, X_OK) == 0 else {
      throw CommandError(
        .failed, "there is no program \(carillon) to measure",
        hint: "build it: swift build --product carillon")
    }
    var template = Array((FileManager.default.temporaryDirectory.path + "/carillon-bench.XXXXXX").utf8CString)
    // mkdtemp(3) creates a folder that only this user can access, and writes its name into the template.
    guard mkdtemp(&template) != nil else { throw FileError.last("the temporary folder") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Stops all processes, the latest first.
  func stopAll() {
    for process in processes.reversed() { process.stop() }
    processes = []
  }

  /// Stops all processes and deletes the folder.
  func close() {
    stopAll()
    try? FileManager.default.removeItem(atPath: folder)
  }

  nonisolated func path(_ name: String) -> String { folder + "/" + name }

  // MARK: Processes

  /// Runs a program to its end. The exit status must be 0.
  ///
  /// - Returns: the program's standard output, and its exit status with its resource usage.
  func run(
    _ words: [String], environment: [String: String] = [:]
  ) async throws -> (output: String, end: BenchProcess.End) {
    let process = try start(words, environment: environment)
    defer { stop(process) }
    let end = try await process.finish()
    let output = FileManager.default.contents(atPath: process.output) ?? Data()
    return (String(decoding: output, as: UTF8.self), end)
  }

  /// Runs a command of `carillon`.
  func carillon(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> (output: String, end: BenchProcess.End) {
    try await run([carillon] + arguments, environment: environment)
  }

  func stop(_ process: BenchProcess) {
    process.stop()
    processes.removeAll { $0 === process }
    for file in [process.output, process.errors] { unlink(file) }
  }

  private func start(_ words: [String], environment: [String: String]) throws -> BenchProcess {
    names += 1
    let process = try BenchProcess(words, environment: environment, output: path("\(names).out"))
    processes.append(process)
    return process
  }

  // MARK: Simulators

  /// Starts a simulator.
  ///
  /// - Parameter options: options of `simulate`.
  func startSimulator(_ options: [String] = []) async throws -> SimulatorProcess {
    let directory = try await simulatorFolder()
    let process = try start(
      [carillon, "simulate", "--directory", directory, "--port", "0", "--control-port", "0"] + options, environment: [:]
    )
    var ports: [Int] = []
    try await process.wait(for: "the simulator", seconds: 30) {
      let data = FileManager.default.contents(atPath: process.output) ?? Data()
      guard let line = OutputLine(data) else { return false }
      ports = try ["port", "fcmPort", "tokenPort"].map { Int(try line.number($0)) }
      return true
    }
    return SimulatorProcess(
      process: process, endpoint: "https://127.0.0.1:\(ports[0])", fcm: "https://127.0.0.1:\(ports[1])",
      tokens: "https://127.0.0.1:\(ports[2])/token")
  }

  private func simulatorFolder() async throws -> String {
    let directory = path("simulator")
    guard access(directory, F_OK) != 0 else { return directory }
    _ = try await carillon(["simulate", "--init", directory])
    try Data(Self.configurationText.utf8).write(to: URL(fileURLWithPath: path(Self.configuration)))
    return directory
  }

  /// Returns the default settings of workers, with the changes that environment variables make.
  func workerSettings() async throws -> CarillonConfiguration.Worker {
    _ = try await simulatorFolder()
    let loader = ConfigurationLoader(
      argument: path(Self.configuration), environment: ProcessInfo.processInfo.environment)
    return try loader.load { _ in }.worker
  }

  /// Returns environment variables that connect the commands of `carillon` to a simulator and, if given, to a Redis.
  nonisolated func environment(_ simulator: SimulatorProcess, _ redis: RedisProcess? = nil) -> [String: String] {
    var environment = [
      "CARILLON_CONFIG": path(Self.configuration),
      "CARILLON_APPS_NEWS_APNS_ENDPOINT": simulator.endpoint, "CARILLON_REDIS_NAMESPACE": Self.namespace,
      "CARILLON_REDIS_PARTITIONS": String(redis?.store.keys.partitions ?? Self.partitions),
    ]
    if let redis { environment["CARILLON_REDIS_URL"] = redis.address }
    return environment
  }

  /// Returns environment variables that connect the app `android` to a simulator. They include a service account with
  /// the simulator's token endpoint.
  func androidEnvironment(_ simulator: SimulatorProcess) throws -> [String: String] {
    let file = URL(fileURLWithPath: path("simulator/" + SimulatorFolder.serviceAccount))
    guard var account = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: String] else {
      throw CommandError(.defect, "the service account is not an object of texts")
    }
    account["token_uri"] = simulator.tokens
    let own = path("service-account.json")
    try JSONSerialization.data(withJSONObject: account).write(to: URL(fileURLWithPath: own))
    chmod(own, 0o600)
    return environment(simulator).merging([
      "CARILLON_CONFIG": path("simulator/" + SimulatorFolder.configuration),
      "CARILLON_APPS_ANDROID_FCM_ENDPOINT": simulator.fcm, "CARILLON_APPS_ANDROID_FCM_SERVICE_ACCOUNT_FILE": own,
    ]) { $1 }
  }

  /// Returns an FCM access token for clients of other projects, such as h2load.
  func accessToken(_ simulator: SimulatorProcess) async throws -> String {
    _ = try androidEnvironment(simulator)
    let file = try Data(contentsOf: URL(fileURLWithPath: path("service-account.json")))
    let source = AccessTokenSource(
      account: try ServiceAccount(json: Array(file)), trustRoots: path("simulator/" + SimulatorFolder.authority))
    let authorization = await source.firstAuthorization()
    guard case .token(let token)? = authorization else { throw CommandError(.defect, "no access token") }
    return token.text
  }

  /// Returns a provider token for clients of other projects, such as h2load.
  nonisolated func providerToken() throws -> String {
    let key = try ECPrivateKey(contentsOf: path("simulator/" + SimulatorFolder.signingKey))
    let source = try ProviderTokenSource(keyID: SimulatorFolder.keyID, teamID: SimulatorFolder.teamID, key: key)
    guard let token = source.current() else { throw CommandError(.defect, "no provider token") }
    return token.jwt
  }

  // MARK: Workers

  /// Starts a worker and waits until it accepts jobs.
  func startWorker(
    _ name: String, _ simulator: SimulatorProcess, _ redis: RedisProcess, options: [String] = [],
    environment more: [String: String]
  ) async throws -> BenchProcess {
    let process = try start(
      [carillon, "worker", "--name", name, "--json"] + options,
      environment: environment(simulator, redis).merging(more) { $1 })
    try await process.wait(for: "worker \(name)", seconds: 30) {
      let log = FileManager.default.contents(atPath: process.errors) ?? Data()
      return String(decoding: log, as: UTF8.self).contains(#""event":"started""#)
    }
    return process
  }

  // MARK: Redis

  /// Starts a Redis with production settings: no eviction, and an append-only file that is synced every second. The
  /// devices are imported on first use and copied later.
  func startRedis(_ devices: BenchDevices?, partitions: Int = partitions) async throws -> RedisProcess {
    let source = try await registry(of: devices, partitions)
    let directory = path("redis-\(names)")
    if let source {
      try RedisFiles.copy(source, to: directory)
    } else {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }
    return try await startRedis(in: directory, partitions)
  }

  /// Starts a Redis for a cluster, with an empty store.
  func startClusterServer() async throws -> RedisProcess {
    let directory = path("redis-\(names)")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return try await startRedis(in: directory, isMember: true)
  }

  /// Returns the rate of `devices import` in devices per second; `nil` if these devices were not imported yet.
  func importRate(_ devices: BenchDevices) -> Double? {
    importSeconds[devices.name].map { Double(devices.count + devices.urgent) / $0 }
  }

  /// Stops a Redis and deletes its files.
  func stop(_ redis: RedisProcess) async {
    await redis.client.close()
    // Uses SIGKILL, because the files that an orderly end would write are deleted anyway.
    redis.process.send(SIGKILL)
    stop(redis.process)
    try? FileManager.default.removeItem(atPath: redis.directory)
  }

  private func startRedis(
    in directory: String, _ partitions: Int = BenchWorld.partitions, isMember: Bool = false
  ) async throws -> RedisProcess {
    var failure: any Error = CommandError(.failed, "no port for Redis")
    // Another process may take the port before the server binds it.
    for _ in 0..<10 {
      // The range is below Linux' ephemeral ports for outgoing connections.
      let port = Int.random(in: 20_000..<32_000)
      let process = try start(
        [
          "redis-server", "--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", "",
          "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
          "--cluster-enabled", isMember ? "yes" : "no",
        ], environment: [:])
      let address = "redis://127.0.0.1:\(port)"
      let client = RedisClient(
        url: try RedisURL(address),
        options: RedisOptions(clientName: "bench", answerTimeout: .seconds(60), waitTimeout: .milliseconds(200)))
      do {
        try await process.wait(for: "Redis on port \(port)", seconds: Self.redisTimeout) {
          guard let info = try? await client.serverInfo(section: "all") else { return false }
          // The comparison of the process id excludes another server on this port.
          return info.fields["process_id"] == String(process.id) && !info.isLoading
        }
        guard let keys = Keyspace(namespace: Self.namespace, partitions: partitions) else { break }
        let store = CampaignStore(redis: client, keys: keys, services: .known)
        if !isMember { try await store.open(creating: true) }
        return RedisProcess(process: process, address: address, directory: directory, client: client, store: store)
      } catch let error as CommandError {
        await client.close()
        stop(process)
        failure = error
      }
    }
    throw failure
  }

  /// Returns the folder of a stopped Redis with these devices.
  private func registry(of devices: BenchDevices?, _ partitions: Int) async throws -> String? {
    guard let devices else { return nil }
    let name = "\(devices.name)-\(partitions)"
    if let directory = registries[name] { return directory }
    let directory = path(name)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let simulator = try await startSimulator()
    let redis = try await startRedis(in: directory, partitions)
    let environment = environment(simulator, redis)
    let (rows, urgent) = (path("devices.csv"), path("urgent"))
    try devices.write(devices: rows, urgent: urgent)
    let began = WallClock.now
    _ = try await carillon(["devices", "import", rows, "--json"], environment: environment)
    importSeconds[devices.name] = WallClock.now - began
    if devices.urgent > 0 {
      _ = try await carillon(["segment", "import", "urgent", urgent, "--json"], environment: environment)
    }
    for file in [rows, urgent] { unlink(file) }
    _ = try await redis.client.command("BGREWRITEAOF")
    try await redis.process.wait(for: "the file of \(devices.count) devices", seconds: Self.importTimeout) {
      let fields = try await redis.client.serverInfo(section: "persistence").fields
      return fields["aof_rewrite_in_progress"] == "0" && fields["aof_rewrite_scheduled"] == "0"
    }
    await redis.client.close()
    stop(redis.process)
    stop(simulator.process)
    registries[name] = directory
    return directory
  }
}

/// The files of a stopped Redis.
private enum RedisFiles {
  /// Copies the files. The base of the append-only file gets a hard link, because Redis never writes to it again.
  static func copy(_ source: String, to target: String) throws {
    let files = FileManager.default
    let log = "/appendonlydir"
    try files.createDirectory(atPath: target + log, withIntermediateDirectories: true)
    for name in try files.contentsOfDirectory(atPath: source + log) {
      let (from, to) = ("\(source)\(log)/\(name)", "\(target)\(log)/\(name)")
      if name.hasSuffix(".base.rdb") {
        try files.linkItem(atPath: from, toPath: to)
      } else {
        try files.copyItem(atPath: from, toPath: to)
      }
    }
  }
}
