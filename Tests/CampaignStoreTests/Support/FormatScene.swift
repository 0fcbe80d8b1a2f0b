@testable import CampaignStore
import APNs
import PushCore
import Redis

/// A store with a value under every key.
struct FormatScene {
  let world: TestStore
  private let ledger: SliceLedger
  /// Values that differ between runs, with their replacements.
  private var names: [String: String] = [:]

  init() async throws {
    world = try await TestStore(on: .single, partitions: 1)
    let slice = SliceReference(campaign: "a", partition: 0)
    ledger = SliceLedger(
      store: world.store, slice: slice, lease: TestStore.timeout, app: "news",
      // Without caps, because the time of a cap would differ between runs.
      rules: GrantRules(app: "news", memory: 3600, badgeStep: 1))
    names[String(decoding: ledger.claim, as: UTF8.self)] = "<claim>"
  }

  /// Runs the scene and returns the contents of the store.
  mutating func play() async throws -> [String] {
    try await registerDevices()
    try await takeInJobs()
    try await answer()
    try await workersTalk()
    return try await StoreDump(world: world, names: names).lines()
  }

  private mutating func registerDevices() async throws {
    let store = world.store
    try await store.registry.register(
      (0..<6).map {
        let attributes = Array(#"{"city":"Paris"}"#.utf8)
        return DeviceRegistration(user: "u\($0)", device: Self.device($0), attributes: $0 == 0 ? attributes : [])
      })
    try await store.audiences.add(["u0", "u1"], to: "vip")
    try await store.registry.save(
      ImportCheckpoint(offset: 100, line: 7, rows: 6, skipped: 1, imported: 4, outdated: 1, evicted: 2), of: "file")
    // A registration that has not ended.
    var moved = Self.device(5)
    moved.registeredAt += 1
    let bound = try await store.registry.bind(
      world.batch([DeviceRegistration(user: "mover", device: moved, attributes: [])]))
    for part in bound.parts { names[StoreDump.plain(part.note)] = "<note>" }
    try await store.registry.apply([RegistrationEvent(.badge(user: "u0", app: "news", value: 7), at: 1)])
    // Records of earlier statements.
    let stranger = try TestStore.deviceToken(9)
    try await store.registry.apply([
      RegistrationEvent(.attributes(user: "u0", ["plan": "gold", "age": nil]), at: 1001),
      RegistrationEvent(.attributes(user: "nobody", ["plan": "gold"]), at: 1001),
      RegistrationEvent(.logout(user: "nobody", stranger, service: "apns"), at: 1002),
      RegistrationEvent(.unregister(stranger, service: "apns"), at: 1003),
      RegistrationEvent(.preference(user: "u2", SuppressionList(app: "news"), isAllowed: false), at: 1004),
    ])
    _ = try await store.erasure.erase("erased", at: 1005)
  }

  /// A token of two bytes is enough.
  private static func device(_ number: Int) -> DeviceRecord {
    var device = DeviceRecord(token: [0xD0, UInt8(number)], service: "apns")
    device.registeredAt = 1000
    device.app = "news"
    return device
  }

  private mutating func takeInJobs() async throws {
    let store = world.store
    try await world.activate(
      "a", audience: #"{"users":[{"user":"u0","vars":{"x":"1"}},"u1","u2","u3","u4","u5"]}"#,
      #","localized":{"de":{"apns":{"payload":{"aps":{"alert":"{{x}}"}}}}}"#)
    let tomorrow = Timestamp.format(milliseconds: try await store.time() / 1000 + 86_400_000)
    try await world.activate("later", #","sendAt":"\#(tomorrow)""#)
    let digest = try await world.command("GETRANGE", world.keys.job("later"), 0, 39).string ?? ""
    names.merge([tomorrow: "<tomorrow>", digest: "<digest>"]) { $1 }
    try await world.activate("paused", audience: #"{"tokens":["d000"]}"#)
    try await store.campaigns.control("paused", .pause, reason: "why not")
    _ = try await store.campaigns.put(
      JobTemplate.content(Array(#"{"apns":{"payload":{"aps":{}}}}"#.utf8), for: [APNsService()]), asTemplate: "welcome")
    let job = TestStore.job("new", audience: #"{"segment":"vip"}"#)
    _ = try await store.queue.submit(job, as: CampaignJob.parse(job, .any([APNsService()])))
    try await store.queue.deadLetter(Array("{}".utf8), reason: "id: is missing", hint: "give one", worker: "w")
  }

  private func answer() async throws {
    let store = world.store
    _ = try await store.slices.dequeueSlice(worker: "w")
    _ = try await ledger.claim(worker: "w")
    let users = (0..<6).map { "u\($0)" }
    // The order must not depend on the order of a set.
    var targets = SealedTargets()
    for (number, user) in users.enumerated() {
      ([0xD0, UInt8(number)] as [UInt8]).withUnsafeBytes { token in
        Array(user.utf8).withUnsafeBytes { TargetPage.write(token: token, user: $0, to: &targets.bytes) }
      }
    }
    targets.count = users.count
    targets.ends = [targets.bytes.count]
    _ = try await store.expansion.restore(targets, of: ledger)
    try await ledger.commit(credit: 6)
    let chunk = try await ledger.targets(from: 0, count: 6)
    var batch = OutcomeBatch()
    batch.append(.terminal(.accepted), at: 0, token: chunk.token(0))
    batch.append(.unregistered, chunk, 1, .prune, reason: "Unregistered")
    batch.append(.badToken, chunk, 2, .quarantine, reason: "BadDeviceToken")
    batch.append(.rejected, chunk, 3, reason: "NobodyKnows")
    batch.append(.waiting(milliseconds: 3_600_000), at: 4)
    _ = try await ledger.commit(&batch, credit: 0)
    try await store.results.apply([ReceiptEvent(.opened, campaign: "a", user: "u0")])
  }

  private func workersTalk() async throws {
    let store = world.store
    _ = try await store.fleet.heartbeat(worker: "w", timeout: 1000)
    let instance = WorkerInstance(name: "w", nonce: "00000000000000aa")
    _ = try await store.fleet.join(instance)
    try await store.fleet.write(HousekeepingProgress())
    _ = try await store.campaigns.syncControl(["a"], worker: "w", applied: 1)
    _ = try await store.limits.guardTrial(
      "a", app: "news", minimum: 10, lease: 1000, wanted: 5, news: GuardCounts(answers: 3, suspects: 1, gone: 1),
      returned: 0, round: 0)
    try await store.slices.recordFailover(for: TestStore.timeout)
    try await world.reportWaiting("a", worker: "w", reason: "out of reach", since: 7)
    _ = try await store.slices.park(SliceReference(campaign: "paused", partition: 0), for: 1000, worker: "w")
    try await store.results.appendFeedback([
      store.results.feedback(
        user: "u9", token: .init([0xD0, 9], "apns"), app: "news", reason: "Unregistered", at: 1_796_115_600_007)
    ])
  }
}
