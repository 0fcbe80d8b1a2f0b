import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import FaultKit
import Glibc
import PushCore
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Redis rejects commands or goes away while pushes are answered. No worker dies, so no target is in doubt.
@Suite(.takesTurns) struct RedisTroubleTests {
  private func run(
    _ engine: PushEngineKind, _ fields: String, partitions: Int = 4,
    arguments: [String] = ["--appendonly", "yes", "--appendfsync", "always"],
    trouble: (RedisServer, EventLog, WorkerRig) async throws -> Void
  ) async throws {
    let server = try await RedisServer.start(.single, arguments: arguments)
    let rig = try await WorkerRig(engine: engine, partitions: partitions, server: server, users: 3000)
    await rig.simulator.change { $0.latencyMilliseconds = 50 }
    try await rig.submit("trouble", fields)
    let log = EventLog()
    async let running: Void = rig.worker("w", window: 300, log: log).run()
    try await rig.until { await rig.simulator.counters().accepted >= 600 }
    try await trouble(server, log, rig)
    try await running
    let record = try #require(try await rig.store.campaigns.show("trouble"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 3000], "\(log.all)")
    expect(record.counters.resent, is: 0)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    await server.stop()
  }

  @Test(arguments: [(PushEngineKind.curl, ""), (.native, #","ambiguity":"skip""#)])
  func answersThatRedisRejectsAreKept(engine: PushEngineKind, fields: String) async throws {
    try await run(engine, fields) { server, log, rig in
      _ = try await server.command("config", "set", "min-replicas-to-write", "1")
      // The fault has fired twice. An error is logged at most once a second, so answers have accumulated in between.
      try await rig.until { log.all.count { $0.contains("slice ") } >= 2 }
      _ = try await server.command("config", "set", "min-replicas-to-write", "0")
    }
  }

  @Test(arguments: PushEngineKind.one(for: "sealedSlicesAreFinishedWithFullMemory"))
  func sealedSlicesAreFinishedWithFullMemory(engine: PushEngineKind) async throws {
    try await run(engine, "", partitions: 1) { server, _, rig in
      _ = try await server.command("config", "set", "maxmemory", "1mb")
      // The fault has fired: Redis rejects commands that are not exempt from the limit.
      await #expect(throws: RedisServerError.self) {
        _ = try await RedisClient(url: rig.url).command("SET", "x", "y").get()
      }
    }
  }

  @Test(arguments: PushEngineKind.one(for: "answersDuringARedisOutageAreKept"))
  func answersDuringARedisOutageAreKept(engine: PushEngineKind) async throws {
    try await run(engine, "") { server, _, rig in
      // At most 300 pushes are in flight, and they are answered within 50 ms, while Redis is down.
      await server.stop()
      await #expect(throws: RedisError.self) {
        _ = try await RedisClient(url: rig.url).connect(waitTimeout: .milliseconds(1))
      }
      try await server.restart()
    }
  }

  /// A failover behind one name. The old primary stays up as a replica that takes no writes.
  @Test(arguments: PushEngineKind.one(for: "failoverToANewPrimaryLosesAndRepeatsNothing"))
  func failoverToANewPrimaryLosesAndRepeatsNothing(engine: PushEngineKind) async throws {
    let old = try await RedisServer.start()
    let new = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(old.port)])
    let proxy = try await TCPProxy.start(to: old.port)
    let rig = try await WorkerRig(engine: engine, partitions: 4, server: old, users: 3000)
    await rig.simulator.change { $0.latencyMilliseconds = 50 }
    try await rig.submit("moves")
    try await rig.until { try await new.command("info", "replication").contains("master_link_status:up") }
    let log = EventLog()
    let url = try RedisURL("redis://127.0.0.1:\(proxy.port)")
    async let running: Void = rig.worker("w", window: 300, redis: url, log: log).run()
    try await rig.until { await rig.simulator.counters().accepted >= 600 }
    try await old.command("failover", "to", "127.0.0.1", String(new.port))
    try await rig.until { try await old.command("info", "replication").contains("role:slave") }
    try await proxy.retarget(to: new.port)
    try await running
    let record = try #require(try await rig.client(url).campaigns.show("moves"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 3000], "\(log.all)")
    expect(record.counters.resent, is: 0)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    await proxy.stop()
    await new.stop()
    await old.stop()
  }

  @Test(arguments: PushEngineKind.one(for: "jobsStayInTheQueueWhileRedisIsNearlyFull"))
  func jobsStayInTheQueueWhileRedisIsNearlyFull(engine: PushEngineKind) async throws {
    let server = try await RedisServer.start()
    let rig = try await WorkerRig(engine: engine, partitions: 4, server: server, users: 10)
    try await rig.submit("waits")
    let info = RedisServerInfo(parsing: try await server.command("info", "memory"))
    let limit = try #require(info.usedMemory) * 100 / 93
    _ = try await server.command("config", "set", "maxmemory", String(limit))
    let log = EventLog()
    let worker = rig.worker("w", log: log)
    async let running: Void = worker.run()
    try await rig.until { log.all.contains { $0.contains("jobs stay in the queue") } }
    expect(try await rig.store.campaigns.find("waits") == nil)
    expect(try await server.command("llen", rig.keys.campaigns), is: "1")
    _ = try await server.command("config", "set", "maxmemory", "0")
    // The job was not lost, because the worker ends only after it has taken in and run the job.
    try await running
    expect(try await rig.store.campaigns.find("waits")?.counters.outcomes, is: [.accepted: 10])
    expect(log.all.count { $0.contains("jobs stay in the queue") }, is: 1)
    await server.stop()
  }

  @Test(arguments: [(PushEngineKind.native, ""), (.curl, #","ambiguity":"skip""#)])
  func lostWritesAreReplayedAndNothingIsSentTwice(engine: PushEngineKind, fields: String) async throws {
    // Redis comes back in the state of its last save, some hundred answers ago.
    try await run(engine, fields, arguments: ["--appendonly", "no", "--save", ""]) { server, log, rig in
      _ = try await server.command("save")
      let saved = await rig.simulator.counters().accepted
      try await rig.until { await rig.simulator.counters().accepted >= saved + 600 }
      await server.kill(SIGKILL)
      try await server.restart()
      try await rig.until { log.all.contains { $0.contains("serverChanged") } }
    }
  }

  /// The connection to Redis is so slow that the grace period ends long before the replay.
  @Test(arguments: PushEngineKind.one(for: "slowReplayEndsBeforeAnotherWorkerTakesOver"))
  func slowReplayEndsBeforeAnotherWorkerTakesOver(engine: PushEngineKind) async throws {
    let server = try await RedisServer.start(.single, arguments: ["--appendonly", "no", "--save", ""])
    let proxy = try await TCPProxy.start(to: server.port)
    let rig = try await WorkerRig(engine: engine, partitions: 64, server: server, users: 120)
    try await rig.submit("slow")
    _ = try await server.command("save")
    let log = EventLog()
    let url = try RedisURL("redis://127.0.0.1:\(proxy.port)")
    let worker = rig.worker("w", drains: false, redis: url, log: log)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted == 120 }
    await server.kill(SIGKILL)
    await proxy.setDelay(milliseconds: 150)
    try await server.restart()
    // The connection stays slow until the worker has claimed or closed a slice after the failover. The rest of the test
    // has a fast one.
    try await rig.until {
      log.all.drop { $0 != "serverChanged" }.contains { $0.hasPrefix("claimed") || $0.hasPrefix("closed") }
    }
    await proxy.setDelay(milliseconds: 0)
    try await rig.until { try await rig.store.campaigns.show("slow")?.times.finishedAt != nil }
    await worker.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("slow"))
    expect(log.all.contains { $0.contains("serverChanged") })
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 120], "\(log.all)")
    expect(await rig.simulator.counters().duplicatesReceived, is: 0, "\(log.all) \(record.counters)")
    await proxy.stop()
    await server.stop()
  }

  /// A scheduled campaign has slices in the partitions with users at its start. Redis loses the start and the users who
  /// joined last. The campaign begins again immediately, or some seconds later if the schedule has to be repaired
  /// first.
  @Test(arguments: zip(PushEngineKind.allCases, [true, false]))
  func lostBeginningIsRepeatedAndKeepsEveryRecipient(
    engine: PushEngineKind, isDue: Bool
  ) async throws {
    let server = try await RedisServer.start(.single, arguments: ["--appendonly", "no", "--save", ""])
    let rig = try await WorkerRig(engine: engine, partitions: 64, server: server, users: 1)
    let later = try await rig.store.time() / 1000 + 3_600_000
    let sendAt = Timestamp.format(milliseconds: later)
    let job = Array(
      #"{"id":"later","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}},"sendAt":"\#(sendAt)"}"#
        .utf8)
    _ = try await rig.store.queue.activate(CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "-")
    try await rig.command("HSET", "campaign:later", "sendAt", "1")
    try await rig.command("ZADD", "schedule", isDue ? "1" : String(later), "later")
    _ = try await server.command("save")
    try await rig.register(40)
    expect(try await rig.store.queue.promote(["later"]), is: ["later"])
    _ = try await rig.store.audiences.fixPartitions(of: CampaignJob.parse(job, .any([APNsService()])))
    expect(try #require(try await rig.store.campaigns.find("later")).slices.total < 64)
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted == 40 }
    await server.kill(SIGKILL)
    try await server.restart()
    try await rig.until { log.all.contains { $0.contains("serverChanged") } }
    try await rig.until { try await rig.store.campaigns.find("later")?.state == .completed }
    await worker.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("later"))
    expect(record.counters.outcomes, is: [.accepted: 40], "\(log.all)")
    expect(try await rig.results("later").count, is: 40)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    await server.stop()
  }
}
