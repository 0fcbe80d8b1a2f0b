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

/// Several workers that share a campaign's slices, including its last ones.
@Suite struct SharingTests {
  @Test(arguments: PushEngineKind.one(for: "firstWorkerLeavesSlicesToTheOthers"))
  func firstWorkerLeavesSlicesToTheOthers(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4)
    // Expanding one slice takes longer than taking all slices would.
    try await rig.register(8000)
    // Nothing is answered during the checks of the lists, so no worker needs a second slice.
    await rig.simulator.change { $0.latencyMilliseconds = 1000 }
    let first = rig.worker("first", window: 10, drains: false)
    let second = rig.worker("second", window: 10, drains: false)
    async let one: Void = first.run()
    async let other: Void = second.run()
    // Each worker sends a heartbeat after both have been seen. Its answer contains the size of the fleet.
    try await rig.until { try await signs(of: ["first", "second"], rig).allSatisfy { $0 != nil } }
    let seen = try await rig.store.time() / 1000
    try await rig.until { try await signs(of: ["first", "second"], rig).allSatisfy { $0 ?? 0 > seen } }
    try await rig.submit("a")
    var most = 0
    try await rig.until {
      let held = try await rig.store.slices.processing(of: "first").count
      let others = try await rig.store.slices.processing(of: "second").count
      most = max(most, held, others)
      return held > 0 && others > 0
    }
    expect(most, is: 1)
    try await rig.store.campaigns.control("a", .cancel)
    try await rig.until { try await rig.store.campaigns.find("a")?.times.finishedAt != nil }
    for worker in [first, second] { await worker.stop() }
    _ = try await (one, other)
  }

  /// Returns the times of the workers' last heartbeats, in ms since the epoch.
  private func signs(of workers: [String], _ rig: WorkerRig) async throws -> [Int?] {
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    var signs: [Int?] = []
    for worker in workers {
      signs.append(
        try await client.command("ZSCORE", "{\(rig.keys.namespace)}:workers", worker).string.flatMap { Int($0) })
    }
    await client.close()
    return signs
  }
}
