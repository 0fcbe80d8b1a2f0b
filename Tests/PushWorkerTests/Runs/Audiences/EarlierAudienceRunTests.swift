import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns to recipients of an earlier one, and without users who have opted out.
@Suite(.takesTurns) struct EarlierAudienceRunTests {
  @Test(arguments: PushEngineKind.one(for: "correctionReachesTheRecipients"))
  func correctionReachesTheRecipients(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(200) { $0 % 10 == 3 ? .unregistered : .registered }
    try await rig.store.audiences.add((0..<50).map { "u\($0)" }, to: "early")
    try await rig.submit("story", audience: #"{"segment":"early"}"#)
    try await rig.worker("first").run()
    try await rig.submit("correction", audience: #"{"campaign":"story"}"#)
    try await rig.submit("others", audience: #"{"segment":"*","exclude":{"campaign":"story"}}"#)
    try await rig.worker("second").run()
    let reached = Set((0..<50).filter { $0 % 10 != 3 }.map { "u\($0)" })
    expect(Set(try await rig.results("correction").map(\.user)), is: reached)
    // A user whose device was found gone is not registered any more.
    let left = Set((0..<200).map { "u\($0)" }).subtracting((0..<50).map { "u\($0)" })
    expect(Set(try await rig.results("others").map(\.user)), is: left)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignWaitsForOneThatHasNotEnded"))
  func campaignWaitsForOneThatHasNotEnded(engine: PushEngineKind) async throws {
    // There are so many partitions that most have no target of the story when the correction is taken in.
    let rig = try await WorkerRig(engine: engine, partitions: 64, users: 20)
    try await rig.submit("story")
    // Another worker has taken the campaign in and does nothing.
    let job = try #require(try await rig.store.queue.awaitJob(worker: "slow", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "slow")
    try await rig.store.campaigns.control("story", .pause, reason: "")
    try await rig.submit("correction", audience: #"{"campaign":"story"}"#)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until {
      try await rig.store.campaigns.show("correction")?.waiting?.reason
        == "audience: campaign story, which it refers to, has not ended"
    }
    expect(await rig.simulator.counters().received, is: 0)
    try await rig.store.campaigns.control("story", .resume, reason: "")
    try await rig.until { try await rig.store.campaigns.show("correction")?.state == .completed }
    await worker.stop()
    try await running
    expect(try await rig.store.campaigns.show("correction")?.counters.outcomes, is: [.accepted: 20])
    expect(await rig.simulator.counters().accepted, is: 40)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignIsPausedIfTheEarlierOneHasExpired"))
  func campaignIsPausedIfTheEarlierOneHasExpired(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 20)
    try await rig.submit("story", audience: #"{"users":["u1"]}"#)
    try await rig.worker("first").run()
    try await rig.submit("others", audience: #"{"segment":"*","exclude":{"campaign":"story"}}"#)
    let job = try #require(try await rig.store.queue.awaitJob(worker: "slow", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: WorkerRig.topic))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "slow")
    try await rig.command("DEL", "campaign:story")
    let worker = rig.worker("second", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("others")?.state == .paused }
    await worker.stop()
    try await running
    let reason = try await rig.store.campaigns.show("others")?.reason ?? ""
    expect(reason.contains("refers to campaign 'story', which does not exist"), "\(reason)")
    expect(await rig.simulator.counters().received, is: 1)
  }

  @Test(arguments: PushEngineKind.one(for: "usersOnASuppressionListGetNothing"))
  func usersOnASuppressionListGetNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 100)
    try await rig.store.audiences.add((0..<10).map { "u\($0)" }, to: SuppressionList(app: "news").segment)
    try await rig.store.audiences.add(
      (10..<30).map { "u\($0)" }, to: SuppressionList(app: "news", category: "offers").segment)
    try await rig.store.audiences.add((30..<60).map { "u\($0)" }, to: SuppressionList(app: "shop").segment)
    try await rig.submit("story")
    try await rig.submit("offer", #","category":"offers""#)
    try await rig.submit("some", #","category":"offers""#, audience: #"{"users":["u1","u11","u31"]}"#)
    try await rig.submit("receipt", #","transactional":true"#)
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    for (id, count) in [("story", 90), ("offer", 70), ("some", 1), ("receipt", 100)] {
      expect(try await rig.store.campaigns.show(id)?.counters.outcomes, is: [.accepted: count], "\(id)")
    }
    expect(
      log.all.filter { $0.contains("activated") && $0.contains("isTransactional: true") }.count, is: 1, "\(log.all)")
  }
}
