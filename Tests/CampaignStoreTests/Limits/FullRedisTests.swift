@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// A Redis with little memory left, with none, or in a state in which it rejects writes.
struct FullRedisTests {
  private struct World {
    let server: RedisServer
    let client: RedisClient
    let store: CampaignStore
    let job: [UInt8]
    let campaign: Campaign

    init(_ arguments: [String] = []) async throws {
      server = try await RedisServer.start(arguments: arguments)
      client = try Backend.connect(to: server)
      store = CampaignStore(
        redis: client, keys: try #require(Keyspace(namespace: "full", partitions: 4)), services: TestStore.services)
      try await store.open(creating: true)
      job = TestStore.job("a", audience: #"{"segment":"*"}"#)
      campaign = try CampaignJob.parse(job, .any([APNsService()]))
    }

    func limit(_ bytes: Int) async throws {
      try await server.command("config", "set", "maxmemory", String(bytes))
    }

    func end() async {
      await client.close()
      await server.stop()
    }
  }

  @Test func markIsNineTenthsOfTheLimit() {
    expect(MemoryUse(used: 1 << 30, limit: 0).problem == nil)
    expect(MemoryUse(used: 900 << 20, limit: 1000 << 20).problem == nil)
    let problem = MemoryUse(used: 950 << 20, limit: 1000 << 20).problem
    expect(problem?.code, is: .full)
    expect(problem?.message, is: "Redis uses 950 of its 1000 MiB (95 %): above 90 % no new campaign starts")
    let info = RedisServerInfo(parsing: "used_memory:100\r\nmem_not_counted_for_evict:30\r\nmaxmemory:77\r\n")
    expect(MemoryUse(info), is: MemoryUse(used: 70, limit: 77))
  }

  @Test func jobIsRefusedBeforeMemoryRunsOut() async throws {
    let world = try await World()
    let used = try #require(try await world.client.serverInfo(section: "memory").usedMemory)
    // There is enough memory for the job itself, and everything else works.
    try await world.limit(used * 100 / 93)
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.submit(world.job, as: world.campaign)
    }
    expect(error?.code, is: .full)
    try await world.limit(0)
    expect(try await world.store.queue.submit(world.job, as: world.campaign), is: .new)
    await world.end()
  }

  @Test func campaignIsRefusedThatWouldFillRedis() async throws {
    let world = try await World()
    let registrations = (0..<4000).map {
      DeviceRegistration(user: "u\($0 / 2)", device: TestStore.device($0))
    }
    try await world.store.registry.register(registrations)
    let estimate = try await world.store.limits.estimate(of: world.campaign)
    // Each user has two devices, and the estimate reads every partition.
    expect(estimate.targets, is: 4000)
    expect(estimate.bytes > 4000 * 80)
    let used = try #require(try await world.client.serverInfo(section: "memory").usedMemory)
    func submit(room: Int) async throws {
      try await world.limit((used + room) * 100 / 90)
      _ = try await world.store.queue.submit(world.job, as: world.campaign)
    }
    let error = await #expect(throws: StoreError.self) { try await submit(room: estimate.bytes / 2) }
    expect(error?.code, is: .full)
    expect(error?.message.hasPrefix("memory: the campaign needs about "), is: true, "\(error?.message ?? "")")
    // The job was refused only because of its size.
    let small = TestStore.job("b", audience: #"{"users":["u1"]}"#)
    expect(
      try await world.store.queue.submit(small, as: CampaignJob.parse(small, .any([APNsService()]))), is: .new)
    try await submit(room: 10 * estimate.bytes)
    await world.end()
  }

  @Test(arguments: [("*", 600), ("a", 300), ("!a", 600), ("a & b", 20), ("a & !b", 300), ("a | b", 320)])
  func estimateIsRoughlyRight(expression: String, expected: Int) async throws {
    let world = try await TestStore(on: .cluster, partitions: 200, users: 0..<600)
    try await world.store.audiences.add((0..<300).map { "u\($0)" }, to: "a")
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "b")
    let job = TestStore.job("c", audience: #"{"segment":"\#(expression)"}"#)
    let estimate = try await world.store.limits.estimate(of: CampaignJob.parse(job, .any([APNsService()])))
    // The estimate read 64 of 200 partitions.
    expect((expected * 6 / 10...expected * 15 / 10).contains(estimate.targets), "\(estimate)")
  }

  @Test func essentialCallsWorkInAFullRedis() async throws {
    let world = try await World()
    let store = world.store
    let client = world.client
    for id in ["now", "later"] {
      let more = id == "later" ? #","sendAt":"2020-01-01T00:00:00Z""# : ""
      let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
      expect(
        try await store.queue.activate(CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "w"), is: .new)
    }
    _ = try await client.command("HSET", store.keys.campaign("later"), "state", "scheduled").get()
    _ = try await client.command("LPUSH", store.keys.intake(worker: "dead"), world.job).get()
    try await world.limit(100_000)
    // The fault has fired.
    expect(try await client.command("SET", "x", "y").error?.code, is: .outOfMemory)

    expect(try await store.queue.promote(["later"]), is: ["later"])
    expect(try await store.fleet.heartbeat(worker: "w", timeout: 1000).now > 0)
    expect(try await store.campaigns.control("now", .pause), is: .paused)
    expect(try await store.campaigns.syncControl(["now"], worker: "w", applied: 1).states, is: [.paused])
    expect(try await store.campaigns.workersLagging(behind: 1, timeout: TestStore.timeout), is: [])
    expect(try await store.campaigns.control("now", .cancel), is: .cancelled)
    try await store.queue.deadLetter(Array("broken".utf8), reason: "r", hint: "", worker: "w")
    try await store.fleet.removeWorker("dead")
    expect(try await client.command("LLEN", store.keys.campaigns).get().integer, is: 1)
    await world.end()
  }

  @Test func redisThatFailsToPersistIsSaidToBe() async throws {
    let world = try await World(["--save", "3600 1000000"])
    // A directory has the name of the snapshot file.
    try FileManager.default.createDirectory(
      atPath: world.server.folder.path("dump.rdb"), withIntermediateDirectories: false)
    _ = try? await world.server.command("bgsave")
    try await poll(until: "the snapshot has failed") {
      try await world.server.command("info", "persistence").contains("rdb_last_bgsave_status:err")
    }
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.submit(world.job, as: world.campaign)
    }
    expect(error?.code, is: .readOnly)
    expect(error?.message, is: "Redis can't save its data and refuses writes")
    expect(error?.hint.contains("disk"), is: true)
    // The server can't shut down cleanly, because it has unsaved writes.
    await world.server.kill(SIGKILL)
    await world.client.close()
  }

  @Test func redisThatHasBecomeAReplicaIsReported() async throws {
    let world = try await World()
    try await world.server.command("replicaof", "127.0.0.1", "1")
    let error = await #expect(throws: StoreError.self) {
      try await world.store.queue.submit(world.job, as: world.campaign)
    }
    expect(error?.code, is: .readOnly)
    expect(error?.hint.contains("redis.url"), is: true)
    await world.end()
  }

  @Test(arguments: [
    ("OOM command not allowed when used memory > 'maxmemory'.", "out of memory"),
    ("MISCONF Redis is configured to save RDB snapshots, but ...", "can't save its data"),
    ("READONLY You can't write against a read only replica.", "read-only replica"),
    (
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
      "without a connection to its primary"
    ),
    ("LOADING Redis is loading the dataset in memory", "loading its data"),
    ("BUSY Redis is busy running a script.", "a script blocks Redis"),
    // Redis 6: the error of a command in a script.
    (
      "ERR Error running script (call to f_a1): @user_script:7: @user_script: 7: -OOM command not allowed when used",
      "out of memory"
    ),
  ])
  func serverErrorsAreReportedWithAHint(line: String, says: String) {
    let error = StoreError(RedisServerError(line: line))
    expect(error.code, is: .readOnly)
    expect(error.message.contains(says), "\(error)")
    expect(!error.hint.isEmpty)
  }
}
