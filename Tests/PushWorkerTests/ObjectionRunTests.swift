import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TLS
import TestSupport
import Testing

/// Workers whose settings are wrong, beside others whose are right.
@Suite struct ObjectionRunTests {
  /// What may be wrong with a worker alone.
  enum Fault: CaseIterable {
    case key, topic
  }

  /// A rig whose next worker is set up wrongly.
  private func broken(_ rig: WorkerRig, _ fault: Fault) throws -> WorkerRig {
    var rig = rig
    switch fault {
    case .key:
      rig.channel.credential = try ProviderTokenSource(
        keyID: "ZZZ123ZZZZ", teamID: "DEF123GHIJ", key: ECPrivateKey.generate())
    case .topic: rig.channel.service = APNsService(AppTraits(topic: "com.example.other"))
    }
    return rig
  }

  @Test(arguments: PushEngineKind.allCases, Fault.allCases)
  func wrongSettingsOfOneWorkerTakeItOutAndStopNobody(engine: PushEngineKind, fault: Fault) async throws {
    let rig = try await WorkerRig(engine: engine) { $0.keys[0].topics = [WorkerRig.topic] }
    try await rig.register(400)
    let log = EventLog()
    let wrong = try broken(rig, fault).worker("wrong", drains: false, log: log)
    async let running: Void = wrong.run()
    try await rig.until { log.all.contains { $0.hasPrefix("started") } }
    let right = rig.worker("right", drains: false)
    async let other: Void = right.run()
    for id in ["first", "second"] { try await rig.submit(id) }
    for id in ["first", "second"] { try await rig.until { try await rig.store.show(id)?.finishedAt != nil } }
    // The wrong one may have had no slice of a campaign, but it has had one at all unless the other was quicker twice.
    await wrong.stop()
    await right.stop()
    try await running
    try await other
    for id in ["first", "second"] {
      let record = try #require(try await rig.store.show(id))
      #expect(record.state == .completed, "\(record.reason ?? "")")
      #expect(record.counters.outcomes == [.accepted: 400])
    }
    #expect(await rig.simulator.counters().accepted == 800)
    #expect(!log.all.contains { $0.hasPrefix("paused") })
  }

  @Test(arguments: PushEngineKind.allCases, Fault.allCases)
  func campaignIsLeftToAWorkerThatComesLater(engine: PushEngineKind, fault: Fault) async throws {
    let rig = try await WorkerRig(engine: engine) { $0.keys[0].topics = [WorkerRig.topic] }
    try await rig.register(400)
    // It lives, as far as the fleet knows, and says nothing: so the wrong one is not all there are.
    _ = try await rig.store.heartbeat(worker: "silent", timeout: 3_600_000)
    let log = EventLog()
    let wrong = try broken(rig, fault).worker("wrong", lease: 3_600_000, drains: false, log: log)
    async let running: Void = wrong.run()
    try await rig.submit("campaign")
    try await rig.until { log.all.contains { $0.hasPrefix("objected") } }
    try await rig.until { try await rig.store.show("campaign")?.waiting?.reason.hasPrefix("worker wrong: ") == true }
    #expect(try await rig.store.show("campaign")?.state == .active)
    try await rig.worker("right", lease: 3_600_000).run()
    await wrong.stop()
    try await running
    let record = try #require(try await rig.store.show("campaign"))
    #expect(record.state == .completed)
    #expect(record.counters.outcomes == [.accepted: 400])
    #expect(await rig.simulator.counters().accepted == 400)
  }

  @Test(arguments: PushEngineKind.allCases)
  func whatAllWorkersAreRefusedIsPausedAndReachesEverybodyWhenResumed(engine: PushEngineKind) async throws {
    let refused = SimulatorKnobs.Failure(share: 1, status: 400, reason: "TopicDisallowed")
    let rig = try await WorkerRig(engine: engine) { $0.knobs.failures = [refused] }
    try await rig.register(400)
    try await rig.submit("campaign")
    let workers = ["w1", "w2"].map { rig.worker($0, drains: false) }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    try await rig.until { try await rig.store.show("campaign")?.state == .paused }
    let paused = try #require(try await rig.store.show("campaign"))
    #expect(paused.reason?.contains("APNs refuses every push of it: TopicDisallowed") == true)
    #expect(paused.counters.outcomes.isEmpty)
    await rig.simulator.set(SimulatorKnobs())
    _ = try await rig.store.control("campaign", .resume)
    try await rig.until { try await rig.store.show("campaign")?.finishedAt != nil }
    for worker in workers { await worker.stop() }
    try await first
    try await second
    #expect(try await rig.store.show("campaign")?.counters.outcomes == [.accepted: 400])
    #expect(await rig.simulator.counters().accepted == 400)
  }
}
