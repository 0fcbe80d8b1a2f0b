@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// Recurring campaigns. Each run begins once, and several missed runs are replaced by one.
@Suite(.takesTurns) struct RepetitionTests {
  private static let hour = 3_600_000

  func activate(
    _ world: TestStore, _ more: String = "", cron: String = "0 * * * *", _ job: String = ""
  ) async throws {
    try await world.activate("digest", #","repeat":{"cron":"\#(cron)"\#(more)}"# + job)
  }

  /// Moves the time of the next run to `hours` hours ago, so that the test does not wait for it.
  func letPass(hours: Int = 0, _ world: TestStore) async throws {
    let id = "digest"
    let now = try await world.store.time() / 1000
    let due = now / Self.hour * Self.hour - hours * Self.hour
    try await world.command("HSET", world.keys.campaign(id), "sendAt", due)
    try await world.command("ZADD", world.keys.schedule, "XX", due, id)
  }

  func jobs(_ world: TestStore) async throws -> [String] {
    try await world.command("LRANGE", world.keys.campaigns, 0, -1).compactMap(\.string)
  }

  /// Takes in the waiting request, as a worker does.
  @discardableResult
  func takeIn(_ world: TestStore, again: Bool = false, approval: String? = nil) async throws -> Campaign {
    let request = try #require(try await world.store.queue.awaitJob(worker: "w", seconds: 1, now: 1))
    let id = try #require(RunRequest.id(request))
    let job = try #require(try await world.store.queue.job(ofRun: id))
    let campaign = try CampaignJob.parse(job, .any([APNsService()]), as: id)
    expect(
      try await world.store.queue.activate(campaign, job: job, request: request, worker: "w", approval: approval),
      is: again ? .duplicate : .new)
    expect(try await world.command("LLEN", world.keys.intake(worker: "w")).integer, is: 0)
    return campaign
  }

  @Test(arguments: Backend.wholeWay)
  func eachRunIsACampaignOfItsOwn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world)
    var record = try #require(try await world.store.campaigns.show("digest"))
    let now = try await world.store.time() / 1000
    expect(record.state == .scheduled && record.slices.total == 0)
    expect(try #require(record.times.sendAt) > now && record.times.sendAt.map { $0 % Self.hour } == 0)
    expect(record.repetition, is: RepetitionRecord(schedule: "0 * * * *", runs: 0, leftOut: 0, lastRun: nil))
    expect(try await world.store.queue.promote(["digest"]), is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.isIdle())

    try await letPass(world)
    let due = try #require(try await world.store.campaigns.find("digest")?.times.sendAt)
    let run = "digest~" + WallTime.format(due / 1000).filter { $0 != "-" && $0 != ":" }.prefix(13)
    expect(try await world.store.queue.promote(world.store.dueTasks("w").scheduled), is: [run])
    expect(try await world.store.queue.promote(["digest"]), is: [])
    expect(try await jobs(world).count, is: 1)
    let campaign = try await takeIn(world)
    expect(campaign.id == run && campaign.delivery.timing.repetition == nil)
    expect(try await world.store.campaigns.find(run)?.state, is: .active)
    record = try #require(try await world.store.campaigns.find("digest"))
    expect(record.state == .scheduled && record.repetition?.runs == 1 && record.repetition?.lastRun == run)
    expect(try #require(record.times.sendAt) > now)
    expect(
      try await world.command("ZSCORE", world.keys.schedule, "digest").string, is: record.times.sendAt.map(String.init))
  }

  /// A recurring campaign that has ended leaves the schedule, whatever put it there.
  @Test(arguments: Backend.wholeWay)
  func endedCampaignLeavesTheSchedule(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world)
    try await world.store.campaigns.control("digest", .cancel)
    try await world.command("ZADD", world.keys.schedule, 1, "digest")
    expect(try await world.store.queue.promote(world.store.dueTasks("w").scheduled), is: [])
    expect(try await world.command("ZSCORE", world.keys.schedule, "digest").isNull)
    expect(try await jobs(world).isEmpty)
  }

  @Test(arguments: Backend.wholeWay)
  func eightWorkersBeginEachRunAndMissedRunsOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world)
    var ids: Set<String> = []
    for round in 0..<5 {
      // No worker was running for hours.
      try await letPass(hours: round + 3, world)
      let begun = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<8 {
          group.addTask {
            let client = try await backend.connect()
            defer { Task { await client.close() } }
            let store = CampaignStore(redis: client, keys: world.keys, services: TestStore.services)
            return try await store.queue.promote(["digest"])
          }
        }
        return try await group.reduce([], +)
      }
      expect(begun.count, is: 1)
      expect(try await jobs(world).count, is: 1)
      // No other run begins before the waiting one is taken in.
      try await letPass(hours: 1, world)
      expect(try await world.store.queue.promote(["digest"]), is: [])
      // The last missed run begins, not the first. All runs are of this hour, or of the next one if it has just begun.
      if ids.insert(begun[0]).inserted { _ = try await takeIn(world) } else { _ = try await takeIn(world, again: true) }
    }
    expect(try await world.store.campaigns.find("digest")?.repetition?.runs, is: 5)
    expect(ids.count <= 2)
  }

  @Test(arguments: Backend.wholeWay)
  func recurringCampaignEndsAfterItsCountAndExpires(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world, #","count":2"#)
    for run in 1...2 {
      try await letPass(world)
      // Runs in one hour have the same id, so the test takes in each before the next.
      expect(try await world.store.queue.promote(["digest"]).count, is: 1)
      // The campaign ends only after its final run has been taken in.
      expect(try await world.store.queue.promote(["digest"]), is: [])
      expect(try await world.store.campaigns.find("digest")?.state, is: .scheduled)
      _ = try await takeIn(world, again: run == 2)
    }
    expect(try await world.store.queue.promote(world.store.dueTasks("w").scheduled), is: [])
    expect(try await world.store.campaigns.find("digest")?.state, is: .completed)
    expect(try await world.command("ZCARD", world.keys.schedule).integer, is: 0)
    expect(try await world.store.campaigns.find("digest")?.times.finishedAt != nil)
    expect(try #require(try await world.command("TTL", world.keys.campaign("digest")).integer) > 0)
    expect(try await world.store.queue.promote(["digest"]), is: [])
  }

  @Test(arguments: Backend.wholeWay)
  func runIsSkippedWhileTheOneBeforeIsActive(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<1)
    try await activate(world, #","skipIfRunning":true"#)
    try await letPass(hours: 1, world)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    let first = try await takeIn(world).id
    expect(
      try await world.store.audiences.fixPartitions(
        of: CampaignJob.parse(
          #require(try await world.store.campaigns.findWithJob(first)).job, .any([APNsService()]), as: first)) != nil)
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]), is: [])
    expect(try await world.store.campaigns.find("digest")?.repetition?.leftOut, is: 1)
    try await world.store.campaigns.control(first, .cancel)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let ledger = try await world.claimed(first, slice.partition).ledger
    guard case .closed(let counters) = try await ledger.close(.cancel) else {
      Issue.record("it was not closed")
      return
    }
    _ = try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w")
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    expect(try await world.store.campaigns.find("digest")?.repetition?.runs, is: 2)
  }

  @Test(arguments: Backend.wholeWay)
  func runsMissedDuringAPauseAreSkipped(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world)
    expect(try await world.store.campaigns.control("digest", .pause), is: .paused)
    try await letPass(hours: 5, world)
    expect(try await world.store.queue.promote(["digest"]), is: [])
    let now = try await world.store.time() / 1000
    expect(try await world.store.campaigns.control("digest", .resume), is: .scheduled)
    expect(try #require(try await world.store.campaigns.find("digest")?.times.sendAt) > now)
    expect(try await world.store.queue.promote(["digest"]), is: [])
    expect(try await jobs(world), is: [])
    // A cancel ends the recurring campaign and its run, whether a worker has taken the run in or not.
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    expect(try await world.store.campaigns.control("digest", .cancel), is: .cancelled)
    expect(try await world.store.campaigns.find("digest")?.times.finishedAt != nil)
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]), is: [])
    let run = try await takeIn(world).id
    expect(try await world.store.campaigns.find(run)?.state, is: .cancelled)
  }

  @Test(arguments: Backend.wholeWay)
  func forEachDevicesClockARunBeginsBeforeTheFirstOfThem(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world, cron: "0 9 * * *", #","localTime":true"#)
    let record = try #require(try await world.store.campaigns.find("digest"))
    let wall = try #require(record.times.sendAt) / 1000 + 14 * 3600
    expect(WallTime.format(wall).hasSuffix("T09:00:00"))
    try await world.command("HSET", world.keys.campaign("digest"), "sendAt", (wall - 86400 - 14 * 3600) * 1000)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    let campaign = try await takeIn(world)
    expect(campaign.delivery.timing.localTime, is: LocalTime(wall: wall - 86400))
    expect(try await world.store.campaigns.find("digest")?.times.sendAt, is: record.times.sendAt)
  }

  @Test(arguments: Backend.wholeWay)
  func scheduleWithoutAFutureTimeIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let job = TestStore.job(
      "late", audience: #"{"segment":"*"}"#, #","repeat":{"cron":"0 9 * * *","end":"2020-01-01T00:00:00Z"}"#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    let error = await #expect(throws: StoreError.self) { _ = try await world.store.queue.submit(job, as: campaign) }
    expect(error?.code == .invalid && error?.message.contains("no time of '0 9 * * *' remains") == true)
  }

  /// Only runs that the recurring campaign lists exist. A producer can't make one.
  @Test(arguments: Backend.wholeWay)
  func runThatTheCampaignDoesNotListDoesNotExist(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world)
    expect(try await world.store.queue.job(ofRun: "digest~20261201T0900"), is: nil)
    let job = TestStore.job("digest", audience: #"{"segment":"*"}"#)
    let forged = try CampaignJob.parse(job, .any([APNsService()]), as: "digest~20261201T0900")
    expect(try await world.store.queue.activate(forged, job: job, worker: "w"), is: .duplicate)
    expect(try await world.store.campaigns.find("digest~20261201T0900") == nil)
    let text =
      #"{"id":"digest~20261201T0900","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"badge":1}}}}"#
    #expect(throws: JobError.self) { try CampaignJob.parse(Array(text.utf8), .any([APNsService()])) }
  }

  /// Pause, resume and cancel of a recurring campaign reach its active run.
  @Test(arguments: Backend.wholeWay)
  func controlReachesTheActiveRun(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await activate(world, "", #","stages":[{"share":0.5}]"#)
    try await letPass(world)
    expect(try await world.store.queue.promote(["digest"]).count, is: 1)
    let run = try await takeIn(world).id
    func states() async throws -> [CampaignState?] {
      var states: [CampaignState?] = []
      for id in ["digest", run, run + "~1", run + "~rest"] {
        states.append(try await world.store.campaigns.find(id)?.state)
      }
      return states
    }
    expect(try await states(), is: [.scheduled, .active, .active, .waiting])
    expect(try await world.store.campaigns.control("digest", .pause), is: .paused)
    expect(try await states(), is: [.paused, .paused, .paused, .paused])
    expect(try await world.store.campaigns.control("digest", .resume), is: .scheduled)
    expect(try await states(), is: [.scheduled, .active, .active, .waiting])
    // A pause of the run alone does not pause the recurring campaign.
    expect(try await world.store.campaigns.control(run, .pause), is: .paused)
    expect(try await states(), is: [.scheduled, .paused, .paused, .paused])
    expect(try await world.store.campaigns.control("digest", .cancel), is: .cancelled)
    expect(try await states(), is: [.cancelled, .cancelled, .cancelled, .cancelled])
  }
}
