import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Control commands for a running campaign.
@Suite struct CampaignControlTests {
  private func slow(_ rig: WorkerRig) async {
    await rig.simulator.change { $0.latencyMilliseconds = 20 }
  }

  @Test(arguments: PushEngineKind.one(for: "cancelledCampaignEndsWithAnOutcomeForEveryTarget"))
  func cancelledCampaignEndsWithAnOutcomeForEveryTarget(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 2000)
    await slow(rig)
    try await rig.submit("stop-it")
    let worker = rig.worker("w", window: 50)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    expect(try await rig.store.campaigns.control("stop-it", .cancel), is: .cancelled)
    try await running
    let record = try #require(try await rig.store.campaigns.show("stop-it"))
    expect(record.state, is: .cancelled)
    expect(record.times.finishedAt != nil)
    expect(record.pending, is: 0)
    let accepted = await rig.simulator.counters().accepted
    expect(record.counters.outcomes[.accepted], is: accepted)
    expect(record.counters.outcomes[.unknown], is: nil)
    let results = try await rig.results("stop-it")
    expect(results.count, is: record.counters.targets)
    expect(results.count { $0.outcome == .cancelled } == record.counters.outcomes[.cancelled] ?? 0)
  }

  @Test(arguments: PushEngineKind.one(for: "pausedCampaignContinuesWithoutDuplicates"))
  func pausedCampaignContinuesWithoutDuplicates(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 1000)
    await slow(rig)
    try await rig.submit("rest")
    let worker = rig.worker("w", window: 50)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    expect(try await rig.store.campaigns.control("rest", .pause), is: .paused)
    // Every push in flight is recorded, and every slice returned.
    try await rig.until {
      guard let record = try await rig.store.campaigns.show("rest") else { return false }
      let accepted = await rig.simulator.counters().accepted
      return record.counters.inDoubt == 0 && record.counters.outcomes[.accepted] == accepted
    }
    let resting = await rig.simulator.counters().received
    expect(resting < 1000)
    expect(try await rig.store.campaigns.control("rest", .resume), is: .active)
    try await running
    let record = try #require(try await rig.store.campaigns.show("rest"))
    expect(record.counters.outcomes, is: [.accepted: 1000])
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
  }

  /// Controls a campaign, and returns the number of requests that the simulator had received at the confirmation.
  private func confirm(_ rig: WorkerRig, _ id: String, _ verb: ControlVerb) async throws -> Int {
    let answer = try await rig.store.campaigns.controlEverywhere(id, verb, lease: 60_000)
    expect(answer.unconfirmed, is: [])
    return await rig.simulator.counters().received
  }

  @Test(arguments: PushEngineKind.one(for: "confirmedPauseAllowsOneWindowOfEachWorkerAtMost"))
  func confirmedPauseAllowsOneWindowOfEachWorkerAtMost(engine: PushEngineKind) async throws {
    // Many small slices: there is always one that is just being claimed when the campaign is paused.
    let rig = try await WorkerRig(engine: engine, partitions: 64, users: 6000)
    await slow(rig)
    try await rig.submit("stop-and-go")
    let workers = ["one", "two"].map { rig.worker($0, window: 40) }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    var pauses = 0
    while try await rig.store.campaigns.find("stop-and-go")?.times.finishedAt == nil, pauses < 12 {
      let before = await rig.simulator.counters().received
      try await rig.until {
        if await rig.simulator.counters().received >= before + 120 { return true }
        return try await rig.store.campaigns.find("stop-and-go")?.times.finishedAt != nil
      }
      let confirmed = try await confirm(rig, "stop-and-go", .pause)
      guard try await rig.store.campaigns.find("stop-and-go")?.state == .paused else { break }
      pauses += 1
      try await rig.until { try await rig.store.campaigns.show("stop-and-go")?.counters.inDoubt == 0 }
      expect(await rig.simulator.counters().received - confirmed <= 80)
      try await rig.store.campaigns.control("stop-and-go", .resume)
    }
    expect(pauses > 3)
    let confirmed = try await confirm(rig, "stop-and-go", .cancel)
    _ = try await (first, second)
    expect(await rig.simulator.counters().received - confirmed <= 80)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    expect(try await rig.store.campaigns.show("stop-and-go")?.pending, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "stoppedWorkerLeavesNothingInDoubt"))
  func stoppedWorkerLeavesNothingInDoubt(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 2000)
    await slow(rig)
    try await rig.submit("relay")
    let first = rig.worker("first", window: 50, drains: false)
    async let running: Void = first.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    await first.stop()
    try await running
    let halfway = try #require(try await rig.store.campaigns.show("relay"))
    expect(halfway.counters.inDoubt, is: 0)
    expect(halfway.pending > 0)
    try await rig.worker("second", window: 500).run()
    let record = try #require(try await rig.store.campaigns.show("relay"))
    expect(record.counters.outcomes, is: [.accepted: 2000])
    expect(record.counters.resent, is: 0)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
  }
}
