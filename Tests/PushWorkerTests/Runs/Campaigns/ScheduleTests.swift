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

/// Scheduled campaigns, with workers that wait for their start.
@Suite struct ScheduleTests {
  /// Submits a campaign that begins in an hour.
  private func submit(_ id: String, on rig: WorkerRig) async throws {
    let instant = try await rig.store.time() / 1000 + 3_600_000
    try await rig.submit(id, #","sendAt":"\#(Timestamp.format(milliseconds: instant))""#)
  }

  @Test(arguments: PushEngineKind.one(for: "eightWorkersBeginACampaignOnceAndNotEarly"))
  func eightWorkersBeginACampaignOnceAndNotEarly(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 16, users: 400)
    try await submit("later", on: rig)
    let log = EventLog()
    let workers = (0..<8).map { rig.worker("w\($0)", window: 20, drains: false, log: log) }
    var start = 0
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.until { try await rig.store.campaigns.find("later")?.state == .scheduled }
      start = try await rig.store.time() / 1000 + 2000
      try await rig.reschedule("later", to: start)
      try await rig.until { try await rig.store.campaigns.find("later")?.state == .completed }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("later"))
    expect(record.counters.outcomes, is: [.accepted: 400])
    expect(try #require(record.times.startedAt) >= start)
    expect(log.all.count { $0.contains("campaignStarted") }, is: 1, "\(log.all)")
    expect(await rig.simulator.counters().received, is: 400)
  }

  @Test(arguments: PushEngineKind.one(for: "userInAPartitionThatWasEmptyAtSubmissionIsReached"))
  func userInAPartitionThatWasEmptyAtSubmissionIsReached(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 64, users: 1)
    try await submit("later", on: rig)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("later")?.state == .scheduled }
    // A worker that can't yet exclude lost writes excludes no partition. The first campaign gives the worker the time
    // to check its servers.
    try await rig.submit("first", audience: #"{"users":["u0"]}"#)
    try await rig.until { try await rig.store.campaigns.find("first")?.state == .completed }
    try await rig.register(20)
    try await rig.reschedule("later", to: 1)
    try await rig.until { try await rig.store.campaigns.find("later")?.state == .completed }
    await worker.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("later"))
    expect(record.counters.outcomes, is: [.accepted: 20])
    expect(record.slices.total, is: Set((0..<20).map { Partition.of(user: "u\($0)", count: 64) }).count)
    expect(try await rig.results("later").count, is: 20)
  }

  @Test(arguments: PushEngineKind.one(for: "drainingWorkerLeavesScheduledCampaignsAlone"))
  func drainingWorkerLeavesScheduledCampaignsAlone(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 10)
    try await submit("later", on: rig)
    try await rig.submit("now")
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.find("later")?.state, is: .scheduled)
    expect(try await rig.store.campaigns.find("now")?.counters.outcomes, is: [.accepted: 10])
  }

  @Test(arguments: PushEngineKind.one(for: "campaignCancelledBeforeItsTimeSendsNothing"))
  func campaignCancelledBeforeItsTimeSendsNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 10)
    try await submit("never", on: rig)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("never")?.state == .scheduled }
    expect(try await rig.store.campaigns.control("never", .cancel), is: .cancelled)
    // Even an entry that stayed in the schedule begins nothing. The worker removes it.
    try await rig.command("ZADD", "schedule", "1", "never")
    try await rig.until { try await rig.command("ZSCORE", "schedule", "never").isNull }
    try await rig.submit("after", audience: #"{"users":["u0"]}"#)
    try await rig.until { try await rig.store.campaigns.find("after")?.state == .completed }
    await worker.stop()
    try await running
    expect(try await rig.store.campaigns.find("never")?.counters, is: SliceCounters())
    expect(await rig.simulator.counters().received, is: 1)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignThatTheScheduleLostIsFound"))
  func campaignThatTheScheduleLostIsFound(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 10)
    try await submit("lost", on: rig)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("lost")?.state == .scheduled }
    try await rig.command("DEL", "schedule")
    try await rig.command("HSET", "campaign:lost", "sendAt", "1")
    try await rig.until { try await rig.store.campaigns.find("lost")?.state == .completed }
    await worker.stop()
    try await running
    expect(await rig.simulator.counters().received, is: 10)
  }
}
