import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import Testing

/// Test users get a campaign first, and nobody else before its gate is open.
struct FirstWaveRunTests {
  private static let testers = #""test":{"users":["u3","u7","u11","nobody"],"wait":"1h"}"#

  /// Starts workers, does something once the test users have got it, and stops them at the end.
  private func run(
    _ rig: WorkerRig, _ id: String, workers: [String] = ["a", "b"], then body: () async throws -> Void
  ) async throws {
    let fleet = workers.map { rig.worker($0, lease: 500, drains: false) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in fleet { group.addTask { try await worker.run() } }
      try await rig.until {
        let record = try await rig.store.show(id)
        return record?.counters.outcomes[.accepted] == 3 && record?.sealedSlices == record?.slices.total
      }
      #expect(await rig.simulator.counters().accepted == 3)
      try await body()
      for worker in fleet { await worker.stop() }
      try await group.waitForAll()
    }
  }

  @Test(arguments: PushEngineKind.allCases)
  func theRestFollowsWhenItIsResumed(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(300)
    // No draw leaves a test user out.
    try await rig.submit("c", "," + Self.testers + #","control":0.3"#, audience: #"{"segment":"*","sample":0.5}"#)
    try await run(rig, "c") {
      let gate = try #require(try await rig.store.show("c")?.gate)
      let now = try await rig.store.time() / 1000
      #expect((now + 3_500_000...now + 3_600_000).contains(gate))
      try await rig.store.control("c", .resume)
      try await rig.until { try await rig.store.show("c")?.state == .completed }
    }
    let record = try #require(try await rig.store.show("c"))
    let users = try await rig.results("c").map(\.user)
    #expect(record.counters.outcomes == [.accepted: users.count] && Set(users).count == users.count)
    #expect(Set(users).isSuperset(of: ["u3", "u7", "u11"]))
    // Half of them, and of these three tenths get nothing.
    #expect(abs(users.count - 105) < 43 && abs(record.counters.control - 45) < 32)
    #expect(await rig.simulator.counters().accepted == users.count)
  }

  @Test(arguments: PushEngineKind.allCases)
  func theRestFollowsByItselfAfterTheWait(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(100)
    try await rig.submit("c", #","test":{"users":["u3"],"wait":"1s"}"#)
    try await rig.worker("a").run()
    let record = try #require(try await rig.store.show("c"))
    #expect(record.counters.outcomes == [.accepted: 100])
    let gate = try #require(record.gate)
    #expect(try #require(record.finishedAt) >= gate)
    // A busy machine may take longer to the first than the wait is.
    #expect(try await rig.results("c").allSatisfy { $0.user == "u3" || $0.at >= gate })
  }

  @Test(arguments: PushEngineKind.allCases)
  func pausedOrCancelledMeanwhileNobodyElseGetsIt(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(100)
    try await rig.submit("c", "," + Self.testers)
    try await run(rig, "c") {
      try await rig.store.control("c", .pause, reason: "a typo")
      // Resumed it waits for its time, as before.
      try await rig.store.control("c", .resume)
      #expect(try await rig.store.show("c")?.gate ?? 0 > (try await rig.store.time() / 1000) + 3_000_000)
      try await rig.store.control("c", .cancel)
      try await rig.until { try await rig.store.show("c")?.finishedAt != nil }
    }
    let record = try #require(try await rig.store.show("c"))
    #expect(record.state == .cancelled && record.counters.outcomes == [.accepted: 3, .cancelled: 97])
    #expect(await rig.simulator.counters().accepted == 3)
  }

  /// Whoever takes over a slice that another has sealed does not know its parts.
  @Test(arguments: PushEngineKind.allCases)
  func heirOfASealedSliceSendsToTheFirstWaveOnly(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2)
    try await rig.register(100)
    try await rig.submit("c", "," + Self.testers)
    let job = try #require(try await rig.store.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": APNsService(AppTraits(topic: WorkerRig.topic))]))
    _ = try await rig.store.activate(campaign, job: job, worker: "dead")
    let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0)
    for _ in 0..<2 {
      let slice = try #require(try await rig.store.dequeueSlice(worker: "dead"))
      let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news")
      _ = try await ledger.claim(worker: "dead")
      let targets = try #require(try await rig.store.expand(ledger, of: campaign, filter: filter))
      #expect(targets.parts.count == 2 && targets.parts.reduce(0, +) == targets.count)
      #expect(try await ledger.parts() == targets.parts)
    }
    try await run(rig, "c", workers: ["heir"]) {
      try await rig.store.control("c", .resume)
      try await rig.until { try await rig.store.show("c")?.state == .completed }
    }
    #expect(try await rig.store.show("c")?.counters.outcomes == [.accepted: 100])
    #expect(await rig.simulator.counters().accepted == 100)
  }
}
