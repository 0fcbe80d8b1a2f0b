import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import Testing

/// A share of a campaign's users gets it first.
@Suite struct CanaryRunTests {
  private static let users = 400
  private static let canary = #","canary":{"share":0.2,"wait":"0s","maxFailures":0.1}"#

  @Test(arguments: PushEngineKind.allCases)
  func restFollowsByItself(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4)
    try await rig.register(Self.users)
    try await rig.submit("story", Self.canary)
    async let other: Void = rig.worker("other").run()
    try await rig.worker("one").run()
    try await other
    let (first, rest) = (try await rig.results("story"), try await rig.results("story.rest"))
    #expect((first + rest).allSatisfy { $0.outcome == .accepted })
    #expect(Set((first + rest).map(\.user)).count == Self.users && first.count + rest.count == Self.users)
    #expect((40...120).contains(first.count), "\(first.count)")
    #expect(await rig.simulator.counters().duplicatesReceived == 0)
    // Nobody of the rest got it before all of the first part had an answer.
    let end = try #require(try await rig.store.show("story")?.finishedAt)
    #expect(rest.allSatisfy { $0.at >= end })
  }

  @Test(arguments: PushEngineKind.allCases)
  func restIsPausedWithTheReasonAndGoesOnWhenSomebodyResumesIt(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4)
    // A quarter of the tokens are another app's; the guard lets that pass here.
    try await rig.register(Self.users) { $0 % 4 == 1 ? .bad : .registered }
    try await rig.submit("story", Self.canary)
    let worker = rig.worker("w", guard: GuardPolicy(threshold: 1, pruneShare: 1, minimum: 1), drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.show("story.rest")?.state == .paused }
    let record = try #require(try await rig.store.show("story.rest"))
    #expect(record.reason?.hasPrefix("canary: ") == true && record.pausedItself)
    #expect(record.reason?.contains("pushes of campaign story failed, more than 10.0 %") == true, "\(record.reason ?? "")")
    let first = try #require(try await rig.store.show("story"))
    #expect(await rig.simulator.counters().received == first.counters.targets)
    #expect(try await rig.store.control("story.rest", .resume) == .active)
    try await rig.until { try await rig.store.show("story.rest")?.finishedAt != nil }
    await worker.stop()
    try await running
    #expect(try await rig.results("story.rest").count + first.counters.targets == Self.users)
  }

  @Test(arguments: PushEngineKind.allCases)
  func cancellingTheFirstPartEndsTheRest(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2)
    try await rig.register(100)
    try await rig.submit("story", #","rate":0.001"# + Self.canary)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until {
      try await rig.store.show("story.rest")?.waiting?.reason == "canary: campaign story, its first part, goes on"
    }
    #expect(try await rig.store.control("story", .cancel) == .cancelled)
    try await rig.until { try await rig.store.show("story.rest")?.state == .cancelled }
    await worker.stop()
    try await running
    #expect(await rig.simulator.counters().received <= 1)
  }
}
