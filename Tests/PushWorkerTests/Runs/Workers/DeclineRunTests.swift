import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TLS
import TestKit
import TestSupport
import Testing

/// Workers with wrong settings in a fleet whose other workers have the right settings.
@Suite(.takesTurns) struct DeclineRunTests {
  /// Fault in the settings of a single worker.
  enum Fault: CaseIterable {
    case key, topic
    /// A topic for which the push service reports that the tokens belong to another topic.
    case tokens
  }

  private func made(_ engine: PushEngineKind, _ fault: Fault) async throws -> WorkerRig {
    try await WorkerRig(engine: engine) { if fault != .tokens { $0.keys[0].topics = [WorkerRig.topic] } }
  }

  /// Returns a rig whose next worker has wrong settings.
  private func broken(_ rig: WorkerRig, _ fault: Fault) throws -> WorkerRig {
    var rig = rig
    switch fault {
    case .key:
      rig.channel.services[0].credential = try ProviderTokenSource(
        keyID: "ZZZ123ZZZZ", teamID: "DEF123GHIJ", key: ECPrivateKey.generate())
    case .topic, .tokens: rig.channel.services[0].service = APNsService(AppTraits(topic: "com.example.other"))
    }
    return rig
  }

  @Test(arguments: TestForm.pairs(PushEngineKind.allCases, Fault.allCases))
  func wrongSettingsOfOneWorkerDoNotStopTheOthers(engine: PushEngineKind, fault: Fault) async throws {
    let rig = try await made(engine, fault)
    try await rig.register(400)
    let log = EventLog()
    // The worker with wrong settings knows from its start that it is not alone.
    _ = try await rig.store.fleet.heartbeat(worker: "right", timeout: 3_600_000)
    let wrong = try broken(rig, fault).worker("wrong", lease: 3_600_000, drains: false, log: log)
    async let running: Void = wrong.run()
    try await rig.until { log.all.contains { $0.hasPrefix("started") } }
    let right = rig.worker("right", lease: 3_600_000, drains: false)
    async let other: Void = right.run()
    for id in ["first", "second"] { try await rig.submit(id) }
    for id in ["first", "second"] {
      try await rig.until { try await rig.store.campaigns.show(id)?.times.finishedAt != nil }
    }
    // The worker with wrong settings may have had no slice of one campaign. It had no slice at all only if the other
    // worker was faster for both campaigns.
    await wrong.stop()
    await right.stop()
    try await running
    try await other
    var records: [CampaignRecord] = []
    for id in ["first", "second"] { records.append(try #require(try await rig.store.campaigns.show(id))) }
    let quarantined = records.reduce(0) { $0 + $1.counters.quarantined }
    for record in records {
      let counters = record.counters
      expect(record.state, is: .completed, "\(record.reason ?? "")")
      // The worker decides after five bad answers. Four are too few.
      let refused = counters.outcomes[.wrongTopic, default: 0]
      expect(refused <= (fault == .tokens ? 4 : 0), "\(counters)")
      // Both campaigns may have been refused for the same device, which is quarantined once.
      expect(counters.quarantined <= refused, "\(counters)")
      expect(counters.outcomes[.accepted, default: 0] + refused, is: counters.targets, "\(counters)")
      // A device that one campaign has quarantined may not be a target of the other.
      expect((400 - (quarantined - counters.quarantined)...400).contains(counters.targets), "\(counters)")
    }
    expect(!log.all.contains { $0.hasPrefix("paused") })
  }

  @Test(arguments: TestForm.pairs(PushEngineKind.allCases, Fault.allCases))
  func campaignIsLeftToAWorkerThatComesLater(engine: PushEngineKind, fault: Fault) async throws {
    let rig = try await made(engine, fault)
    try await rig.register(400)
    // The fleet considers this worker alive, but it does nothing. So the worker with wrong settings is not alone.
    _ = try await rig.store.fleet.heartbeat(worker: "silent", timeout: 3_600_000)
    let log = EventLog()
    let wrong = try broken(rig, fault).worker("wrong", lease: 3_600_000, drains: false, log: log)
    async let running: Void = wrong.run()
    try await rig.submit("campaign")
    try await rig.until { log.all.contains { $0.hasPrefix("declined") } }
    try await rig.until {
      try await rig.store.campaigns.show("campaign")?.waiting?.reason.hasPrefix("worker wrong: ") == true
    }
    expect(try await rig.store.campaigns.show("campaign")?.state, is: .active)
    try await rig.worker("right", lease: 3_600_000).run()
    await wrong.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("campaign"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 400])
    expect(record.counters.quarantined, is: 0)
    expect(await rig.simulator.counters().accepted, is: 400)
  }

  /// For example, a deployment brings a wrong topic in the middle of a campaign, long after its guard trial.
  @Test(arguments: PushEngineKind.one(for: "wrongWorkerThatJoinsLateWithdraws"))
  func wrongWorkerThatJoinsLateWithdraws(engine: PushEngineKind) async throws {
    let rig = try await made(engine, .tokens)
    try await rig.register(6000)
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 50 }
    await rig.simulator.set(knobs)
    // Each worker knows the size of the fleet from its start.
    for name in ["right", "wrong"] { _ = try await rig.store.fleet.heartbeat(worker: name, timeout: 3_600_000) }
    let log = EventLog()
    let right = rig.worker("right", lease: 3_600_000, drains: false)
    async let other: Void = right.run()
    try await rig.submit("campaign")
    _ = try await rig.simulator.counters { $0.accepted >= 500 }
    // With this latency, the right worker alone would need a minute for the rest of the campaign.
    await rig.simulator.set(SimulatorKnobs { $0.latencyMilliseconds = 1000 })
    let wrong = try broken(rig, .tokens).worker("wrong", lease: 3_600_000, drains: false, log: log)
    async let running: Void = wrong.run()
    try await rig.until { log.all.contains { $0.hasPrefix("declined") } }
    await rig.simulator.set(SimulatorKnobs())
    try await rig.until { try await rig.store.campaigns.show("campaign")?.times.finishedAt != nil }
    await wrong.stop()
    await right.stop()
    try await running
    try await other
    let record = try #require(try await rig.store.campaigns.show("campaign"))
    expect(record.state, is: .completed, "\(record.reason ?? "")")
    expect(!log.all.contains { $0.hasPrefix("paused") })
    expect(record.counters.quarantined <= 4, "\(record.counters.quarantined)")
    expect(
      record.counters.outcomes[.accepted, default: 0] + record.counters.quarantined, is: 6000,
      "\(record.counters.outcomes)")
  }

  @Test(arguments: PushEngineKind.one(for: "badTokensOnAllWorkersPauseWithinTwiceTheMinimum"))
  func badTokensOnAllWorkersPauseWithinTwiceTheMinimum(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine) {
      $0.knobs.failures = [.init(share: 1, status: 400, reason: "BadDeviceToken")]
    }
    try await rig.register(2000)
    let names = ["w1", "w2", "w3"]
    for name in names { _ = try await rig.store.fleet.heartbeat(worker: name, timeout: 3_600_000) }
    let workers = names.map { rig.worker($0, lease: 3_600_000, drains: false) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.submit("campaign")
      try await rig.until { try await rig.store.campaigns.show("campaign")?.state == .paused }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("campaign"))
    expect(record.reason?.contains("probably the wrong environment for app news"), is: true, "\(record.reason ?? "")")
    expect(record.counters.outcomes.isEmpty)
    // Twice the minimum is 50, half of the window.
    expect(await rig.simulator.counters().received <= 100)
  }

  @Test(arguments: PushEngineKind.one(for: "refusedCampaignOfAllWorkersPausesAndResumes"))
  func refusedCampaignOfAllWorkersPausesAndResumes(engine: PushEngineKind) async throws {
    let refused = SimulatorKnobs.Failure(share: 1, status: 400, reason: "TopicDisallowed")
    let rig = try await WorkerRig(engine: engine) { $0.knobs.failures = [refused] }
    try await rig.register(400)
    try await rig.submit("campaign")
    let workers = ["w1", "w2"].map { rig.worker($0, drains: false) }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    try await rig.until { try await rig.store.campaigns.show("campaign")?.state == .paused }
    let paused = try #require(try await rig.store.campaigns.show("campaign"))
    expect(paused.reason?.contains("APNs refuses every push of the campaign: TopicDisallowed"), is: true)
    expect(paused.counters.outcomes.isEmpty)
    await rig.simulator.set(SimulatorKnobs())
    _ = try await rig.store.campaigns.control("campaign", .resume)
    try await rig.until { try await rig.store.campaigns.show("campaign")?.times.finishedAt != nil }
    for worker in workers { await worker.stop() }
    try await first
    try await second
    expect(try await rig.store.campaigns.show("campaign")?.counters.outcomes, is: [.accepted: 400])
    expect(await rig.simulator.counters().accepted, is: 400)
  }
}
