import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Stages of a campaign. Some users get the push first, and the others after the gate opens.
@Suite struct StageRunTests {
  private static let users = 400

  /// Waits for a state of a campaign or of a part.
  private func reached(_ state: CampaignState, _ id: String, _ rig: WorkerRig) async throws {
    try await rig.until { try await rig.store.campaigns.find(id)?.state == state }
  }

  @Test(arguments: PushEngineKind.one(for: "restBeginsAutomatically"))
  func restBeginsAutomatically(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: Self.users)
    try await rig.submit(
      "story", #","stages":[{"users":["u7","nobody"]},{"share":0.2,"wait":"1s","maxFailures":0.1}]"#)
    async let other: Void = rig.worker("other").run()
    try await rig.worker("one").run()
    try await other
    let parts = ["story~1", "story~2", "story~rest"]
    var results: [[TargetResult]] = []
    for part in parts { results.append(try await rig.results(part)) }
    expect(results[0].map(\.user) == ["u7"] && (40...120).contains(results[1].count), "\(results[1].count)")
    let all = try await rig.results("story")
    expect(all.count == Self.users && Set(all.map(\.user)).count == Self.users)
    expect(all.allSatisfy { $0.outcome == .accepted })
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    // A push of a stage is sent only after every target of the stage before has an answer, and after the wait.
    for (place, wait) in [(0, 0), (1, 1000)] {
      let end = UInt64(try #require(try await rig.store.campaigns.find(parts[place])?.times.finishedAt))
      expect(results[place + 1].allSatisfy { $0.at >= end + UInt64(wait) })
    }
    let record = try #require(try await rig.store.campaigns.show("story"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: Self.users])
    expect(record.parts.map(\.state), is: [.completed, .completed, .completed])
    expect(try await rig.store.campaigns.timeline(of: "story").map(\.reason), is: ["stage 2", "stage rest"])
  }

  @Test(arguments: PushEngineKind.one(for: "failedGatePausesTheCampaignUntilItIsResumed"))
  func failedGatePausesTheCampaignUntilItIsResumed(engine: PushEngineKind) async throws {
    // The first stage fits into the window, so its first outcome comes after the pause and the resume.
    let rig = try await WorkerRig(engine: engine, partitions: 4) { $0.knobs.latencyMilliseconds = 3000 }
    // A quarter of the tokens belong to another app. The guard of this test allows that.
    try await rig.register(Self.users) { $0 % 4 == 1 ? .bad : .registered }
    try await rig.submit("story", #","stages":[{"share":0.2,"maxFailures":0.1}]"#)
    let worker = rig.worker("w", guard: GuardPolicy(threshold: 1, pruneShare: 1, minimum: 1), drains: false)
    async let running: Void = worker.run()
    // A pause and a resume before the verdict do not change it.
    try await rig.store.controlWhenThere("story", .pause, rig)
    try await rig.store.campaigns.control("story", .resume)
    await rig.simulator.change { $0.latencyMilliseconds = 0 }
    try await reached(.paused, "story", rig)
    let record = try #require(try await rig.store.campaigns.show("story"))
    expect(record.reason?.contains("pushes failed, more than 10 %") == true && record.pausedItself)
    expect(record.parts.map(\.state), is: [.completed, .paused])
    // No user outside the first stage got the push. A worker that saw the resume first drops the answers for bad
    // tokens, and sends to them again.
    let counters = await rig.simulator.counters()
    expect(counters.received - counters.duplicatesReceived == record.counters.targets && counters.duplicates == 0)
    expect(try await rig.store.campaigns.control("story", .resume), is: .active)
    try await reached(.completed, "story", rig)
    await worker.stop()
    try await running
    expect(try await rig.results("story").count, is: Self.users)
  }

  /// Users who are registered when the gate opens get the stage; users who were removed before do not.
  @Test(arguments: PushEngineKind.one(for: "stageHasTheUsersWhoAreRegisteredAtItsStart"))
  func stageHasTheUsersWhoAreRegisteredAtItsStart(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 100)
    try await rig.submit("story", #","stages":[{"users":["u1"],"approval":true}],"submittedBy":"ada""#)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await reached(.paused, "story", rig)
    expect(try await rig.store.campaigns.find("story")?.approval.isNeeded, is: true)
    try await rig.register(120)
    await #expect(throws: StoreError.self) {
      try await rig.store.campaigns.resume("story", unguarded: false, by: "bob")
    }
    await #expect(throws: StoreError.self) { try await rig.store.campaigns.approve("story", by: "ada") }
    expect(try await rig.store.campaigns.approve("story", by: "bob"), is: .active)
    try await reached(.completed, "story", rig)
    await worker.stop()
    try await running
    expect(try await rig.results("story").count, is: 120)
  }

  @Test(arguments: PushEngineKind.one(for: "cancelEndsEveryStage"))
  func cancelEndsEveryStage(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 100)
    try await rig.submit("story", #","rate":0.001,"stages":[{"share":0.5}]"#)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("story")?.times.startedAt != nil }
    expect(try await rig.store.campaigns.control("story", .cancel), is: .cancelled)
    try await rig.until { try await rig.store.campaigns.find("story")?.times.finishedAt != nil }
    await worker.stop()
    try await running
    expect(await rig.simulator.counters().received <= 1)
    let record = try #require(try await rig.store.campaigns.show("story"))
    expect(record.state == .cancelled && record.parts.map(\.state) == [.cancelled, .cancelled])
  }

  /// A later campaign that names this one means all of its stages.
  @Test(arguments: PushEngineKind.one(for: "correctionReachesAllStagesAndExclusionNone"))
  func correctionReachesAllStagesAndExclusionNone(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: Self.users)
    try await rig.submit("story", #","stages":[{"share":0.1}]"#)
    // Both are submitted before the first campaign has a record.
    try await rig.submit("correction", audience: #"{"campaign":"story"}"#)
    try await rig.submit("again", audience: #"{"segment":"*","exclude":{"campaign":"story"}}"#)
    try await rig.worker("w").run()
    expect(try await rig.results("story").count, is: Self.users)
    expect(try await rig.results("correction").count, is: Self.users)
    expect(try await rig.results("again").isEmpty)
    // An opening counts for the stage of its user.
    try await rig.store.results.apply((0..<Self.users).map { ReceiptEvent(.opened, campaign: "story", user: "u\($0)") })
    for id in ["story~1", "story~rest", "story"] {
      let record = try #require(try await rig.store.campaigns.find(id))
      expect(try await rig.store.results.receipts(of: record)[.opened], is: record.counters.targets, "\(id)")
    }
    try await rig.submit("reminder", audience: #"{"campaign":"story","opened":false}"#)
    try await rig.worker("w").run()
    expect(try await rig.results("reminder").isEmpty)
  }
}

extension CampaignStore {
  /// Controls a campaign as soon as a worker has taken it in.
  fileprivate func controlWhenThere(_ id: String, _ verb: ControlVerb, _ rig: WorkerRig) async throws {
    try await rig.until { try await campaigns.find(id) != nil }
    try await campaigns.control(id, verb)
  }
}
