import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns whose job names a missing segment. They never reach more users, or other users, because of that.
struct MissingSegmentRunTests {
  /// A rig with twenty fans. All but five have churned.
  private func rig(_ engine: PushEngineKind) async throws -> WorkerRig {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 20)
    try await rig.store.audiences.add((0..<20).map { "u\($0)" }, to: "fans")
    try await churn(rig)
    return rig
  }

  private func churn(_ rig: WorkerRig) async throws {
    try await rig.store.audiences.add((5..<20).map { "u\($0)" }, to: "churned")
  }

  /// Activates a job as a worker does that has checked the segments a moment before.
  private func takeIn(_ rig: WorkerRig, _ audience: String) async throws {
    try await rig.submit("sale", audience: audience)
    let job = try #require(try await rig.store.queue.awaitJob(worker: "slow", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "slow")
  }

  @Test(arguments: TestForm.pairs(PushEngineKind.allCases, [false, true]))
  func campaignIsPausedWhileItsSegmentIsMissing(
    engine: PushEngineKind, isTerm: Bool
  ) async throws {
    let rig = try await rig(engine)
    try await takeIn(
      rig, isTerm ? #"{"segment":"fans & !churned"}"# : #"{"segment":"fans","exclude":{"segment":"churned"}}"#)
    // The segment disappears: another program removed it, or it was removed between the check at intake and the
    // activation.
    try await rig.command("SREM", "segments", "churned")
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("sale")?.state == .paused }
    let reason = try await rig.store.campaigns.show("sale")?.reason ?? ""
    expect(reason.contains("segment 'churned'") && reason.contains("import it and resume"), "\(reason)")
    expect(await rig.simulator.counters().received, is: 0)
    // A resume without the segment has the same result.
    try await rig.store.campaigns.control("sale", .resume)
    try await rig.until { try await rig.store.campaigns.show("sale")?.state == .paused }
    expect(await rig.simulator.counters().received, is: 0)
    try await churn(rig)
    try await rig.store.campaigns.control("sale", .resume)
    try await rig.until { try await rig.store.campaigns.show("sale")?.state == .completed }
    await worker.stop()
    try await running
    expect(try await rig.store.campaigns.show("sale")?.counters.outcomes, is: [.accepted: 5])
  }

  /// The job was taken in by a worker that still had the app.
  @Test(arguments: PushEngineKind.one(for: "campaignOfAnUnknownAppIsPausedWithTheReason"))
  func campaignOfAnUnknownAppIsPausedWithTheReason(engine: PushEngineKind) async throws {
    let rig = try await rig(engine)
    let job = Array(
      #"{"id":"shop-sale","app":"shop","audience":{"segment":"fans"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#.utf8)
    _ = try await rig.store.queue.activate(CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "slow")
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("shop-sale")?.state == .paused }
    await worker.stop()
    try await running
    let reason = try await rig.store.campaigns.show("shop-sale")?.reason ?? ""
    expect(reason.contains("'shop'"), "\(reason)")
    expect(await rig.simulator.counters().received, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "rawJobThatNamesARemovedSegmentGoesToTheDeadList"))
  func rawJobThatNamesARemovedSegmentGoesToTheDeadList(engine: PushEngineKind) async throws {
    let rig = try await rig(engine)
    expect(try await rig.store.audiences.removeSegment("churned"))
    try await rig.push(
      raw:
        #"{"id":"raw","app":"news","audience":{"segment":"fans & !churned"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#
    )
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.show("raw") == nil)
    var reasons: [String] = []
    try await rig.store.queue.forEachDeadJob { reasons.append($0.reason) }
    expect(reasons.first?.contains("there is no segment 'churned'"), is: true, "\(reasons)")
    expect(await rig.simulator.counters().received, is: 0)
  }
}
