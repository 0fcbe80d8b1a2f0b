import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestSupport
import Testing

/// Scheduled campaigns, with workers that wait for their start.
@Suite struct ScheduleTests {
  private func sendAt(_ rig: WorkerRig, in milliseconds: Int) async throws -> (instant: Int, field: String) {
    let instant = try await rig.store.time() / 1000 + milliseconds
    return (instant, #","sendAt":"\#(Timestamp.format(milliseconds: instant))""#)
  }

  @Test(arguments: PushEngineKind.one(for: "eightWorkersBeginACampaignOnceAndNotEarly"))
  func eightWorkersBeginACampaignOnceAndNotEarly(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 16, users: 400)
    let (instant, field) = try await sendAt(rig, in: 6000)
    try await rig.submit("later", field)
    let log = EventLog()
    let workers = (0..<8).map { rig.worker("w\($0)", window: 20, drains: false, log: log) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.until { try await rig.store.campaigns.find("later")?.state == .scheduled }
      try await rig.until { try await rig.store.campaigns.find("later")?.state == .completed }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("later"))
    #expect(record.counters.outcomes == [.accepted: 400])
    #expect(try #require(record.times.startedAt) >= instant)
    #expect(log.all.count { $0.contains("campaignStarted") } == 1, "\(log.all)")
    #expect(await rig.simulator.counters().received == 400)
  }

  @Test(arguments: PushEngineKind.one(for: "userInAPartitionThatWasEmptyAtSubmissionIsReached"))
  func userInAPartitionThatWasEmptyAtSubmissionIsReached(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 64, users: 1)
    try await rig.submit("later", try await sendAt(rig, in: 3_600_000).field)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("later")?.state == .scheduled }
    // A worker that can't yet exclude lost writes excludes no partition. The first campaign gives the worker the time
    // to check its servers.
    try await rig.submit("first", audience: #"{"users":["u0"]}"#)
    try await rig.until { try await rig.store.campaigns.find("first")?.state == .completed }
    try await rig.register(20)
    try await rig.command("HSET", "campaign:later", "sendAt", "1")
    try await rig.command("ZADD", "schedule", "1", "later")
    try await rig.until { try await rig.store.campaigns.find("later")?.state == .completed }
    await worker.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("later"))
    #expect(record.counters.outcomes == [.accepted: 20])
    #expect(record.slices.total == Set((0..<20).map { Partition.of(user: "u\($0)", count: 64) }).count)
    #expect(try await rig.results("later").count == 20)
  }

  @Test(arguments: PushEngineKind.one(for: "drainingWorkerLeavesScheduledCampaignsAlone"))
  func drainingWorkerLeavesScheduledCampaignsAlone(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 10)
    try await rig.submit("later", try await sendAt(rig, in: 3_600_000).field)
    try await rig.submit("now")
    try await rig.worker("w").run()
    #expect(try await rig.store.campaigns.find("later")?.state == .scheduled)
    #expect(try await rig.store.campaigns.find("now")?.counters.outcomes == [.accepted: 10])
  }

  @Test(arguments: PushEngineKind.one(for: "campaignCancelledBeforeItsTimeSendsNothing"))
  func campaignCancelledBeforeItsTimeSendsNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 10)
    let (instant, field) = try await sendAt(rig, in: 6000)
    try await rig.submit("never", field)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("never")?.state == .scheduled }
    #expect(try await rig.store.campaigns.control("never", .cancel) == .cancelled)
    // A campaign after that time shows that the worker has checked the schedule since.
    try await rig.until { try await rig.store.time() / 1000 > instant }
    try await rig.submit("after", audience: #"{"users":["u0"]}"#)
    try await rig.until { try await rig.store.campaigns.find("after")?.state == .completed }
    await worker.stop()
    try await running
    #expect(try await rig.store.campaigns.find("never")?.counters == SliceCounters())
    #expect(await rig.simulator.counters().received == 1)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignThatTheScheduleLostIsFound"))
  func campaignThatTheScheduleLostIsFound(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 10)
    let (_, field) = try await sendAt(rig, in: 3_600_000)
    try await rig.submit("lost", field)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("lost")?.state == .scheduled }
    try await rig.command("DEL", "schedule")
    try await rig.command("HSET", "campaign:lost", "sendAt", "1")
    try await rig.until { try await rig.store.campaigns.find("lost")?.state == .completed }
    await worker.stop()
    try await running
    #expect(await rig.simulator.counters().received == 10)
  }
}
