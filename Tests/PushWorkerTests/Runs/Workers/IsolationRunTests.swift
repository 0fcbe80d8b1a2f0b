import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import TestKit
import TestSupport
import Testing

/// Isolation of apps, and fairness between campaigns of a lane. No check depends on seconds, because a loaded machine
/// is slow. A healthy campaign must end while the other app's endpoint fails, and the pushes before a single push are
/// counted. `FaultKit`'s isolation cases test the same with processes, a clock and the checker.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct IsolationRunTests {
  private static let healthy = 500
  /// The number of devices fills the windows of both workers several times.
  private static let ill = 3000
  /// The failure begins in the middle of the campaign, after the guard has had its answers.
  private static let middle = 900
  /// The limit is longer than any healthy campaign takes on a loaded machine. Before credit was assigned by pool, the
  /// campaign never ended.
  private static let timeout = Duration.seconds(60)

  @Test(arguments: PushEngineKind.one(for: "killedEndpointDoesNotAffectAnotherApp"))
  func killedEndpointDoesNotAffectAnotherApp(engine: PushEngineKind) async throws {
    try await play(.killed, engine)
  }

  @Test(arguments: PushEngineKind.one(for: "frozenEndpointDoesNotAffectAnotherApp"))
  func frozenEndpointDoesNotAffectAnotherApp(engine: PushEngineKind) async throws {
    try await play(.frozen, engine)
  }

  @Test(arguments: PushEngineKind.one(for: "slowEndpointDoesNotAffectAnotherApp"))
  func slowEndpointDoesNotAffectAnotherApp(engine: PushEngineKind) async throws {
    try await play(.slow, engine)
  }

  /// Makes the other app's endpoint fail, sends to the healthy app in a higher and in the same lane, and restores the
  /// endpoint. The other app's campaign must then end without help.
  private func play(_ trouble: FailingEndpoint.Trouble, _ engine: PushEngineKind) async throws {
    let apps = try await TwoAppRig(engine: engine, healthy: Self.healthy, ill: Self.ill)
    try await apps.push("sick", app: TwoAppRig.sickApp)
    try await apps.rig.until { await apps.sick.received >= Self.middle }
    await apps.sick.suffer(trouble)
    try await apps.restOfSick()
    for lane in [Lane.urgent, .normal] {
      let took = try await apps.time("\(lane)", lane: lane, within: Self.timeout)
      let outcomes = try await apps.outcomes(of: "\(lane)")
      expect(took != nil, "\(lane): \(outcomes) of \(Self.healthy)")
    }
    let stuck = try #require(try await apps.rig.store.campaigns.show("sick"))
    expect(stuck.times.finishedAt, is: nil)
    expect(stuck.pending > 0)
    if trouble != .slow {
      try await apps.rig.until { try await apps.rig.store.campaigns.show("sick")?.waiting != nil }
    }

    try await apps.sick.heal()
    for (id, targets) in [("sick", Self.ill), ("urgent", Self.healthy), ("normal", Self.healthy)] {
      expect(try await apps.ending(of: id, within: .seconds(90)) != nil, "\(id) does not continue")
      expect(try await apps.outcomes(of: id), is: [.accepted: targets], "\(id)")
    }
    expect(await apps.rig.simulator.counters().duplicates, is: 0)
    try await apps.stop()
  }

  @Test(arguments: PushEngineKind.one(for: "singleTargetDoesNotWaitForALargeCampaign"))
  func singleTargetDoesNotWaitForALargeCampaign(engine: PushEngineKind) async throws {
    let apps = try await TwoAppRig(engine: engine, healthy: 6000, partitions: 4)
    await apps.rig.simulator.change { $0.latencyMilliseconds = 300 }
    try await apps.push("neighbour")
    try await apps.rig.until { await apps.rig.simulator.counters().received >= 1000 }
    // The number of pushes that were sent between a job's submission and its end.
    var passed: [Int] = []
    for number in 0..<5 {
      let before = await apps.rig.simulator.counters().received
      let user = "u\(number * 101)"
      _ = try #require(try await apps.time("single-\(number)", audience: #"{"users":["\#(user)"]}"#))
      passed.append(await apps.rig.simulator.counters().received - before)
    }
    // The bound: a window of each worker while the push waits for credit, one while it is answered, and two more for a
    // loaded machine. Behind its neighbour it would have waited for nearly all of the 6,000 pushes.
    expect(passed.sorted()[2] <= 4 * 2 * TwoAppRig.window, "\(passed)")
    expect(try await apps.ending(of: "neighbour", within: .seconds(90)) != nil)
    expect(try await apps.outcomes(of: "neighbour"), is: [.accepted: 6000])
    try await apps.stop()
  }
}
