@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// Alarms for campaigns that wait for approval. An alarm ends when an approver approves or cancels the campaign.
@Suite(.takesTurns) struct ApprovalAlarmTests {
  /// Milliseconds from now until the campaigns of a test begin.
  private static let day = 86_400_000

  private func activate(_ id: String, _ more: String = "", in world: TestStore) async throws {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(
      try await world.store.queue.activate(campaign, job: job, worker: "w", narrowed: true, approval: "it is large"),
      is: .new)
  }

  private func tomorrow(in world: TestStore) async throws -> String {
    ",\"sendAt\":\"\(Timestamp.format(milliseconds: try await world.store.time() / 1000 + Self.day))\""
  }

  /// Returns the alarms about approval by campaign id, as they are `after` milliseconds from now.
  private func alarms(in world: TestStore, after: Int = 0) async throws -> [String: FleetAlarm.Kind] {
    var fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    fleet.at += after
    let found = fleet.alarms().filter { [.approvalUrgent, .approvalWaits, .campaignPaused].contains($0.kind) }
    return Dictionary(uniqueKeysWithValues: found.map { ($0.subject, $0.kind) })
  }

  @Test(arguments: Backend.wholeWay)
  func waitingCampaignIsAnAlarmUntilItIsApproved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let later = try await tomorrow(in: world)
    try await activate("now", in: world)
    try await activate("later", later, in: world)
    // A campaign with parts raises one alarm.
    try await activate("parts", #","also":["widgets"]"#, in: world)
    expect(
      try await alarms(in: world), is: ["now": .approvalUrgent, "later": .approvalWaits, "parts": .approvalUrgent])
    expect(try await alarms(in: world, after: Self.day - 3_700_000)["later"], is: .approvalWaits)
    expect(try await alarms(in: world, after: Self.day - 3_500_000)["later"], is: .approvalUrgent)
    expect(try await alarms(in: world, after: 2 * Self.day)["later"], is: .approvalUrgent)
    let scheduled = try await world.store.campaigns.scheduled(count: 10)
    expect(Set(scheduled.map(\.id)) == ["now", "later", "parts"] && scheduled.allSatisfy(\.needsApproval))
    expect(scheduled.last?.id, is: "later")
    // A pause changes nothing, because the campaign is paused already.
    expect(try await world.store.campaigns.control("now", .pause), is: .paused)
    expect(try await world.store.campaigns.approve("now", by: "grace"), is: .active)
    expect(try await world.store.campaigns.approve("later", by: "grace"), is: .scheduled)
    expect(try await world.store.campaigns.control("parts", .cancel), is: .cancelled)
    expect(try await alarms(in: world).isEmpty)
    expect(try await world.store.campaigns.control("later", .pause), is: .paused)
    expect(try await alarms(in: world).isEmpty)
    expect(try await world.command("EXISTS", world.keys.approvals).integer, is: 0)
  }

  @Test(arguments: Backend.wholeWay)
  func gateThatNeedsApprovalIsUrgent(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate(
      "a", audience: #"{"segment":"*"}"#, #","stages":[{"share":0.5,"approval":true}]"#)
    expect(try await alarms(in: world).isEmpty)
    try await world.store.campaigns.control(
      "a", .pause, reason: "stage 1: it needs approval", gate: 0, needsApproval: true)
    expect(try await alarms(in: world), is: ["a": .approvalUrgent])
    // The campaign is running, so its alarm does not depend on the list. The list still contains it, because a snapshot
    // has at most 250 running campaigns.
    expect(try await world.command("ZSCORE", world.keys.approvals, "a").string != nil)
    expect(try await world.store.campaigns.approve("a", by: "grace"), is: .active)
    expect(try await alarms(in: world).isEmpty)
    expect(try await world.command("ZCARD", world.keys.approvals).integer, is: 0)
  }

  /// An earlier version has no list of campaigns that wait for approval.
  @Test(arguments: Backend.wholeWay)
  func housekeepingRepairsTheList(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("large", try await tomorrow(in: world), in: world)
    try await activate("parts", #","also":["widgets"]"#, in: world)
    try await world.command("DEL", world.keys.approvals)
    try await world.command("ZADD", world.keys.approvals, 1, "gone")
    expect(try await alarms(in: world).isEmpty)
    _ = try await world.store.queue.repairSchedule(from: 0)
    expect(try await alarms(in: world), is: ["large": .approvalWaits, "parts": .approvalUrgent])
    expect(try await world.command("ZCARD", world.keys.approvals).integer, is: 2)
  }
}
