import APNs
public import CampaignStore
import FCM
public import Foundation
import PushCore
public import Redis
import Synchronization
public import TestSupport

/// The real environment of one case: a Redis, a simulator with a log, devices, and workers as processes. All of it ends
/// with the world.
public final class FaultWorld: Sendable {
  /// The options of a world.
  public struct Options: Sendable {
    /// Number of slices of a campaign.
    public var partitions = 16
    /// Limit of targets that one worker may have in doubt.
    public var window = 50
    /// Number of users `u0`, `u1`, … with one device each.
    public var devices = 2000
    /// Names of additional columns of the import.
    var columns: [String] = []
    /// Returns the user of a device, and its values in ``columns``. By default each device has a user of its own.
    var row: @Sendable (Int) -> (user: String, values: [String]) = { ("u\($0)", []) }
    /// More configuration: lines of YAML after those of the app `news`, with their indentation.
    var settings: [String] = []
    /// Number of Android devices; 0 for an app without FCM.
    public var androidDevices = 0
    /// Returns the user and the time of registration of an Android device. By default the users `u0`, `u1`, … have one
    /// each.
    var androidRow: @Sendable (Int) -> (user: String, registeredAt: String) = { ("u\($0)", "2026-01-01T00:00:00Z") }
    /// Number of users `s0`, `s1`, … of a second app with one device each; 0 for no second app. The app has an endpoint
    /// of its own.
    public var sportDevices = 0
    /// The kind of Redis servers.
    var servers = RedisServers.Kind.single
    /// Options of redis-server, such as `["--appendonly", "yes"]`.
    public var redis: [String] = []
    /// Words before `redis-server`; see `RedisServer.start`.
    public var redisLauncher: [String] = []
    /// Options of `carillon simulate`.
    public var simulator = ["--latency", "100ms"]
    /// More environment variables of every command and worker.
    public var environment: [String: String] = [:]
    /// Whether workers and commands adopt the store's number of partitions.
    public var adoptsPartitions = false
    /// Whether takeovers are timed. Use false if faults other than workers' deaths delay slices.
    public var timesTakeovers = false

    /// Creates the options of most cases.
    public init() {}
  }

  /// Folder of the logs. It is kept after a failure.
  public let folder: URL
  /// The options of the world.
  public let options: Options
  /// The servers of the world.
  let servers: RedisServers
  /// The simulator's process and counters.
  public let simulator: SimulatorProcess
  /// A store with a connection of its own. While Redis is not reachable, its calls wait.
  public var store: CampaignStore { contents.withLock { $0.store } }
  /// A client for direct commands to the same Redis.
  public let redis: RedisClient
  /// The tokens of the Apple devices.
  public let tokens: [String]
  /// The registration tokens of the Android devices.
  public let androidTokens: [String]
  /// The key file of FCM's service account, if the app uses FCM.
  var serviceAccount: URL { folder.appending(path: "service-account.json") }
  /// The second app, if there is one.
  public let sport: SecondApp?
  /// Times of the takeovers of dead workers' slices.
  public let takeovers: Takeovers
  private let world: CarillonWorld
  private struct Contents {
    var store: CampaignStore
    var workers: [WorkerProcess] = []
    var started = 0
    var campaigns: [FaultCampaign] = []
    var erased: Set<String> = []
    /// Number of requests in the part of the simulator's log that was already counted, and the part's size in bytes.
    var counted: (requests: Int, bytes: UInt64) = (0, 0)
    /// Number of bytes of each simulator's log that were already checked.
    var checkedLogs: [URL: UInt64] = [:]
  }
  private let contents: Mutex<Contents>

  /// Starts Redis and the simulators, and imports the devices.
  ///
  /// - Parameter folder: an existing folder for logs.
  public init(_ options: Options = Options(), folder: URL) async throws {
    self.options = options
    self.folder = folder
    servers = try await RedisServers.start(options.servers, arguments: options.redis, launcher: options.redisLauncher)
    var world = try await CarillonWorld(partitions: options.partitions, url: servers.url)
    world.environment["CARILLON_REDIS_TLS_TRUST_ROOTS"] = servers.certificates?.trustRoots
    world.environment["CARILLON_WORKER_WINDOW"] = String(options.window)
    world.environment["CARILLON_RETRY_SERVER_ERROR"] = "1s"
    world.environment.merge(options.environment) { $1 }
    let log = folder.appending(path: "simulator.log").path
    simulator = try await world.startSimulator(options: ["--log", log] + options.simulator)
    var settings = options.settings
    if options.androidDevices > 0 { settings += try await Self.useFCM(of: simulator, in: folder) }
    if !settings.isEmpty {
      world.environment["CARILLON_CONFIG"] = try Self.configure(settings, world, in: folder)
    }
    androidTokens = (0..<options.androidDevices).map(Self.androidToken)
    if androidTokens.isEmpty {
      tokens = try await world.importDevices(options.devices, columns: options.columns, row: options.row)
    } else {
      tokens = try await world.importDevices(options.devices, columns: options.columns + ["service"]) {
        let (user, values) = options.row($0)
        return (user, values + ["apns"])
      }
      let rows = androidTokens.enumerated().map { number, token in
        let (user, registeredAt) = options.androidRow(number)
        return "\(user),\(token),\(registeredAt),fcm\n"
      }
      let file = try world.folder.write("android.csv", "user,token,registeredAt,service\n" + rows.joined())
      try await world.succeed("devices", "import", file)
    }
    sport =
      options.sportDevices > 0
      ? try await SecondApp(in: &world, devices: options.sportDevices, folder: folder) : nil
    if options.adoptsPartitions { world.environment["CARILLON_REDIS_PARTITIONS"] = nil }
    self.world = world
    guard let keys = Keyspace(namespace: world.namespace, partitions: options.partitions) else {
      throw TestSupportError("namespace \(world.namespace)")
    }
    var url = try RedisURL(servers.url)
    url.isTLS = servers.certificates != nil
    redis = RedisClient(
      url: url,
      options: RedisOptions(
        clientName: "faults", tls: RedisTLS(trustRoots: servers.certificates?.trustRoots), home: keys.home,
        answerTimeout: .seconds(60), waitTimeout: .seconds(60)))
    let services = PushServices(standard: APNsService(), others: [FCMService()])
    contents = Mutex(Contents(store: CampaignStore(redis: redis, keys: keys, services: services)))
    takeovers = Takeovers(redis: redis, namespace: world.namespace, isTiming: options.timesTakeovers)
  }

  private static func androidToken(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "cAAAAAAAAAAAAAAAAAAAAA:APA91b" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// Writes a service account for the simulator's token endpoint.
  ///
  /// - Returns: the settings of the app's FCM.
  private static func useFCM(of simulator: SimulatorProcess, in folder: URL) async throws -> [String] {
    let keys = try await CarillonWorld.simulatorKeys()
    let file = folder.appending(path: "service-account.json")
    let text = try String(contentsOfFile: keys + "/service-account.json", encoding: .utf8)
    guard let address = try JSONObject(text).text("token_uri") else {
      throw TestSupportError("the service account has no token_uri")
    }
    let account = text.replacing(address, with: "https://127.0.0.1:\(simulator.tokenPort)/token")
    try write(account, to: file)
    return [
      "    fcm:", "      serviceAccountFile: \(file.path)", "      endpoint: https://127.0.0.1:\(simulator.fcmPort)",
      "      trustRoots: \(keys)/ca.pem",
    ]
  }

  /// Returns the id of the service account's key.
  func serviceAccountKey() throws -> String {
    try JSONObject(String(contentsOf: serviceAccount, encoding: .utf8)).text("private_key_id") ?? ""
  }

  /// Replaces the key file of the service account by a copy with an additional member that has no meaning.
  func replaceServiceAccount() throws {
    let text = try String(contentsOf: serviceAccount, encoding: .utf8)
    try Self.write(text.replacing("{", with: #"{"note":"replaced","#, maxReplacements: 1), to: serviceAccount)
  }

  /// Replaces the key file of the service account by one with the same private key and another id.
  func replaceServiceAccount(keyID: String) throws {
    let text = try String(contentsOf: serviceAccount, encoding: .utf8)
    try Self.write(text.replacing(try serviceAccountKey(), with: keyID), to: serviceAccount)
  }

  private static func write(_ account: String, to file: URL) throws {
    try Data(account.utf8).write(to: file, options: .atomic)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }

  /// Writes a configuration of the app `news` and the settings. The environment has the address of its simulator.
  ///
  /// - Returns: its path.
  private static func configure(_ settings: [String], _ world: CarillonWorld, in folder: URL) throws -> String {
    let keys = URL(fileURLWithPath: world.environment["CARILLON_CONFIG"] ?? "").deletingLastPathComponent().path
    let lines = [
      "topic: com.example.news", "environment: production",
      "token: { keyFile: \(keys)/AuthKey_SIMULATOR1.p8, keyID: SIMULATOR1, teamID: SIMULATION }",
      "trustRoots: \(keys)/ca.pem",
    ]
    let file = folder.appending(path: "carillon.yaml")
    let text = (["apps:", "  news:", "    apns:"] + lines.map { "      " + $0 } + settings).map { $0 + "\n" }.joined()
    try Data(text.utf8).write(to: file)
    return file.path
  }

  /// Kills the remaining workers. The other processes end with the last reference.
  public func close() async {
    await takeovers.stop()
    for worker in workers { worker.process.send(signal: SIGKILL) }
    for worker in workers { await worker.process.waitForExit() }
    await redis.close()
    await servers.stop()
  }

  /// The Redis of a world with a single server.
  var server: RedisServer {
    guard case .single(let server) = servers else { preconditionFailure("this world has several servers") }
    return server
  }

  /// The prefix of all keys.
  public var namespace: String { world.namespace }

  // MARK: Workers

  /// The workers whose processes have not ended. They run or are frozen by SIGSTOP.
  public var workers: [WorkerProcess] { contents.withLock { $0.workers.filter { $0.process.exit == nil } } }

  /// Starts a worker and waits until it works.
  ///
  /// - Parameters:
  ///   - name: may be the name of a dead or living worker.
  ///   - environment: variables of this worker, such as fault switches. They override those of the world.
  ///   - waits: false if the worker can't start, or dies at the start.
  ///   - program: path of another `carillon` than the one that was built with the tests.
  @discardableResult
  public func worker(
    _ name: String, environment: [String: String] = [:], arguments: [String] = [], waits: Bool = true,
    program: String? = nil
  ) async throws -> WorkerProcess {
    let window = environment["CARILLON_WORKER_WINDOW"].flatMap { Int($0) } ?? options.window
    let number = contents.withLock { contents in
      contents.started += 1
      return contents.started
    }
    let process = try await world.start(
      ["worker", "--name", name, "--json"] + arguments, environment: environment, program: program)
    let log = folder.appending(path: "worker-\(number)-\(name).log")
    let worker = try WorkerProcess(name: name, window: window, process: process, log: log) { [takeovers] in
      await takeovers.record(deathOf: name)
    }
    contents.withLock { $0.workers.append(worker) }
    if waits { try await worker.hears("started") }
    return worker
  }

  /// Kills a worker with SIGKILL, and records the slices that it held.
  ///
  /// - Returns: whether the signal ended it; false if it had ended before.
  public func kill(_ worker: WorkerProcess) async -> Bool {
    guard worker.process.exit == nil else { return false }
    worker.process.send(signal: SIGKILL)
    return await worker.ended() == .signal(SIGKILL)
  }

  // MARK: Devices

  /// Changes all devices in the simulator.
  ///
  /// - Parameter members: members of each device's JSON object in addition to its token.
  public func setDevices(_ members: String) async throws {
    let file = folder.appending(path: "devices.ndjson")
    let lines = tokens.map { #"{"token":"\#($0)",\#(members)}"# }.joined(separator: "\n")
    try Data(lines.utf8).write(to: file)
    try await simulator.load(file: file.path)
  }

  /// Returns the number of devices that are not in quarantine.
  public func countDevices() async throws -> Int {
    try JSONObject(await succeed("segment", "count", "*", "--json")).number("devices") ?? -1
  }

  // MARK: Campaigns

  /// The campaigns that were submitted and not checked yet.
  public var campaigns: [FaultCampaign] { contents.withLock { $0.campaigns } }

  /// The tokens of erased users. A campaign's export does not contain the users of their targets.
  var erased: Set<String> { contents.withLock { $0.erased } }

  /// Records a user who is about to be erased.
  func recordErased(_ token: String) { contents.withLock { _ = $0.erased.insert(token) } }

  func forgetCampaigns() { contents.withLock { $0.campaigns = [] } }

  /// Submits a campaign with the command line.
  ///
  /// - Parameter outcomes: number of outcomes after which the function returns.
  @discardableResult
  public func submit(_ campaign: FaultCampaign, reaching outcomes: Int = 0) async throws -> FaultCampaign {
    let more = campaign.members.map { #","\#($0)":\#($1)"# }.sorted().joined()
    let job = CarillonWorld.job(
      campaign.id, app: campaign.app, audience: campaign.audience, content: campaign.content, more: more)
    try await world.succeed("campaign", "submit", "-", input: job)
    contents.withLock { $0.campaigns.append(campaign) }
    if outcomes > 0 { try await reached(outcomes, of: campaign) }
    return campaign
  }

  /// Submits a job that is not checked.
  func submit(job: String) async throws { try await world.succeed("campaign", "submit", "-", input: job) }

  /// Submits a job without the command line, like a producer in another language.
  public func push(_ campaign: FaultCampaign) async throws {
    let more = campaign.members.map { #","\#($0)":\#($1)"# }.sorted().joined()
    let job = CarillonWorld.job(
      campaign.id, app: campaign.app, audience: campaign.audience, content: campaign.content, more: more)
    try await redis.command("LPUSH", store.keys.campaigns, job).get()
    contents.withLock { $0.campaigns.append(campaign) }
  }

  /// Adds a campaign that the world did not submit, such as a run of a recurring campaign, to the next check.
  func expect(_ campaign: FaultCampaign) { contents.withLock { $0.campaigns.append(campaign) } }

  /// Puts events about users and devices on their list, in order.
  func push(events: [String]) async throws {
    var pipeline = RedisPipeline()
    for event in events { pipeline.append("LPUSH", store.keys.events(.registrations), event) }
    for reply in try await redis.execute(pipeline) { try reply.get() }
  }

  /// Runs a command of the program, and throws if the command fails.
  @discardableResult
  public func succeed(_ arguments: String...) async throws -> String {
    let output = try await CarillonCommand.run(arguments, environment: world.environment)
    guard output.exit == .status(0) else {
      throw TestSupportError("\(arguments.joined(separator: " ")): \(output.exit) \(output.standardError)")
    }
    return output.standardOutput
  }

  /// Starts a command of the program.
  func start(_ arguments: String...) async throws -> ChildProcess { try await world.start(arguments, environment: [:]) }

  /// Runs a command of another program than the one that was built with the tests, with more environment variables.
  func run(_ program: String, _ arguments: String..., environment: [String: String]) async throws -> ChildProcess.Output
  {
    try await ChildProcess.run(program, arguments, environment: world.environment.merging(environment) { $1 })
  }

  /// Adopts the store's current number of partitions.
  func adoptPartitions() async throws {
    let adopted = try await store.open(creating: false, adopting: true)
    contents.withLock { $0.store = adopted }
  }

  /// Waits until a campaign has ended.
  public func ended(_ campaign: FaultCampaign, within limit: Duration = .seconds(180)) async throws {
    try await until("campaign \(campaign.id) ends", within: limit) { try await hasEnded(campaign) }
  }

  /// Returns whether a campaign has ended.
  public func hasEnded(_ campaign: FaultCampaign) async throws -> Bool {
    try await look { try await store.campaigns.find(campaign.id)?.times.finishedAt != nil }
  }

  /// Waits until a campaign has this number of outcomes.
  public func reached(_ outcomes: Int, of campaign: FaultCampaign, within limit: Duration = .seconds(60)) async throws {
    try await until("campaign \(campaign.id) has \(outcomes) outcomes", within: limit) {
      try await recorded(of: campaign) >= outcomes
    }
  }

  /// Waits until at least one of the workers has a slice with granted targets, and returns all such workers in the
  /// given order; none if all campaigns have ended.
  ///
  /// A case can't predict these workers: on a busy machine one worker may take all slices, or the last campaign may end
  /// before this call.
  public func sending(among workers: [WorkerProcess]) async throws -> [WorkerProcess] {
    var sending: [WorkerProcess] = []
    try await until("a worker has something under way") {
      sending = []
      for worker in workers where try await sends(worker.name) { sending.append(worker) }
      guard sending.isEmpty else { return true }
      for campaign in campaigns where try await !hasEnded(campaign) { return false }
      return true
    }
    return sending
  }

  private func sends(_ worker: String) async throws -> Bool {
    for slice in try await redis.slices(heldBy: worker, namespace: namespace) {
      let granted = try await redis.command("HGET", slice.key, "granted").get()
      if granted.integer ?? 0 > 0 { return true }
    }
    return false
  }

  /// Returns a campaign's leg of a push service.
  func leg(_ service: String, of campaign: FaultCampaign) async throws -> CampaignRecord {
    let leg = try await look { try await store.campaigns.show(campaign.id)?.parts.first { $0.service == service } }
    guard let leg else { throw TestSupportError("campaign \(campaign.id) has no leg of \(service)") }
    return leg
  }

  /// Waits until a campaign's leg of a push service has this number of outcomes.
  func reached(_ outcomes: Int, of campaign: FaultCampaign, leg service: String) async throws {
    try await until("leg \(service) of \(campaign.id) has \(outcomes) outcomes") {
      try await leg(service, of: campaign).counters.outcomes.values.reduce(0, +) >= outcomes
    }
  }

  /// Waits until a campaign's leg of a push service has ended.
  func ended(_ campaign: FaultCampaign, leg service: String) async throws {
    try await until("leg \(service) of \(campaign.id) ends") {
      try await leg(service, of: campaign).times.finishedAt != nil
    }
  }

  /// Returns the number of outcomes of a campaign.
  public func recorded(of campaign: FaultCampaign) async throws -> Int {
    try await look { try await store.campaigns.show(campaign.id)?.counters.outcomes.values.reduce(0, +) ?? 0 }
  }

  /// Reads a value, and tries again while Redis is not reachable.
  private func look<Value>(_ body: () async throws -> Value) async throws -> Value {
    var value: Value?
    try await until("Redis answers", within: .seconds(120)) {
      value = try await body()
      return true
    }
    guard let value else { throw TestSupportError("Redis did not answer") }
    return value
  }

  /// Returns all requests that the simulator of the app `news` has received.
  public func simulatorLog() throws -> SimulatorLog { try SimulatorLog(log) }

  /// Returns the number of requests that the simulator has received. Each call reads only the new lines of the log.
  public func requestCount() throws -> Int {
    try contents.withLock { contents in
      let new = try SimulatorLog(log, from: contents.counted.bytes)
      contents.counted = (contents.counted.requests + new.requests.count, new.end)
      return contents.counted.requests
    }
  }

  private var log: URL { folder.appending(path: "simulator.log") }

  /// Returns the requests that the simulators have received since the last check.
  func uncheckedLogs() throws -> [URL: SimulatorLog] {
    var logs: [URL: SimulatorLog] = [:]
    let offsets = contents.withLock { $0.checkedLogs }
    for url in [log] + (sport.map { [$0.log] } ?? []) { logs[url] = try SimulatorLog(url, from: offsets[url] ?? 0) }
    return logs
  }

  func setChecked(_ logs: [URL: SimulatorLog]) {
    contents.withLock { $0.checkedLogs = logs.mapValues(\.end) }
  }
}
