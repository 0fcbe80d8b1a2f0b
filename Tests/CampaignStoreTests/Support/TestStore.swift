@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// A store for one test, under a namespace of its own on a server that all tests share.
struct TestStore {
  let store: CampaignStore
  let redis: RedisClient
  let backend: Backend

  var keys: Keyspace { store.keys }

  /// Creates an initialised, empty store.
  ///
  /// - Parameters:
  ///   - streamLength: the store's parameter of this name.
  ///   - server: a server of the test's own, if the test changes its state.
  ///   - users: the numbers of the users to register.
  ///   - campaign: the id of a campaign to all users, which is then activated.
  init(
    on backend: Backend, partitions: Int = 4, devicesPerUser: Int = 100, streamLength: Int = 0,
    server: RedisServer? = nil, zones: ZoneDatabase = .system, services: PushServices = TestStore.services,
    users: Range<Int>? = nil,
    activating campaign: String? = nil
  ) async throws {
    self.backend = backend
    if let server { redis = try Backend.connect(to: server) } else { redis = try await backend.client }
    // The namespace ends with `slice`, like the name of a key. Code that searches a whole key for such a name would
    // fail.
    let namespace = "t" + String(UInt64.random(in: .min ... .max), radix: 36) + "slice"
    let keys = try #require(Keyspace(namespace: namespace, partitions: partitions))
    store = CampaignStore(
      redis: redis, keys: keys, services: services, zones: zones, streamLength: streamLength,
      devicesPerUser: devicesPerUser)
    try await store.open(creating: true)
    if let users { try await registerUsers(users) }
    if let campaign { try await activate(campaign) }
  }

  /// Opens the same store as a new client does.
  init(opening other: TestStore) async throws {
    backend = other.backend
    redis = other.redis
    store = try await other.store.open(creating: false, adopting: true)
  }

  /// Runs one command and fails if Redis returns an error.
  @discardableResult
  func command<each Argument: RedisArgument>(
    _ name: StaticString, _ argument: repeat each Argument
  ) async throws -> RedisReply {
    try await redis.command(name, repeat each argument).get()
  }

  /// Returns the keys that match a pattern.
  func keyNames(_ pattern: String) async throws -> [String] {
    guard backend == .nodes else { return try await command("KEYS", pattern).compactMap(\.string) }
    let cluster = try await RedisCluster.shared
    let primaries = Set(try await cluster.nodes().filter { !$0.slots.isEmpty }.map(\.port))
    var names: [String] = []
    for server in await cluster.servers where primaries.contains(server.port) {
      names += try await server.command("keys", pattern).split(separator: "\n").map(String.init)
    }
    return names
  }

  /// Returns the numeric fields of a slice's hash, and all fields as text.
  func slice(_ id: String, _ partition: Int = 0) async throws -> (numbers: [String: Int], text: [String: String]) {
    let reply = try await command("HGETALL", keys.slice(partition, of: id))
    var text: [String: String] = [:]
    for index in stride(from: 0, to: reply.count, by: 2) { text[reply[index].string ?? ""] = reply[index + 1].string }
    return (text.compactMapValues { Int($0) }, text)
  }

  /// Returns the remaining time of a slice's lease in ms, by Redis' clock.
  func leaseLeft(_ id: String, _ partition: Int = 0) async throws -> Int {
    try await (slice(id, partition).numbers["lease"] ?? 0) - store.time() / 1000
  }

  /// Ends a lease without waiting for it.
  func endLease(_ id: String, _ partition: Int = 0) async throws {
    try await command("HSET", keys.slice(partition, of: id), "lease", 1)
  }

  /// Returns the key of the list that is built under a claim.
  func building(_ ledger: SliceLedger) -> String {
    keys.building(
      ledger.slice.partition, ledger.slice.campaign, claim: String(decoding: ledger.claim, as: UTF8.self))
  }

  func isBuilding(_ ledger: SliceLedger) async throws -> Bool {
    try await command("EXISTS", building(ledger)).integer == 1
  }

  /// The push service of the campaigns' app.
  static let service = APNsService()
  static let services = PushServices(standard: service)
  /// Filter for the devices that the campaigns reach.
  static let filter = DeviceFilter(service: service.name, kind: .alert, app: "news", environment: "production")

  /// Returns the filter for the devices that a campaign reaches, with its conditions.
  static func filter(of campaign: Campaign, start: Int = 0) -> DeviceFilter {
    DeviceFilter(
      service: service.name, kind: .alert, app: "news", environment: "production",
      predicate: campaign.recipients.predicate,
      sample: campaign.recipients.sample, devices: campaign.recipients.devices, start: start,
      timing: campaign.delivery.timing)
  }

  // MARK: Devices

  private static let tokenStart = (0..<24).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }

  /// Returns a token that only this number has: 32 bytes, like Apple's.
  static func token(_ number: Int) -> [UInt8] { tokenStart + withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  static func deviceToken(_ number: Int) throws -> DeviceToken {
    try #require(DeviceToken(bytes: token(number)))
  }

  /// Returns the text of the token of this number.
  static func text(_ number: Int) -> String { String(decoding: Hex.encode(token(number)), as: UTF8.self) }

  static func device(_ number: Int, registeredAt: UInt64 = 1000) -> DeviceRecord {
    var device = DeviceRecord(token: token(number), service: service.name)
    device.registeredAt = registeredAt
    return device
  }

  /// Registers users `u0`, `u1`, …, each with one device: `u7` has token 7.
  func registerUsers(_ numbers: Range<Int>, registeredAt: UInt64 = 1000) async throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 5000) {
      try await store.registry.register(
        (start..<min(start + 5000, numbers.upperBound)).map {
          DeviceRegistration(user: "u\($0)", device: Self.device($0, registeredAt: registeredAt))
        })
    }
  }

  func batch(_ registrations: [DeviceRegistration]) throws -> RegistrationBatch {
    var batch = store.registry.registrationBatch()
    for registration in registrations { try batch.append(registration) }
    return batch
  }

  /// Performs all steps of registrations after the first.
  func complete(_ bound: Registry.BoundRegistrations) async throws -> [Bool] {
    try await store.registry.complete(store.registry.enter(bound)).stands
  }

  // MARK: Campaigns

  /// Returns a job with this audience. Other fields can be added as JSON members.
  static func job(_ id: String, audience: String, _ more: String = "") -> [UInt8] {
    Array(
      #"{"id":"\#(id)","app":"news","audience":\#(audience),"apns":{"payload":{"aps":{"alert":"hi"}}}\#(more)}"#.utf8)
  }

  /// Activates a campaign without the intake list. Without pruning the campaign has a slice in every partition, even if
  /// no user is registered.
  @discardableResult
  func activate(
    _ id: String, audience: String = #"{"segment":"*"}"#, _ more: String = "", narrowing: Bool = false
  ) async throws -> Campaign {
    let job = Self.job(id, audience: audience, more)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    try await storeSubmitter(of: job, campaign)
    expect(try await store.queue.activate(campaign, job: job, worker: "w", narrowed: !narrowing), is: .new)
    guard narrowing, try await store.campaigns.find(id)?.state == .active else { return campaign }
    var narrowed = campaign
    narrowed.recipients.definitions = try #require(try await store.audiences.fixPartitions(of: campaign))
    return narrowed
  }

  /// Records the submitter of the job, as the submitting call does, if the test's job names one.
  func storeSubmitter(of job: [UInt8], _ campaign: Campaign) async throws {
    guard let person = campaign.submittedBy else { return }
    let script = "return redis.call('SET', KEYS[1], redis.sha1hex(ARGV[1]) .. ' ' .. ARGV[2], 'EX', 90)"
    try await command("EVAL", script, 1, keys.submitter(campaign.id), store.queue.forms(of: job).meaning, person)
  }

  /// A lease or a timeout in ms, longer than any test takes on a busy machine.
  static let timeout = 3_600_000

  /// Creates a store with the active campaign `a` and these live workers.
  static func made(on backend: Backend, workers: String...) async throws -> TestStore {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("a")
    for worker in workers { _ = try await world.store.fleet.heartbeat(worker: worker, timeout: timeout) }
    return world
  }

  /// Claims a slice and returns its ledger.
  func claimed(
    _ id: String, _ partition: Int = 0, worker: String = "w", lease: Int = TestStore.timeout, rules: GrantRules? = nil
  ) async throws -> (ledger: SliceLedger, progress: SliceProgress) {
    let ledger = SliceLedger(
      store: store, slice: SliceReference(campaign: id, partition: partition), lease: lease, app: "news", rules: rules)
    guard case .claimed(let progress) = try await ledger.claim(worker: worker) else {
      throw TestSupportError("slice \(ledger.slice) could not be claimed")
    }
    return (ledger, progress)
  }

  /// Returns a slice of raw tokens 0..<count in the only partition of the store, claimed and sealed.
  func sealed(
    _ id: String, count: Int, granted: Int = 0, lease: Int = TestStore.timeout, _ more: String = ""
  ) async throws -> SliceLedger {
    let tokens = (0..<count).map { "\"\(Self.text($0))\"" }.joined(separator: ",")
    let campaign = try await activate(id, audience: "{\"tokens\":[\(tokens)]}", more)
    let ledger = try await claimed(id, lease: lease).ledger
    expect(try await expand(ledger, campaign), is: count)
    if granted > 0 { try await ledger.commit(credit: granted) }
    return ledger
  }

  /// Returns a slice of all users in the only partition of the store, claimed, sealed and granted.
  func expandAll(_ id: String) async throws -> (ledger: SliceLedger, chunk: TargetChunk) {
    let campaign = try await activate(id)
    let ledger = try await claimed(id).ledger
    let count = try #require(try await expand(ledger, campaign))
    try await ledger.commit(credit: count)
    return (ledger, try await ledger.targets(from: 0, count: count))
  }

  func expand(_ ledger: SliceLedger, _ campaign: Campaign, departures: Int = 0) async throws -> Int? {
    let filter = Self.filter(of: campaign)
    return try await store.expansion.expand(ledger, of: campaign, filter: filter, departures: departures)?.count
  }
}
