@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Checks of the values in Redis, which are treated like any other input: keys of another type, and values that
/// Carillon did not write.
@Suite(.takesTurns) struct DamageTests {
  /// An active campaign in its only slice. Four of ten targets are granted, one waits and two are answered.
  private struct Scene {
    let store: TestStore
    let ledger: SliceLedger
    let slice = SliceReference(campaign: "a", partition: 0)
    private let server: RedisServer
    private let dump: [(key: String, value: RedisReply)]

    init() async throws {
      // The scene has a server of its own, because the test flushes it repeatedly.
      server = try await RedisServer.start()
      store = try await TestStore(on: .single, partitions: 1, server: server)
      ledger = try await store.sealed("a", count: 10)
      try await ledger.commit(credit: 4)
      try await ledger.commit(.accepted, 0..<2)
      try await ledger.commit([2: .waiting(milliseconds: 1)])
      for worker in ["u", "v", "w"] {
        _ = try await store.store.fleet.heartbeat(worker: worker, timeout: TestStore.timeout)
      }
      _ = try await store.store.campaigns.syncControl(["a"], worker: "w", applied: 1)
      let instance = WorkerInstance(name: "w", nonce: "0")
      _ = try await store.store.fleet.join(instance)
      try await store.lead(as: instance, idleSignalDelay: 1000)
      try await store.store.fleet.write(HousekeepingProgress())
      _ = try await store.store.campaigns.control("a", .pause, reason: "r")
      _ = try await store.store.campaigns.control("a", .resume)
      // The answers belong to the generation that the resume began. Redis ignores those of an earlier generation.
      try await Self.reportToGuard(store.store)
      var dump: [(String, RedisReply)] = []
      for key in try await Self.all(store) {
        let value = try await store.command("DUMP", key)
        // Some keys exist only for a second, and a busy machine takes longer.
        if !value.isNull { dump.append((key, value)) }
      }
      self.dump = dump
    }

    static func reportToGuard(_ store: CampaignStore) async throws {
      _ = try await store.limits.guardTrial(
        "a", app: "news", minimum: 10, lease: 1000, wanted: 5, news: GuardCounts(answers: 2), returned: 0, round: 1)
      _ = try await store.limits.guardWatch("a", minimum: 10, news: GuardCounts(answers: 2), round: 1)
      _ = try await store.campaigns.decline("a", worker: "w", round: 1, timeout: 60_000)
      try await store.campaigns.reportWaiting("a", worker: "w", reason: "r", since: 1)
    }

    static func all(_ store: TestStore) async throws -> [String] {
      try await store.keyNames("{\(store.keys.namespace)*")
    }

    /// Restores the state at the beginning of the scene.
    func restore() async throws {
      var pipeline = RedisPipeline()
      pipeline.append("FLUSHDB")
      for (key, value) in dump { pipeline.append("RESTORE", key, 0, value) }
      for reply in try await store.redis.execute(pipeline) { try reply.get() }
    }

    /// Every hash from which numbers are read, with the fields that it can have.
    var hashes: [(key: String, fields: [String])] {
      let keys = store.keys
      return [
        (keys.slice(0, of: "a"), StoredHash.slice.fields), (keys.campaign("a"), StoredHash.campaign.fields),
        (keys.guardTrial("a"), StoredHash.guardTrial.fields),
        (keys.answers(app: "news"), ["answers", "suspects", "gone"]),
        (keys.guardWatch("a"), ["answers", "suspects", "gone"]),
        (keys.instances, ["w"]), (keys.housekeeping, ["partition", "schedule", "running"]), (keys.waiting("a"), ["w"]),
        (keys.store, ["partitions", "version"]),
      ]
    }

    /// Performs every operation of workers and commands separately. Each succeeds or reports the damage.
    ///
    /// - Returns: the reported errors.
    func doEverything() async throws -> [StoreError] {
      var errors: [StoreError] = []
      func attempt(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as StoreError { errors.append(error) }
      }
      let store = self.store.store
      let other = SliceLedger(store: store, slice: slice, lease: 1000, app: "news")
      try await attempt { _ = try await store.campaigns.all { errors.append($0) } }
      try await attempt { _ = try await store.campaigns.show("a") }
      try await attempt { _ = try await store.campaigns.findWithJob("a") }
      try await attempt { _ = try await store.campaigns.status(of: "a") }
      try await attempt { try await store.results.forEachResult(of: "a") { _ in true } }
      try await attempt { _ = try await store.results.result(of: TestStore.deviceToken(9), "apns", in: "a") }
      try await attempt { _ = try await store.campaigns.isIdle() }
      try await attempt { _ = try await store.campaigns.syncControl(["a"], worker: "w", applied: 1) }
      try await attempt { _ = try await store.campaigns.workersLagging(behind: 1, timeout: 60_000) }
      try await attempt {
        _ = try await store.limits.guardTrial(
          "a", app: "news", minimum: 10, lease: 1000, wanted: 5, news: GuardCounts(answers: 2), returned: 0, round: 1)
      }
      try await attempt {
        _ = try await store.limits.guardWatch("a", minimum: 10, news: GuardCounts(answers: 2), round: 1)
      }
      try await attempt {
        _ = try await store.limits.decideDecline(
          of: "v", from: "a", app: "news", policy: GuardPolicy(minimum: 10), isOpen: false,
          reported: GuardCounts(answers: 1),
          leased: 1, timeout: 60_000, round: 1)
      }
      try await attempt { _ = try await store.campaigns.decline("a", worker: "w", round: 1, timeout: 60_000) }
      try await attempt { try await store.campaigns.reportWaiting("a", worker: "w", reason: "r", since: 1) }
      try await attempt { _ = try await store.fleet.heartbeat(worker: "w", timeout: 1) }
      let instance = WorkerInstance(name: "w", nonce: "0")
      try await attempt {
        _ = try await store.fleet.housekeep(as: instance, timeout: 1, signalInterval: 250, idleSignalDelay: nil)
      }
      try await attempt { _ = try await store.fleet.housekeeper() }
      try await attempt { try await store.fleet.write(HousekeepingProgress()) }
      try await attempt { _ = try await store.fleet.join(instance) }
      try await attempt { _ = try await store.fleet.presences() }
      try await attempt { _ = try await store.slices.mayHaveFailedOver(uptime: 10, timeout: 1000) }
      try await attempt { _ = try await store.slices.takeOver(from: "w") }
      try await attempt { _ = try await store.slices.takeOver(from: "v", isGone: true) }
      try await attempt { _ = try await store.slices.dequeueSlice(worker: "w") }
      try await attempt { try await store.slices.unpark([slice], worker: "w") }
      try await attempt { _ = try await store.queue.promote(["a"]) }
      try await attempt { _ = try await store.queue.repairSchedule(from: 0) }
      try await attempt { _ = try await store.slices.reopenLost().opened }
      try await attempt { _ = try await store.slices.park(slice, for: 0, worker: "w") }
      try await attempt { _ = try await ledger.claim(worker: "w") }
      try await attempt {
        let answer = try await ledger.commit(credit: 3)
        _ = try await ledger.records(from: 0, count: min(answer.granted, 512))
        _ = try await ledger.targets(from: 0, count: 512, of: 10, seal: ledger.claim)
      }
      try await attempt { _ = try await other.claim(worker: "v") }
      try await attempt { _ = try await store.campaigns.control("a", .cancel) }
      try await attempt { _ = try await ledger.close(.cancel) }
      try await attempt {
        _ = try await store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
      }
      try await attempt { try await store.campaigns.end("a") }
      try await attempt { try await store.open(creating: false) }
      return errors
    }
  }

  private static let values = [
    "4294967296", "999999999999", "9223372036854775807", "-9223372036854775808", "1e308", "nan", "", "x", "-1", "inf",
    "0.5",
  ]

  /// The short form tries one value for each field in turn. The long form tries all values.
  @Test func corruptFieldNeverCrashesAWorker() async throws {
    var turn = 0
    let scene = try await Scene()
    expect(try await scene.doEverything().isEmpty)
    // All outcome fields are read in the same way.
    let alike = Set(Outcome.allCases.dropFirst().dropLast().map { String($0.rawValue) })
    for (key, fields) in scene.hashes {
      for field in fields where !alike.contains(field) {
        turn += 1
        for value in TestForm.isLong ? Self.values : [Self.values[turn % Self.values.count]] {
          try await scene.restore()
          try await scene.store.command("HSET", key, field, value)
          for error in try await scene.doEverything() where error.code == .damaged {
            expect(error.message.contains(scene.store.keys.namespace), "\(field) = \(value): \(error)")
          }
        }
      }
    }
  }

  @Test(arguments: [
    ("count", "4294967296"), ("count", "999999999999"), ("count", "9223372036854775807"),
    ("count", "-9223372036854775808"), ("granted", "1e308"), ("granted", "11"), ("granted", "nan"),
    ("doubt", "-1"), ("waiting", "x"), ("phase", "x"), ("16", "1e308"),
  ])
  func corruptFieldOfASliceIsNamed(field: String, value: String) async throws {
    let scene = try await Scene()
    let key = scene.store.keys.slice(0, of: "a")
    try await scene.store.command("HSET", key, field, value)
    try await scene.store.command("HDEL", key, "claim")
    let whole = "the field \(field) of the key \(key) is "
    func expectNamed(_ body: () async throws -> Void) async {
      let error = await #expect(throws: StoreError.self) { try await body() }
      expect(error?.damage, is: .slice(scene.slice))
      expect(error?.message.hasPrefix(whole) == true && error?.message.contains(", expected ") == true)
    }
    // Counters are checked when they are added up.
    if field != "16" { await expectNamed { _ = try await scene.ledger.claim(worker: "w") } }
    if ["count", "granted", "phase"].contains(field) {
      await expectNamed { try await scene.store.store.results.forEachResult(of: "a") { _ in true } }
    }
    await expectNamed { _ = try await scene.store.store.campaigns.show("a") }
  }

  @Test func listOfTargetsThatIsShorterThanTheSliceSaysIsNamed() async throws {
    let scene = try await Scene()
    try await scene.store.command("HSET", scene.store.keys.slice(0, of: "a"), "count", 11)
    let export = await #expect(throws: StoreError.self) {
      try await scene.store.store.results.forEachResult(of: "a") { _ in true }
    }
    expect(export?.damage, is: .slice(scene.slice))
    let load = await #expect(throws: StoreError.self) {
      _ = try await scene.ledger.targets(from: 0, count: 512, of: 11, seal: scene.ledger.claim)
    }
    expect(load?.message.contains("should have 11 targets, but entry 10 is not a target"), is: true)
    // A list that Redis lost is not damage.
    for seal in [[], Array("another".utf8)] {
      let forgotten = await #expect(throws: StoreError.self) {
        _ = try await scene.ledger.targets(from: 0, count: 512, of: 11, seal: seal)
      }
      expect(forgotten?.code, is: .mismatch)
    }
    try await scene.store.command("HSET", scene.store.keys.slice(0, of: "a"), "count", 129)
    let claim = await #expect(throws: StoreError.self) { _ = try await scene.ledger.claim(worker: "w") }
    expect(claim?.message.contains("the field count") == true && claim?.message.hasSuffix("from 0 to 128") == true)
  }

  @Test(arguments: [
    ("slices", "x"), ("finished", "4294967296"), ("ttl", "9223372036854775807"), ("expiration", "999999999999999"),
    ("createdAt", "-9223372036854775808"), ("state", "nan"), ("lane", "x"), ("round", "1e308"), ("16", "-1"),
  ])
  func corruptFieldOfACampaignIsNamedAndOthersAreListed(field: String, value: String) async throws {
    let scene = try await Scene()
    try await scene.store.activate("b")
    let key = scene.store.keys.campaign("a")
    try await scene.store.command("HSET", key, field, value)
    var damage: [StoreError] = []
    expect(try await scene.store.store.campaigns.all { damage.append($0) }.map(\.id), is: ["b"])
    expect(damage.map(\.damage), is: [.campaign("a")])
    expect(damage[0].message.contains("the field \(field) of the key \(key) is "))
  }

  /// Every key of a campaign, as another type.
  @Test func keyOfAnotherTypeIsNamedWithWhatItShouldBe() async throws {
    let scene = try await Scene()
    let prefix = "{\(scene.store.keys.namespace)"
    for key in try await Scene.all(scene.store) where key.hasPrefix(prefix) {
      try await scene.restore()
      let stored = try #require(StoredKey(key, scene.store.keys))
      expect(try await scene.store.command("TYPE", key).string, is: stored.type, "\(key)")
      try await scene.store.command("DEL", key)
      if stored.type == "string" {
        try await scene.store.command("RPUSH", key, "x")
      } else {
        try await scene.store.command("SET", key, "x")
      }
      let errors = try await scene.doEverything()
      for error in errors where error.code == .refused { Issue.record("\(key): \(error)") }
      let found = stored.type == "string" ? "list" : "string"
      if let error = errors.first(where: { $0.code == .damaged }) {
        expect(error.message, is: "the key \(key) has type \(found), expected \(stored.type)")
      }
    }
  }

  // MARK: Isolation

  @Test func isolatedSliceIsOnTheDeadListAndFailsItsCampaign() async throws {
    let store = try await TestStore(on: .cluster, partitions: 2)
    let campaign = try await store.activate("a")
    let slice = SliceReference(campaign: "a", partition: 0)
    try await store.command("SET", store.keys.slice(0, of: "a"), "x")
    for _ in 0..<2 {
      expect(try await store.store.repair.takeOut(slice, reason: "why", hint: "what", worker: "w"), is: nil)
    }
    var dead: [DeadJob] = []
    try await store.store.queue.forEachDeadJob { dead.append($0) }
    expect(dead.map(\.reason), is: ["slice 0:a was isolated: why"])
    expect(dead.map(\.id) == ["a"] && !dead[0].job.isEmpty)
    expect(try await store.workOff(campaign), is: [1])
    let record = try #require(try await store.store.campaigns.show("a"))
    expect(record.state == .failed && record.reason == "slice 0:a was isolated: why")
    expect((record.slices.finished, record.slices.total) == (2, 2))
  }

  /// Two workers, or a worker and its housekeeping, find the damage before either has counted it.
  @Test func damagedSliceFoundTwiceIsOnTheDeadListOnce() async throws {
    let store = try await TestStore(on: .cluster, partitions: 3)
    try await store.activate("a")
    for partition in 0..<2 {
      let slice = SliceReference(campaign: "a", partition: partition)
      for _ in 0..<2 {
        expect(
          try await store.store.repair.putOnDeadList(slice, reason: "why", hint: "what"), "it is still to be counted")
      }
      for _ in 0..<2 { _ = try await store.store.repair.takeOut(slice, reason: "why", hint: "what", worker: "w") }
    }
    var reasons: [String] = []
    try await store.store.queue.forEachDeadJob { reasons.append($0.reason) }
    expect(reasons.sorted(), is: ["slice 0:a was isolated: why", "slice 1:a was isolated: why"])
    expect(try await store.store.campaigns.show("a")?.slices.finished, is: 2)
  }

  @Test func isolatedCampaignIsRenamedAndAllItsKeysExpire() async throws {
    let store = try await TestStore(on: .cluster, partitions: 2)
    try await store.activate("a")
    _ = try await store.claimed("a")
    try await store.command("DEL", store.keys.campaign("a"))
    try await store.command("SET", store.keys.campaign("a"), "x")
    expect(try await store.store.repair.takeOut(campaign: "a", reason: "why", hint: "what"))
    expect(try await !store.store.repair.takeOut(campaign: "a", reason: "why", hint: "what"))
    var dead: [DeadJob] = []
    try await store.store.queue.forEachDeadJob { dead.append($0) }
    expect(dead.map(\.reason), is: ["campaign a was isolated: why"])
    expect(try await store.store.campaigns.show("a") == nil)
    expect(try await store.store.campaigns.all().isEmpty)
    expect(try await store.store.campaigns.isIdle())
    expect(try await store.store.slices.dequeueSlice(worker: "w"), is: nil)
    for key in try await store.keyNames("{\(store.keys.namespace)*:a")
    where key != store.keys.job("a") {
      expect(try #require(try await store.command("TTL", key).integer) > 0, "\(key)")
    }
  }

  @Test func onlyAWorkersStoreIsolatesAListToRebuildIt() async throws {
    let store = try await TestStore(on: .cluster, partitions: 2)
    try await store.activate("a")
    let worker = store.store.fenced()
    worker.admit(try await worker.identify())
    let lane = store.keys.lane("normal")
    for key in [store.keys.open("a"), lane, store.keys.parked] {
      try await store.command("DEL", key)
      try await store.command("SET", key, "x")
    }
    for store in [store.store, store.store, worker] {
      let error = await #expect(throws: StoreError.self) { _ = try await store.slices.dequeueSlice(worker: "w") }
      expect(error?.message, is: "the key \(lane) has type string, expected list")
    }
    expect(try await store.command("TTL", store.keys.isolated(lane)).integer ?? 0 > 0)
    // Each call finds and repairs one list.
    for _ in 0..<2 { _ = try? await worker.slices.reopenLost().opened }
    expect(try await worker.slices.reopenLost().opened, is: 2)
    expect(try await worker.dueTasks("w").due.isEmpty)
    expect(
      try await Set([worker.slices.dequeueSlice(worker: "w"), worker.slices.dequeueSlice(worker: "w")]).count, is: 2)
  }

  // MARK: Lists

  @Test func danglingReferencesAreDroppedInBatches() async throws {
    let server = try await RedisServer.start(.cluster)
    let store = try await TestStore(on: .cluster, partitions: 2, server: server)
    let lane = store.keys.lane("normal")
    for start in stride(from: 0, to: 5000, by: 500) {
      var pipeline = RedisPipeline()
      pipeline.command("RPUSH") { arguments in
        arguments.append(lane)
        for number in start..<(start + 500) { arguments.append("ghost-\(number)") }
      }
      _ = try await store.redis.execute(pipeline)[0].get()
    }
    try await store.activate("a")
    let before = try await calls(store)
    expect(try await store.store.slices.dequeueSlice(worker: "w")?.campaign, is: "a")
    expect(try await store.command("LRANGE", lane, 0, -1).compactMap(\.string), is: ["a"])
    let number = try await calls(store) - before
    expect(number < 100, "not two calls for each of them")
  }

  /// The number of script calls until now.
  private func calls(_ store: TestStore) async throws -> Int {
    let info = RedisServerInfo(parsing: try await store.command("INFO", "commandstats").string ?? "")
    return info.fields["cmdstat_evalsha"]?.split(separator: ",").first.flatMap { Int($0.dropFirst("calls=".count)) }
      ?? 0
  }

  @Test func searchEndsWhenTheCallerStopsIt() async throws {
    let store = try await TestStore(on: .cluster, partitions: 2)
    try await store.command("RPUSH", store.keys.lane("normal"), "ghost")
    try await store.activate("a")
    expect(try await store.store.slices.dequeueSlices(worker: "w", while: { false }).isEmpty)
    expect(try await store.command("LLEN", store.keys.lane("normal")).integer, is: 2)
  }

  @Test func invalidReferenceIsRemovedFromItsList() async throws {
    let store = try await TestStore(on: .cluster, partitions: 2)
    try await store.activate("a")
    let garbage = ["x", "-1", "2", "9223372036854775808", "1e308", "nan", "", "00"]
    for text in garbage {
      try await store.command("LPUSH", store.keys.open("a"), text)
      try await store.command("RPUSH", store.keys.processing(worker: "w"), text + ":a")
      try await store.command("ZADD", store.keys.parked, 1, text + ":a")
    }
    expect(try await store.store.dueTasks("w").due.isEmpty)
    expect(try await store.store.slices.processing(of: "w").isEmpty)
    expect(try await store.command("ZCARD", store.keys.parked).integer, is: 0)
    expect(try await store.command("LLEN", store.keys.processing(worker: "w")).integer, is: 0)
    expect(try await store.store.slices.dequeueSlice(worker: "w")?.partition, is: 0)
    expect(try await store.store.slices.dequeueSlice(worker: "w")?.partition, is: 1)
    expect(try await store.store.slices.dequeueSlice(worker: "w"), is: nil)
  }
}
