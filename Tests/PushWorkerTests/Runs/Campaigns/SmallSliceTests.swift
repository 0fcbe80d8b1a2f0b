import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Campaigns in which most slices have one or two targets, so that workers process slices in batches.
@Suite(.takesTurns) struct SmallSliceTests {
  private static let partitions = 400
  private static let users = 600

  private func rig(_ engine: PushEngineKind, server: RedisServer? = nil) async throws -> WorkerRig {
    let rig = try await WorkerRig(engine: engine, partitions: Self.partitions, server: server)
    try await rig.register(Self.users) {
      $0 % 20 == 3 ? .unregistered : $0 % 100 == 7 ? .bad : .registered
    }
    return rig
  }

  private func expectEnd(_ rig: WorkerRig, _ id: String, _ log: EventLog) async throws {
    let record = try #require(try await rig.store.campaigns.show(id))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.targets, is: Self.users)
    expect(record.counters.outcomes, is: [.accepted: 564, .unregistered: 30, .badToken: 6], "\(log.all)")
    expect(record.counters.pruned == 30 && record.counters.quarantined == 6 && record.pending == 0)
    expect(try await rig.results(id).count, is: Self.users)
  }

  @Test(arguments: PushEngineKind.one(for: "eachTargetIsSentOnceByTwoWorkers"))
  func eachTargetIsSentOnceByTwoWorkers(engine: PushEngineKind) async throws {
    let rig = try await rig(engine)
    try await rig.submit("small")
    let log = EventLog()
    async let other: Void = rig.worker("w2", guard: GuardPolicy(threshold: 0.5), log: log).run()
    try await rig.worker("w1", guard: GuardPolicy(threshold: 0.5), log: log).run()
    try await other
    try await expectEnd(rig, "small", log)
    let counters = await rig.simulator.counters()
    expect(counters.accepted == 564 && counters.duplicatesReceived == 0)
  }

  /// Each partition with a member of `some` gets a slice. Many of these slices have no target.
  @Test(arguments: PushEngineKind.one(for: "slicesWithoutTargetsEndWithTheOthers"))
  func slicesWithoutTargetsEndWithTheOthers(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: Self.partitions, users: Self.users)
    try await rig.store.audiences.add((0..<Self.users).map { "u\($0)" }, to: "some")
    try await rig.store.audiences.add((200..<Self.users).map { "u\($0)" }, to: "left")
    try await rig.submit("small", audience: #"{"segment":"some & !left"}"#)
    let log = EventLog()
    try await rig.worker("w1", log: log).run()
    let record = try #require(try await rig.store.campaigns.show("small"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 200], "\(log.all)")
    expect(record.counters.targets == 200 && record.slices.total > 200)
    expect(await rig.simulator.counters().accepted, is: 200)
  }

  /// A round trip for each step of each slice would need about ten times as many.
  @Test func roundTripsAreSharedByABatch() async throws {
    let server = try await RedisServer.start(.single)
    let rig = try await rig(.native, server: server)
    try await rig.submit("small")
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    let before = try await Self.reads(client)
    let log = EventLog()
    try await rig.worker("w1", window: 1000, guard: GuardPolicy(threshold: 0.5), log: log).run()
    try await expectEnd(rig, "small", log)
    let reads = try await Self.reads(client) - before
    expect(reads < 2 * Self.partitions, "\(reads) reads from sockets")
    await client.close()
    await server.stop()
  }

  /// Returns how often Redis has read from its clients.
  private static func reads(_ client: RedisClient) async throws -> Int {
    try await client.serverInfo(section: "stats").fields["total_reads_processed"].flatMap { Int($0) } ?? 0
  }

  /// Each target is refused once with 500, so each slice waits for a retry.
  @Test(arguments: PushEngineKind.one(for: "waitingSlicesLeaveTheirBatchAndEnd"))
  func waitingSlicesLeaveTheirBatchAndEnd(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: Self.partitions, users: Self.users)
    await rig.simulator.change { $0.failures = [.init(share: 0.3, status: 500, reason: "InternalServerError")] }
    try await rig.submit("small")
    let log = EventLog()
    var retry = RetryPolicy()
    (retry.firstServerError, retry.serverError, retry.attempts) = (300, 300, 50)
    try await rig.worker("w1", retry: retry, log: log).run()
    let record = try #require(try await rig.store.campaigns.show("small"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: Self.users], "\(log.all)")
    expect(log.all.contains { $0.hasPrefix("parked") }, "the fault has fired")
    expect(await rig.simulator.counters().accepted, is: Self.users)
  }

  /// The connections to Redis break repeatedly.
  @Test func brokenConnectionsToRedisLoseNothing() async throws {
    let server = try await RedisServer.start(.single)
    let rig = try await rig(.native, server: server)
    await rig.simulator.change { $0.latencyMilliseconds = 20 }
    try await rig.submit("small", #","ambiguity":"skip""#)
    let log = EventLog()
    async let running: Void = rig.worker("w1", guard: GuardPolicy(threshold: 0.5), log: log).run()
    for share in [0, 1, 2, 3] {
      try await rig.until { await rig.simulator.counters().accepted > share * 100 }
      _ = try await server.command("client", "kill", "type", "normal")
    }
    try await running
    expect(log.all.contains { $0.hasPrefix("reconnected") }, "the fault has fired")
    try await expectEnd(rig, "small", log)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    await server.stop()
  }

  @Test(arguments: PushEngineKind.one(for: "pauseAndCancelReachBatches"))
  func pauseAndCancelReachBatches(engine: PushEngineKind) async throws {
    let rig = try await rig(engine)
    await rig.simulator.change { $0.latencyMilliseconds = 50 }
    try await rig.submit("small")
    let log = EventLog()
    async let running: Void = rig.worker("w1", window: 50, guard: GuardPolicy(threshold: 0.5), log: log).run()
    try await rig.until { await rig.simulator.counters().accepted > 50 }
    try await rig.store.campaigns.control("small", .pause)
    try await rig.until { try await rig.store.slices.processing(of: "w1").isEmpty }
    let paused = try #require(try await rig.store.campaigns.show("small"))
    expect(paused.state == .paused && paused.counters.inDoubt == 0, "\(log.all)")
    try await rig.store.campaigns.control("small", .resume)
    try await rig.until { await rig.simulator.counters().accepted > 150 }
    try await rig.store.campaigns.control("small", .cancel)
    try await running
    let record = try #require(try await rig.store.campaigns.show("small"))
    expect(record.state, is: .cancelled)
    expect(record.counters.outcomes.values.reduce(0, +), is: record.counters.targets, "\(log.all)")
    let accepted = await rig.simulator.counters().accepted
    expect(record.counters.outcomes[.accepted], is: accepted)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
  }
}
