import APNs
import APNsSimulator
import CampaignStore
import PushCore
import Testing

/// One app's trouble is nobody else's, and neighbours in a lane take turns. `FaultKit`'s isolation cases are the same with
/// processes, more targets and a checker.
///
/// One at a time: they are about time.
@Suite(.serialized, .timeLimit(.minutes(4))) struct IsolationRunTests {
  private static let healthy = 2000
  /// Fills the windows of both workers several times.
  private static let ill = 10_000
  /// In the middle of those, and the guard has had its answers.
  private static let middle = 2500

  /// What a campaign may take beside trouble, in seconds: what it takes alone, three times over for the machine's other
  /// work, and the bound of the isolation table.
  private static func bound(alone: Double) -> Double { 3 * alone + 1.5 }

  /// Sends to the healthy app, in the lane above the other app's campaign and in the same.
  private func expectBothLanesInTime(_ apps: TwoAppRig, alone: Double) async throws {
    for lane in [Lane.urgent, .normal] {
      let bound = Self.bound(alone: alone)
      let took = try await apps.time("\(lane)", lane: lane, within: .seconds(bound + 0.5))
      let outcomes = try await apps.outcomes(of: "\(lane)")
      #expect(took ?? .infinity <= bound, "\(lane): \(outcomes) of \(Self.healthy); alone it takes \(alone) s")
    }
  }

  @Test(arguments: PushEngineKind.allCases)
  func killedEndpointLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    try await play(.killed, engine)
  }

  @Test(arguments: PushEngineKind.allCases)
  func frozenEndpointLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    try await play(.frozen, engine)
  }

  @Test(arguments: PushEngineKind.allCases)
  func slowEndpointLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    try await play(.slow, engine)
  }

  @Test(arguments: PushEngineKind.allCases)
  func endpointThatRefusesFromTheStartLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    try await play(.refusing, engine)
  }

  @Test(arguments: PushEngineKind.allCases)
  func endpointThatIsSilentFromTheStartLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    try await play(.silent, engine)
  }

  /// Makes the other app's endpoint sick, sends to the healthy app, and heals the endpoint: its campaign must then end by
  /// itself.
  private func play(_ trouble: SickEndpoint.Trouble, _ engine: PushEngineKind) async throws {
    let apps = try await TwoAppRig(engine: engine, healthy: Self.healthy, ill: Self.ill)
    // The first opens connections.
    _ = try await apps.time("warm")
    let alone = try #require(try await apps.time("alone"))
    if trouble.isFromTheStart { await apps.sick.suffer(trouble) }
    try await apps.push("sick", app: TwoAppRig.sickApp)
    if trouble.isFromTheStart {
      try await apps.rig.until { try await apps.rig.store.campaign("sick")?.startedAt != nil }
    } else {
      try await apps.rig.until { await apps.sick.received >= Self.middle }
      await apps.sick.suffer(trouble)
    }
    try await apps.restOfSick()

    try await expectBothLanesInTime(apps, alone: alone)
    let stuck = try #require(try await apps.rig.store.show("sick"))
    #expect(stuck.finishedAt == nil)
    #expect(stuck.pending > 0)

    try await apps.sick.heal()
    for (id, targets) in [("sick", Self.ill), ("urgent", Self.healthy), ("normal", Self.healthy)] {
      #expect(try await apps.ending(of: id, within: .seconds(60)) != nil, "\(id) does not go on by itself")
      #expect(try await apps.outcomes(of: id) == [.accepted: targets], "\(id)")
    }
    #expect(await apps.rig.simulator.counters().duplicates == 0)
    try await apps.stop()
  }

  @Test(arguments: PushEngineKind.allCases)
  func listOfRawTokensLeavesAnotherAppsCampaignAlone(engine: PushEngineKind) async throws {
    let apps = try await TwoAppRig(engine: engine, healthy: Self.healthy)
    _ = try await apps.time("warm")
    let alone = try #require(try await apps.time("alone"))
    let size = 14_000
    let lists = ["list", "next"]
    for (number, id) in lists.enumerated() {
      let tokens = (0..<size).compactMap { DeviceToken(bytes: WorkerRig.token(1_000_000 + number * size + $0))?.hex }
      let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
      try await apps.push(id, app: TwoAppRig.sickApp, audience: #"{"tokens":[\#(list)]}"#)
    }
    // It goes over one connection, that of tokens that no record vouches for: fewer are its middle.
    try await apps.rig.until { await apps.sick.received >= 500 }
    try await expectBothLanesInTime(apps, alone: alone)
    let isOver = try await apps.rig.store.campaign("next")?.finishedAt != nil
    #expect(!isOver, "the lists were over too soon to be in anybody's way")
    for (id, targets) in [("list", size), ("next", size), ("urgent", Self.healthy), ("normal", Self.healthy)] {
      #expect(try await apps.ending(of: id, within: .seconds(60)) != nil, "\(id)")
      #expect(try await apps.outcomes(of: id) == [.accepted: targets], "\(id)")
    }
    try await apps.stop()
  }

  @Test(arguments: PushEngineKind.allCases)
  func oneTargetWaitsForNoNeighbourOfItsAppAndLane(engine: PushEngineKind) async throws {
    let apps = try await TwoAppRig(engine: engine, healthy: 20_000, partitions: 8)
    var knobs = apps.rig.simulator.knobs
    knobs.latencyMilliseconds = 300
    await apps.rig.simulator.set(knobs)
    /// The seconds that each takes, sorted; they come at a pace, whether the last has ended or not.
    func singles(_ name: String) async throws -> [Double] {
      try await withThrowingTaskGroup(of: Double?.self) { group in
        for number in 0..<20 {
          let user = "u\(number * 101)"
          group.addTask { try await apps.time("\(name)-\(number)", audience: #"{"users":["\#(user)"]}"#) }
          await TwoAppRig.elapse(milliseconds: 50)
        }
        return try await group.reduce(into: []) { $0.append($1 ?? .infinity) }.sorted()
      }
    }
    _ = try await apps.time("warm", audience: #"{"users":["u1"]}"#)
    let alone = try await singles("alone")
    try await apps.push("million")
    try await apps.rig.until { await apps.rig.simulator.counters().received >= 2000 }
    let beside = try await singles("beside")
    // Credit comes back with the first answers, and then it is sent: two answers' time, and what the machine makes of it.
    #expect(beside[10] <= 2 * alone[10] + 0.25, "\(beside); alone \(alone)")
    #expect(beside[19] <= 3 * alone[10] + 1, "\(beside); alone \(alone)")
    let isOver = try await apps.rig.store.campaign("million")?.finishedAt != nil
    #expect(!isOver, "the neighbour was over too soon to be in anybody's way")
    #expect(try await apps.ending(of: "million", within: .seconds(60)) != nil)
    #expect(try await apps.outcomes(of: "million") == [.accepted: 20_000])
    try await apps.stop()
  }
}
