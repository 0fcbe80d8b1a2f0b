@testable import CampaignStore
import APNs
import PushCore
import TestKit
import Testing

/// Approval of a large campaign by a second person, and the timeline that records each person's actions.
@Suite(.takesTurns) struct ApprovalTests {
  private func activate(_ id: String, _ more: String, _ approval: String?, in world: TestStore) async throws {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    try await world.storeSubmitter(of: job, campaign)
    expect(
      try await world.store.queue.activate(campaign, job: job, worker: "w", narrowed: true, approval: approval),
      is: .new)
  }

  /// A producer can write any name into a raw job, so approval ignores the name.
  @Test(arguments: Backend.wholeWay)
  func submitterNameInARawJobIsIgnored(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let job = TestStore.job("raw", audience: #"{"segment":"*"}"#, #","submittedBy":"ada""#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w", approval: "it is large"), is: .new)
    expect(try await world.store.campaigns.find("raw")?.approval.submittedBy, is: nil)
    // The submitter of a job that a call submits is known, even if the job itself names another submitter.
    let second = TestStore.job("called", audience: #"{"segment":"*"}"#, #","submittedBy":"ada""#)
    let called = try CampaignJob.parse(second, .any([APNsService()]))
    expect(try await world.store.queue.submit(second, as: called, by: "grace"), is: .new)
    expect(try await world.store.queue.activate(called, job: second, worker: "w", approval: "it is large"), is: .new)
    expect(try await world.store.campaigns.find("called")?.approval.submittedBy, is: "grace")
    await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("called", by: "grace") }
    // If an id is free again, another job under this id has no known submitter.
    let third = TestStore.job("later", audience: #"{"segment":"*"}"#)
    let first = TestStore.job("later", audience: #"{"users":["u1"]}"#)
    _ = try await world.store.queue.submit(first, as: CampaignJob.parse(first, .any([APNsService()])), by: "ada")
    try await world.store.queue.deadLetter(first, reason: "r", hint: "", worker: "w")
    let later = try CampaignJob.parse(third, .any([APNsService()]))
    expect(try await world.store.queue.activate(later, job: third, worker: "w"), is: .new)
    expect(try await world.store.campaigns.find("later")?.approval.submittedBy, is: nil)
  }

  @Test(arguments: Backend.wholeWay)
  func campaignWaitsUntilAnotherPersonApproves(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await activate("big", #","submittedBy":"ada""#, "needs approval: it is large", in: world)
    var record = try #require(try await world.store.campaigns.show("big"))
    expect(record.state == .paused && record.reason == "needs approval: it is large" && record.approval.isNeeded)
    expect(record.approval.submittedBy == "ada" && record.approval.approvedBy == nil)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    let refusal = await #expect(throws: StoreError.self) {
      try await world.store.campaigns.resume("big", unguarded: false, by: "grace")
    }
    expect(refusal?.hint.contains("carillon campaign approve big --by NAME"), is: true)
    // No caller can bypass the approval: neither a worker nor a command of an earlier version.
    expect(try await world.store.campaigns.control("big", .resume), is: .paused)
    let own = await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("big", by: "ada") }
    expect(own?.message.contains("'ada' submitted campaign big"), is: true)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.approve("big", by: "grace"), is: .active)
    record = try #require(try await world.store.campaigns.show("big"))
    expect(
      record.state == .active && record.reason == nil && !record.approval.isNeeded
        && record.approval.approvedBy == "grace")
    expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: "big")
    let again = await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("big", by: "grace") }
    expect(again?.message.contains("needs no approval: it is active"), is: true)
  }

  @Test(arguments: Backend.wholeWay)
  func campaignApprovedBeforeItsTimeIsScheduled(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let tomorrow = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 86_400_000)
    try await activate("later", ",\"sendAt\":\"\(tomorrow)\"", "needs approval", in: world)
    expect(try await world.store.queue.promote(["later"]).isEmpty)
    expect(try await world.store.campaigns.show("later")?.state, is: .paused)
    expect(try await world.store.campaigns.approve("later", by: "grace"), is: .scheduled)
    // A cancelled campaign can't be approved.
    try await activate("never", "", "needs approval", in: world)
    expect(try await world.store.campaigns.control("never", .cancel), is: .cancelled)
    await #expect(throws: StoreError.self) { try await world.store.campaigns.approve("never", by: "grace") }
  }

  /// Relative times of a campaign that is approved or resumed after its planned start count from then.
  @Test(arguments: ["", #","stages":[{"share":0.5}]"#], [ControlVerb.approve, .resume])
  func lateStartMovesRelativeTimes(stages: String, verb: ControlVerb) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let soon = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 3_600_000)
    try await activate(
      "late", #","expiration":"2h","sendAt":"\#(soon)""# + stages, verb == .approve ? "it is large" : nil, in: world)
    if verb == .resume { try await world.store.campaigns.control("late", .pause) }
    let id = stages.isEmpty ? "late" : "late~1"
    // The planned start has passed for three hours.
    let planned = try await world.store.time() / 1000 - 3 * 3_600_000
    for id in Set(["late", id]) {
      try await world.command("HSET", world.keys.campaign(id), "sendAt", planned, "expiration", planned / 1000 + 7200)
    }
    let before = try await world.store.time() / 1000
    if verb == .approve {
      expect(try await world.store.campaigns.approve("late", by: "bob"), is: .active)
    } else {
      expect(try await world.store.campaigns.resume("late", unguarded: false, by: "bob").state, is: .active)
    }
    let record = try #require(try await world.store.campaigns.find(id))
    expect(record.start >= before)
    expect(record.delivery.expiration, is: record.start / 1000 + 7200)
    // A pause after the start moves nothing.
    try await world.store.campaigns.control("late", .pause)
    try await world.command("HSET", world.keys.campaign(id), "start", before - 1)
    _ = try await world.store.campaigns.resume("late", unguarded: false, by: "bob")
    expect(try await world.store.campaigns.find(id)?.start, is: before - 1)
  }

  /// A resume of a campaign that has begun changes neither its start nor its expiration.
  @Test func resumeKeepsTheStart() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await activate("begun", #","expiration":"2h""#, nil, in: world)
    let before = try #require(try await world.store.campaigns.find("begun"))
    try await world.store.campaigns.control("begun", .pause)
    try await world.store.campaigns.control("begun", .resume)
    let after = try #require(try await world.store.campaigns.find("begun"))
    expect(after.start == before.start && after.delivery.expiration == before.delivery.expiration)
    expect(after.staging.begunAt, is: nil)
  }

  /// A late start changes neither an expiration at an instant nor the local times of devices.
  @Test func lateStartKeepsAbsoluteTimes() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let now = try await world.store.time() / 1000
    let end = Timestamp.format(milliseconds: now + 86_400_000)
    try await activate("instant", #","expiration":"\#(end)""#, "it is large", in: world)
    let wall = Timestamp.format(milliseconds: now + 2 * 86_400_000).prefix(19)
    try await activate("local", #","localTime":true,"sendAt":"\#(wall)","expiration":"2h""#, "it is large", in: world)
    let before = try await world.store.campaigns.find("local")
    for id in ["instant", "local"] { _ = try await world.store.campaigns.approve(id, by: "bob") }
    expect(try await world.store.campaigns.find("instant")?.delivery.expiration, is: (now + 86_400_000) / 1000)
    expect(try await world.store.campaigns.find("local")?.start, is: before?.start)
  }

  @Test(arguments: Backend.wholeWay)
  func timelineNamesActorsAndActions(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("a", "", nil, in: world)
    let start = try await world.store.time() / 1000
    try await world.store.campaigns.control("a", .pause, reason: "looks\twrong")
    // A call that changes nothing is not recorded.
    try await world.store.campaigns.control("a", .pause, reason: "again")
    _ = try await world.store.campaigns.resume("a", unguarded: false, by: "Grace H.")
    _ = try await world.store.campaigns.controlEverywhere("a", .cancel, reason: "", by: "ada", lease: 100)
    let timeline = try await world.store.campaigns.timeline(of: "a")
    expect(timeline.map(\.verb), is: [.pause, .resume, .cancel])
    expect(timeline.map(\.isByWorker), is: [true, false, false])
    expect(timeline.map(\.person), is: [nil, "Grace H.", "ada"])
    expect(timeline.map(\.reason), is: ["looks\twrong", nil, nil])
    expect(timeline.allSatisfy { (start...start + 60_000).contains($0.at) })
    expect(timeline.map(\.at), is: timeline.map(\.at).sorted())
  }

  @Test(arguments: Backend.wholeWay)
  func timelineIsBounded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("a", "", nil, in: world)
    for number in 0..<105 {
      try await world.store.campaigns.control("a", .pause, reason: "\(number)")
      try await world.store.campaigns.control("a", .resume)
    }
    let timeline = try await world.store.campaigns.timeline(of: "a")
    expect(timeline.count == 200 && timeline.first?.reason == "5" && timeline.last?.verb == .resume)
  }
}
