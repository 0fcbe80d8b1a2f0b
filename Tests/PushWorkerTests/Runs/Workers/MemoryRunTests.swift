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

/// Campaigns for which Redis has too little memory. They wait and report the reason.
@Suite(.takesTurns) struct MemoryRunTests {
  @Test(arguments: [1, 200])
  func campaignWithoutMemoryWaitsWithAReason(partitions: Int) async throws {
    let server = try await RedisServer.start(.single)
    let rig = try await WorkerRig(engine: .native, partitions: partitions, server: server)
    let users = 20_000
    try await rig.register(users)
    let campaign = try CampaignJob.parse(
      Array(#"{"id":"x","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#.utf8),
      .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    let bytes = try await rig.store.limits.estimate(of: campaign).bytes
    let used = try await rig.store.limits.memory().used
    // A raw job bypasses the size check of `submit`.
    _ = try await server.command("config", "set", "maxmemory", String((used + bytes / 2) * 100 / 90))
    try await rig.push(
      raw: #"{"id":"large","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#)
    let log = EventLog()
    async let running: Void = rig.worker("w", window: 1000, log: log).run()
    try await rig.until { try await rig.store.campaigns.show("large")?.waiting?.reason.hasPrefix("memory: ") == true }
    expect(await rig.simulator.counters().accepted, is: 0)
    // The large campaign does not delay a small one.
    try await rig.submit("small", audience: #"{"users":["u1","u2"]}"#)
    try await rig.until { try await rig.store.campaigns.show("small")?.state == .completed }
    expect(await rig.simulator.counters().accepted, is: 2)
    _ = try await server.command("config", "set", "maxmemory", "0")
    try await running
    let record = try #require(try await rig.store.campaigns.show("large"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: users], "\(log.all)")
    expect(!log.all.contains { $0.contains("out of memory") }, "\(log.all)")
    await server.stop()
  }
}
