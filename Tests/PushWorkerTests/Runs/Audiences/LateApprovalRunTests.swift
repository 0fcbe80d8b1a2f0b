import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestSupport
import Testing

/// An audience grows between the intake of a job and the start of its campaign. The campaign needs approval by the
/// number of its pushes at the start.
struct LateApprovalRunTests {
  private static let users = 60

  private func rig(engine: PushEngineKind) async throws -> WorkerRig {
    var rig = try await WorkerRig(engine: engine, partitions: 4, users: Self.users)
    rig.channel.approvalAbove = 20
    return rig
  }

  /// Waits until the campaign needs approval, and requires that none of its pushes was sent.
  private func expectApproval(of id: String, sent: Int, _ rig: WorkerRig) async throws {
    try await rig.until { try await rig.store.campaigns.find(id)?.approval.isNeeded == true }
    let record = try #require(try await rig.store.campaigns.find(id))
    #expect(record.state == .paused && record.reason?.contains("about 60 targets") == true, "\(record)")
    #expect(record.approval.estimate?.users == Self.users && record.approval.estimate?.targets == Self.users)
    #expect(await rig.simulator.counters().received == sent)
    await #expect(throws: StoreError.self) {
      try await rig.store.campaigns.resume(id, unguarded: false, by: "bob")
    }
  }

  private func approve(_ id: String, _ rig: WorkerRig) async throws {
    #expect(try await rig.store.campaigns.approve(id, by: "bob") == .active)
    try await rig.until { try await rig.store.campaigns.find(id)?.state == .completed }
    #expect(try await rig.results(id).count == Self.users)
  }

  /// A correction is submitted before the story begins. At its intake, no user has got the story.
  @Test(arguments: PushEngineKind.one(for: "correctionToAStoryThatHasNotBegun"))
  func correctionToAStoryThatHasNotBegun(engine: PushEngineKind) async throws {
    let rig = try await rig(engine: engine)
    let tomorrow = Timestamp.format(milliseconds: try await rig.store.time() / 1000 + 86_400_000)
    try await rig.submit("story", ",\"sendAt\":\"\(tomorrow)\"")
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("story")?.approval.isNeeded == true }
    #expect(try await rig.store.campaigns.approve("story", by: "bob") == .scheduled)
    try await rig.submit("correction", audience: #"{"campaign":"story"}"#)
    try await rig.until { try await rig.store.campaigns.find("correction") != nil }
    #expect(try await rig.store.campaigns.find("correction")?.state == .active)
    try await rig.reschedule("story", to: 1)
    try await rig.until { try await rig.store.campaigns.find("story")?.state == .completed }
    try await expectApproval(of: "correction", sent: Self.users, rig)
    try await approve("correction", rig)
    await worker.stop()
    try await running
  }

  /// A segment grows before the start of a scheduled campaign, or before its last stage.
  @Test(arguments: PushEngineKind.one(for: "segmentGrowsBeforeTheStart"), [false, true])
  func segmentGrowsBeforeTheStart(engine: PushEngineKind, isStaged: Bool) async throws {
    let rig = try await rig(engine: engine)
    try await rig.store.audiences.add(["u1", "u2"], to: "fans")
    let tomorrow = Timestamp.format(milliseconds: try await rig.store.time() / 1000 + 86_400_000)
    try await rig.submit(
      "news", isStaged ? #","stages":[{"users":["u1"],"wait":"1h"}]"# : ",\"sendAt\":\"\(tomorrow)\"",
      audience: #"{"segment":"fans"}"#)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("news") != nil }
    if isStaged { try await rig.until { try await rig.store.campaigns.find("news~1")?.times.finishedAt != nil } }
    _ = try await rig.store.audiences.add((0..<Self.users).map { "u\($0)" }, to: "fans")
    if isStaged {
      try await rig.command("HSET", "campaign:news~1", "finishedAt", "1")
      try await rig.command("ZADD", "gates", "0", "news")
    } else {
      // A campaign that is taken in now is not counted again.
      try await rig.command("HSET", "campaign:news", "createdAt", "1")
      try await rig.reschedule("news", to: 1)
    }
    try await expectApproval(of: "news", sent: isStaged ? 1 : 0, rig)
    try await approve("news", rig)
    await worker.stop()
    try await running
  }
}
