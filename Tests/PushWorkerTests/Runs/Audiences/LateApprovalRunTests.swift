import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

@testable import PushWorker

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
    expect(record.state == .paused && record.reason?.contains("60 targets when counted") == true, "\(record)")
    expect(record.approval.estimate?.users == Self.users && record.approval.estimate?.targets == Self.users)
    expect(await rig.simulator.counters().received, is: sent)
    await #expect(throws: StoreError.self) {
      try await rig.store.campaigns.resume(id, unguarded: false, by: "bob")
    }
  }

  private func approve(_ id: String, _ rig: WorkerRig) async throws {
    expect(try await rig.store.campaigns.approve(id, by: "bob"), is: .active)
    try await rig.until { try await rig.store.campaigns.find(id)?.state == .completed }
    expect(try await rig.results(id).count, is: Self.users)
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
    expect(try await rig.store.campaigns.approve("story", by: "bob"), is: .scheduled)
    try await rig.submit("correction", audience: #"{"campaign":"story"}"#)
    try await rig.until { try await rig.store.campaigns.find("correction") != nil }
    expect(try await rig.store.campaigns.find("correction")?.state, is: .active)
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

  private func check(_ rig: WorkerRig, largeAudience: Int = 1_000_000) -> ApprovalCheck {
    let service = rig.channel.services[0].service
    return ApprovalCheck(
      store: rig.store, apps: .known(["news": [service]]), channels: ["news": rig.channel],
      largeAudience: largeAudience)
  }

  private func job(_ audience: String, _ rig: WorkerRig) throws -> (campaign: Campaign, job: [UInt8]) {
    let job = Array(#"{"id":"c","app":"news","audience":\#(audience),"message":{"body":"hi"}}"#.utf8)
    return (try CampaignJob.parse(job, .known(["news": [rig.channel.services[0].service]])), job)
  }

  /// The approver of a campaign with a large audience sees the number of the estimate, and not the sum of the segments.
  @Test(arguments: [10, 1000])
  func largeAudienceIsCountedLikeASmallOne(largeAudience: Int) async throws {
    let rig = try await rig(engine: .native)
    for segment in ["fans", "readers"] {
      try await rig.store.audiences.add((0..<Self.users).map { "u\($0)" }, to: segment)
    }
    let (campaign, job) = try job(#"{"segment":"fans | readers"}"#, rig)
    expect(try await rig.store.limits.estimate(of: campaign).targets, is: 2 * Self.users)
    let filter = try rig.channel.filter(of: campaign, start: 0)
    let estimate = try await rig.store.audiences.count(campaign, filter: filter)
    expect(estimate.targets, is: Self.users)
    let need = try await check(rig, largeAudience: largeAudience).reason(of: campaign, job: job)
    expect(need?.reached, is: estimate)
    expect(need?.reason.hasPrefix("needs approval: 60 targets when counted, and app news requires"), is: true)
    // A count decides, even if the sum of the segments is above the limit.
    var channel = rig.channel
    channel.approvalAbove = Self.users
    let service = rig.channel.services[0].service
    let other = ApprovalCheck(
      store: rig.store, apps: .known(["news": [service]]), channels: ["news": channel], largeAudience: largeAudience)
    expect(try await other.reason(of: campaign, job: job), is: nil)
  }

  /// The recipients of a campaign that has not ended can't be counted, so the approver sees no number.
  @Test func audienceThatCannotBeCountedHasNoNumber() async throws {
    let rig = try await rig(engine: .native)
    let story = Array(#"{"id":"story","app":"news","audience":{"segment":"*"},"message":{"body":"hi"}}"#.utf8)
    let apps = JobApps.known(["news": [rig.channel.services[0].service]])
    _ = try await rig.store.queue.activate(
      CampaignJob.parse(story, apps), job: story, worker: "other", narrowed: true)
    // A page of the targets that are found so far.
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    _ = try await client.command("RPUSH", "{\(rig.keys.namespace):0}:targets:story", "x").get()
    await client.close()
    let (campaign, job) = try job(#"{"campaign":"story"}"#, rig)
    let need = try #require(try await check(rig).reason(of: campaign, job: job))
    expect(need.reached, is: nil)
    expect(
      need.reason.hasPrefix(
        "needs approval: its targets can't be counted, because the audience refers to campaign story, which has not"),
      "\(need.reason)")
  }

  /// A worker that stops ends a count before its next partition.
  @Test func countEndsWithItsWorker() async throws {
    let rig = try await rig(engine: .native)
    let (campaign, job) = try job(#"{"segment":"*"}"#, rig)
    let calls = Mutex(0)
    var check = check(rig)
    check.proceed = {
      let count = calls.withLock { calls in
        calls += 1
        return calls
      }
      if count == 2 { throw JobChecker.Stopped() }
    }
    await #expect(throws: JobChecker.Stopped.self) { try await check.reason(of: campaign, job: job) }
    expect(calls.withLock { $0 }, is: 2)
  }
}
