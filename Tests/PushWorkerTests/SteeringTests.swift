import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import Testing

/// What people do to a campaign while it runs.
@Suite struct SteeringTests {
  private func slow(_ rig: WorkerRig) async {
    var knobs = rig.simulator.knobs
    knobs.latencyMilliseconds = 20
    await rig.simulator.set(knobs)
  }

  @Test func cancelledCampaignEndsWithAnOutcomeForEveryTarget() async throws {
    let rig = try await WorkerRig()
    try await rig.register(2000)
    await slow(rig)
    try await rig.submit("stop-it")
    let worker = rig.worker("w", window: 50)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    #expect(try await rig.store.steer("stop-it", .cancel) == .cancelled)
    try await running
    let record = try #require(try await rig.store.show("stop-it"))
    #expect(record.state == .cancelled)
    #expect(record.finishedAt != nil)
    #expect(record.pending == 0)
    let accepted = await rig.simulator.counters().accepted
    #expect(record.counters.outcomes[.accepted] == accepted)
    #expect(record.counters.outcomes[.unknown] == nil)
    let results = try await rig.results("stop-it")
    #expect(results.count == record.counters.targets)
    #expect(results.count { $0.outcome == .cancelled } == record.counters.outcomes[.cancelled] ?? 0)
  }

  @Test func pausedCampaignRestsAndGoesOnWithoutDuplicates() async throws {
    let rig = try await WorkerRig()
    try await rig.register(1000)
    await slow(rig)
    try await rig.submit("rest")
    let worker = rig.worker("w", window: 50)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    #expect(try await rig.store.steer("rest", .pause) == .paused)
    // Everything in flight is recorded, and every slice given back.
    try await rig.until {
      guard let record = try await rig.store.show("rest") else { return false }
      let accepted = await rig.simulator.counters().accepted
      return record.counters.inDoubt == 0 && record.counters.outcomes[.accepted] == accepted
    }
    let resting = await rig.simulator.counters().received
    #expect(resting < 1000)
    #expect(try await rig.store.steer("rest", .resume) == .active)
    try await running
    let record = try #require(try await rig.store.show("rest"))
    #expect(record.counters.outcomes == [.accepted: 1000])
    #expect(await rig.simulator.counters().duplicatesReceived == 0)
  }

  @Test func stoppedWorkerLeavesNothingInDoubt() async throws {
    let rig = try await WorkerRig()
    try await rig.register(2000)
    await slow(rig)
    try await rig.submit("relay")
    let first = rig.worker("first", window: 50, drains: false)
    async let running: Void = first.run()
    try await rig.until { await rig.simulator.counters().accepted >= 100 }
    await first.stop()
    try await running
    let halfway = try #require(try await rig.store.show("relay"))
    #expect(halfway.counters.inDoubt == 0)
    #expect(halfway.pending > 0)
    try await rig.worker("second", window: 500).run()
    let record = try #require(try await rig.store.show("relay"))
    #expect(record.counters.outcomes == [.accepted: 2000])
    #expect(record.counters.resent == 0)
    #expect(await rig.simulator.counters().duplicatesReceived == 0)
  }
}
