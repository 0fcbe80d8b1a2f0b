import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushWorker
import Redis
import Synchronization
import TLS
import TestSupport
import Testing

/// A private store on a real Redis, a simulator with real TLS, and workers.
struct WorkerRig {
  let store: CampaignStore
  let simulator: Simulator
  let url: RedisURL
  let keys: Keyspace
  let folder: ScratchFolder
  /// The transport engine of its workers.
  let engine: PushEngineKind
  /// The time zones of its workers.
  let zones: ZoneDatabase
  var channel: AppChannel
  private let services: PushServices

  static let topic = "com.example.news"

  /// - Parameters:
  ///   - engine: the transport engine of the workers. Each test chooses it explicitly.
  ///   - server: a Redis of the test's own, if the test changes its state.
  ///   - others: push services beside APNs.
  ///   - users: how many users to register.
  init(
    engine: PushEngineKind, partitions: Int = 8, server own: RedisServer? = nil, zones: ZoneDatabase = .system,
    others: [any PushService] = [], users: Int = 0, configure: (inout SimulatorConfiguration) -> Void = { _ in }
  ) async throws {
    self.engine = engine
    self.zones = zones
    services = PushServices(standard: APNsService(), others: others)
    var server = own
    if server == nil { server = try await RedisServer.shared }
    url = try RedisURL(#require(server).url)
    keys = try #require(Keyspace(namespace: "rig-\(UUID().uuidString)", partitions: partitions))
    store = CampaignStore(
      redis: RedisClient(url: url, options: Self.unhurried), keys: keys,
      services: services,
      zones: zones)
    try await store.open(creating: true)
    let key = try ECPrivateKey.generate()
    var configuration = SimulatorConfiguration()
    configuration.keys = [.init(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", pem: key.publicPEM)]
    configure(&configuration)
    simulator = try await Simulator.start(configuration)
    folder = try ScratchFolder()
    let roots = try folder.write("ca.pem", try #require(simulator.authorityPEM))
    channel = AppChannel([
      ServiceChannel(
        service: APNsService(AppTraits(topic: Self.topic)), environment: "production",
        endpoint: PushEndpoint(url: "https://127.0.0.1:\(simulator.port)", trustRoots: roots),
        credential: try ProviderTokenSource(keyID: "ABC123DEFG", teamID: "DEF123GHIJ", key: key))
    ])
    if users > 0 { try await register(users) }
  }

  /// Registers users `u0`, `u1`, … with one device each, in the store and at APNs.
  ///
  /// - Parameter zones: the time zones of the devices, in turn.
  func register(
    _ users: Int, zones: [String] = [""], state: (Int) -> SimulatedDevice.State = { _ in .registered }
  ) async throws {
    var registrations: [DeviceRegistration] = []
    var devices: [SimulatedDevice] = []
    for number in 0..<users {
      let token = Self.token(number)
      var record = DeviceRecord(token: token, service: "apns")
      record.app = "news"
      record.registeredAt = 1000
      record.timezone = zones[number % zones.count]
      registrations.append(DeviceRegistration(user: "u\(number)", device: record))
      devices.append(SimulatedDevice(token: token, state: state(number), topic: Self.topic, timestamp: 2000))
    }
    try await store.registry.register(registrations)
    simulator.load(devices)
  }

  static func token(_ number: Int) -> [UInt8] {
    (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4)) &+ $0 * 7) }
  }

  /// Returns the text of the token of this number.
  static func text(_ number: Int) -> String { String(decoding: Hex.encode(token(number)), as: UTF8.self) }

  func worker(
    _ name: String, window: Int = 100, connections: Int = 2, retry: RetryPolicy = RetryPolicy(),
    guard: GuardPolicy = GuardPolicy(),
    lease: Int = 6000, drains: Bool = true, redis url: RedisURL? = nil, log: EventLog = EventLog()
  ) -> PushWorker {
    var configuration = WorkerConfiguration(
      name: name, window: window, connections: connections, retry: retry, guard: `guard`, drains: drains, lease: lease,
      apps: ["news": channel])
    configuration.engine = engine
    return PushWorker(
      configuration: configuration, store: client(url), sharedStore: client(url), blocking: client(url),
      observer: log.append)
  }

  /// - Parameter way: the address of Redis; `nil` for the server's own.
  func client(_ way: RedisURL? = nil) -> CampaignStore {
    CampaignStore(
      redis: RedisClient(url: way ?? url, options: Self.unhurried), keys: keys,
      services: services, zones: zones)
  }

  /// Long timeouts, because no test here is about an unreachable Redis and a loaded machine must not fail one.
  static let unhurried = RedisOptions(
    connectTimeout: .seconds(60), answerTimeout: .seconds(60), waitTimeout: .seconds(60))

  /// Submits a job.
  ///
  /// - Parameters:
  ///   - fields: further members, with a comma before each.
  ///   - content: the members with the content of the pushes.
  @discardableResult
  func submit(
    _ id: String, _ fields: String = "", audience: String = #"{"segment":"*"}"#,
    content: String = #""apns":{"payload":{"aps":{"alert":"hi"}}}"#
  ) async throws -> Admission {
    let job = Array(#"{"id":"\#(id)","app":"news","audience":\#(audience),\#(content)\#(fields)}"#.utf8)
    let others = channel.services.dropFirst().map(\.service)
    let apps = JobApps.known(["news": [APNsService(AppTraits(topic: "com.example.news"))] + others])
    let campaign = try CampaignJob.parse(job, apps)
    return try await store.queue.submit(job, as: campaign, by: campaign.submittedBy)
  }

  /// Pushes a job as a producer in another language does.
  func push(raw job: String) async throws {
    _ = try await RedisClient(url: url, options: Self.unhurried).command("LPUSH", keys.campaigns, job)
  }

  /// Pushes registration events in the same way.
  func push(events: [String]) async throws {
    var pipeline = RedisPipeline()
    for event in events { pipeline.append("LPUSH", keys.events(.registrations), event) }
    let client = RedisClient(url: url, options: Self.unhurried)
    for reply in try await client.execute(pipeline) { try reply.get() }
    await client.close()
  }

  /// Changes a control key without the store.
  @discardableResult
  func command(_ name: StaticString, _ key: String, _ arguments: String...) async throws -> RedisReply {
    let client = RedisClient(url: url, options: Self.unhurried)
    var pipeline = RedisPipeline()
    pipeline.command(name) {
      $0.append("{\(keys.namespace)}:" + key)
      for argument in arguments { $0.append(argument) }
    }
    let reply = try await client.execute(pipeline)[0].get()
    await client.close()
    return reply
  }

  /// Lets the time after a completed stage pass: its end moves into the past, and the check of its gate is due now.
  func endWait(ofStage part: String, of id: String, seconds: Int) async throws {
    let end = try #require(try await store.campaigns.find(part)?.times.finishedAt)
    try await command("HSET", "campaign:" + part, "finishedAt", String(end - seconds * 1000))
    try await command("ZADD", "gates", "XX", "0", id)
  }

  /// Moves the start of a scheduled campaign to another time, in ms since the epoch.
  func reschedule(_ id: String, to instant: Int) async throws {
    try await command("HSET", "campaign:" + id, "sendAt", String(instant))
    try await command("ZADD", "schedule", "XX", String(instant), id)
  }

  /// Repeats a check until it succeeds.
  func until(
    fileID: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
  ) async throws {
    try await poll(until: "the condition of \(fileID):\(line) is true", every: .milliseconds(5), condition)
  }

  func results(_ id: String) async throws -> [TargetResult] {
    var all: [TargetResult] = []
    try await store.results.forEachResult(of: id) {
      all += $0
      return true
    }
    return all
  }
}

/// The log of a worker's events, for tests to read.
final class EventLog: Sendable {
  private let events = Mutex<[String]>([])

  func append(_ event: WorkerEvent) {
    events.withLock { $0.append("\(event)") }
  }

  var all: [String] { events.withLock { $0 } }
}
