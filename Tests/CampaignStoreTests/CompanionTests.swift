@testable import CampaignStore
import APNs
import PushCore
import Redis
import Testing

/// What is sent beside a campaign is taken in after it, once, and does what the campaign does.
struct CompanionTests {
  private static let also = #","also":["widgets"]"#

  private func campaign(_ job: [UInt8]) throws -> Campaign { try CampaignJob.parse(job, .any(APNsService())) }

  private func jobs(_ world: TestStore) async throws -> [[UInt8]] {
    try await world.command("LRANGE", world.keys.campaigns, 0, -1).compactMap { $0.bytes.map(Array.init) }
  }

  private func activate(_ id: String, _ more: String = also, approval: String? = nil, in world: TestStore) async throws
  {
    let job = TestStore.job(id, audience: #"{"segment":"*"}"#, more)
    #expect(
      try await world.store.activate(campaign(job), job: job, worker: "w", narrowed: true, approval: approval) == .new
    )
  }

  /// What a worker does with the only job that waits.
  private func takeIn(_ world: TestStore) async throws -> String {
    let job = try #require(try await world.store.awaitJob(worker: "w", seconds: 1, now: 0))
    let campaign = try campaign(job)
    #expect(try await world.store.activate(campaign, job: job, worker: "w", narrowed: true) == .new)
    return campaign.id
  }

  @Test(arguments: Backend.wholeWay)
  func companionIsQueuedOnceHoweverOftenItsCampaignIsTakenIn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#, Self.also)
    let lead = try campaign(job)
    // Until the campaign is there nothing is: a worker that dies before has done nothing.
    #expect(try await jobs(world).isEmpty)
    #expect(try await world.store.activate(lead, job: job, worker: "one", narrowed: true) == .new)
    #expect(try await jobs(world).map { try campaign($0).id } == ["a.widgets"])
    #expect(try await world.store.campaign("a")?.companions == ["a.widgets"])
    // Its job comes back: the worker died, and another takes it in.
    #expect(try await world.store.activate(lead, job: job, worker: "two", narrowed: true) == .duplicate)
    #expect(try await jobs(world).count == 1)
    // Redis lost the campaign and not its companion's job: that is not there twice.
    try await world.command("DEL", world.keys.campaign("a"), world.keys.job("a"))
    #expect(try await world.store.activate(lead, job: job, worker: "two", narrowed: true) == .new)
    #expect(try await jobs(world).count == 1)
    #expect(try await takeIn(world) == "a.widgets")
    #expect(try await world.store.show("a.widgets")?.state == .active)
    try await world.command("DEL", world.keys.campaign("a"), world.keys.job("a"))
    #expect(try await world.store.activate(lead, job: job, worker: "two", narrowed: true) == .new)
    #expect(try await jobs(world).isEmpty)
    // And a companion has none of its own.
    #expect(try await world.store.campaign("a.widgets")?.companions == [])
  }

  @Test(arguments: Backend.wholeWay)
  func idOfACompanionThatIsTakenIsTheJobsFault(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("a.widgets", "", in: world)
    let job = TestStore.job("a", audience: #"{"users":["ada"]}"#, Self.also)
    let error = await #expect(throws: StoreError.self) {
      try await world.store.activate(campaign(job), job: job, worker: "w")
    }
    #expect(error?.code == .invalid && error?.message == "also: a.widgets was used for another job")
    #expect(try await world.store.campaign("a") == nil)
    #expect(try await world.command("EXISTS", world.keys.audience(0, "a")).integer == 0)
  }

  @Test(arguments: Backend.wholeWay)
  func whatIsDoneToACampaignIsDoneToItsCompanion(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    func states() async throws -> [CampaignState?] {
      [try await world.store.show("a")?.state, try await world.store.show("a.widgets")?.state]
    }
    try await activate("a", in: world)
    // Before it is taken in: it begins as its campaign is.
    try await world.store.control("a", .pause, reason: "looks wrong")
    #expect(try await takeIn(world) == "a.widgets")
    #expect(try await states() == [.paused, .paused])
    #expect(try await world.store.show("a.widgets")?.reason == "looks wrong")
    #expect(try await world.store.dequeueSlice(worker: "w") == nil)
    #expect(try await world.store.control("a", .resume) == .active)
    #expect(try await states() == [.active, .active])
    let references = [
      try await world.store.dequeueSlice(worker: "w"), try await world.store.dequeueSlice(worker: "w"),
    ].compactMap { $0?.campaign }
    #expect(Set(references) == ["a", "a.widgets"])
    let (state, unconfirmed) = try await world.store.controlEverywhere("a", .pause, by: "ada", lease: 100)
    #expect(state == .paused && unconfirmed.isEmpty)
    #expect(try await states() == [.paused, .paused])
    #expect(try await world.store.timeline(of: "a.widgets").map(\.verb) == [.resume, .pause])
    #expect(try await world.store.control("a", .cancel) == .cancelled)
    #expect(try await states() == [.cancelled, .cancelled])
    // The other way round it is alone.
    try await activate("b", in: world)
    #expect(try await takeIn(world) == "b.widgets")
    #expect(try await world.store.control("b.widgets", .cancel) == .cancelled)
    #expect(try await world.store.show("b")?.state == .active)
  }

  @Test(arguments: Backend.wholeWay)
  func companionOfACancelledCampaignHasEndedWhenItIsTakenIn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await activate("a", in: world)
    try await world.store.control("a", .cancel, reason: "wrong story")
    #expect(try await takeIn(world) == "a.widgets")
    let record = try #require(try await world.store.show("a.widgets"))
    #expect(record.state == .cancelled && record.finishedAt != nil && record.reason == "wrong story")
    #expect(record.slices == (2, 2) && record.counters.targets == 0)
    #expect(try await world.command("LLEN", world.keys.open("a.widgets")).integer == 0)
    // It goes like anything that has ended.
    #expect(try await world.command("TTL", world.keys.campaign("a.widgets")).integer ?? 0 > 0)
  }

  @Test(arguments: Backend.wholeWay)
  func companionWaitsForTheApprovalOfItsCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("big", Self.also + #","submittedBy":"ada""#, approval: "needs approval: it is large", in: world)
    #expect(try await takeIn(world) == "big.widgets")
    var record = try #require(try await world.store.show("big.widgets"))
    #expect(record.state == .paused && record.needsApproval && record.reason == "needs approval: it is large")
    // By itself it goes on for nobody.
    #expect(try await world.store.control("big.widgets", .resume) == .paused)
    #expect(try await world.store.approve("big", by: "grace") == .active)
    record = try #require(try await world.store.show("big.widgets"))
    #expect(record.state == .active && !record.needsApproval && record.approvedBy == "grace")
    // Approved while its job was still on the list.
    try await activate("two", approval: "needs approval", in: world)
    #expect(try await world.store.approve("two", by: "grace") == .active)
    #expect(try await takeIn(world) == "two.widgets")
    #expect(try await world.store.show("two.widgets")?.state == .active)
  }

  @Test(arguments: Backend.wholeWay)
  func runsOfARepeatedJobHaveCompanionsAndTheJobItselfNone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate("digest", Self.also + #","repeat":{"cron":"0 * * * *"}"#, in: world)
    #expect(try await jobs(world).isEmpty)
    #expect(try await world.store.campaign("digest")?.companions == [])
    let now = try await world.store.time() / 1000
    try await world.command("HSET", world.keys.campaign("digest"), "sendAt", now - now % 3_600_000)
    #expect(try await world.store.promote(["digest"]).count == 1)
    let run = try await takeIn(world)
    #expect(run.hasPrefix("digest."))
    #expect(try await takeIn(world) == run + ".widgets")
  }

  // MARK: The rest of a canary, and forged jobs

  private static let canary = #","canary":{"share":0.5,"wait":"1h","maxFailures":0.5}"#

  /// Takes in a campaign with a canary and its rest, as a worker does.
  private func activateWithRest(_ world: TestStore) async throws {
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#, Self.canary)
    let rest = try CampaignJob.rest(of: job)
    #expect(try await world.store.submit(rest, as: campaign(rest)) == .new)
    #expect(try await world.store.activate(campaign(job), job: job, worker: "w", narrowed: true) == .new)
    #expect(try await takeIn(world) == "a.rest")
  }

  @Test(arguments: Backend.wholeWay, [false, true])
  func controlReachesTheRestOfACanaryAfterItsFirstPart(on backend: Backend, hasEnded: Bool) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activateWithRest(world)
    #expect(try await world.store.campaign("a")?.rest == "a.rest")
    if hasEnded {
      let ledger = try await world.claimed("a").ledger
      _ = try await world.expand(ledger, campaign(TestStore.job("a", audience: #"{"segment":"*"}"#, Self.canary)))
      guard case .closed(let counters) = try await ledger.close(.finish) else {
        Issue.record("the first part is not closed")
        return
      }
      let slice = SliceReference(campaign: "a", partition: 0)
      #expect(try await world.store.finish(slice, counters: counters, lane: .normal, worker: "w") == .completed)
      #expect(try await world.store.control("a", .pause) == .paused)
      #expect(try await world.store.campaign("a.rest")?.state == .paused)
      #expect(try await world.store.control("a", .resume) == .active)
    }
    #expect(try await world.store.control("a", .cancel) == .cancelled)
    #expect(try await world.store.campaign("a.rest")?.state == .cancelled)
    #expect(try await world.store.campaign("a")?.state == (hasEnded ? .completed : .cancelled))
  }

  @Test(arguments: Backend.wholeWay)
  func jobThatOnlyClaimsToBeDerivedIsNotTakenIn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let forged = [
      #"{"id":"a.widgets","beside":"a","pushType":"widgets","app":"news","audience":{"segment":"*"},"#
        + #""payload":{"aps":{"content-changed":true}}}"#,
      #"{"id":"a.rest","canary":{"share":0.5,"wait":"0s","maxFailures":1,"of":"a"},"app":"news","#
        + #""audience":{"segment":"*"},"payload":{"aps":{"alert":"x"}}}"#,
    ]
    for job in forged.map({ Array($0.utf8) }) {
      let campaign = try campaign(job)
      #expect(try await world.store.activate(campaign, job: job, worker: "w") == .forged)
      #expect(try await world.store.campaign(campaign.id) == nil)
    }
  }
}
