@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// Scheduled campaigns. A campaign begins once, at its time by Redis' clock, or never if it is cancelled before.
struct ScheduleTests {
  private static let hour = 3_600_000

  /// Activates a campaign that begins after `milliseconds`, and returns its start time.
  @discardableResult
  private func schedule(
    _ id: String, in milliseconds: Int = hour, _ world: TestStore, _ more: String = "", narrowing: Bool = false
  ) async throws -> Int {
    let sendAt = try await world.store.time() / 1000 + milliseconds
    try await world.activate(
      id, audience: #"{"segment":"*"}"#, #","sendAt":"\#(Timestamp.format(milliseconds: sendAt))""# + more,
      narrowing: narrowing)
    return sendAt
  }

  /// Moves a campaign's start time into the past, so that the test does not wait for it.
  private func letPass(_ id: String, _ world: TestStore) async throws {
    try await world.command("HSET", world.keys.campaign(id), "sendAt", 1)
    try await world.command("ZADD", world.keys.schedule, "XX", 1, id)
  }

  private func scheduled(_ world: TestStore) async throws -> [String] {
    try await world.command("ZRANGE", world.keys.schedule, 0, -1).compactMap(\.string)
  }

  private func lane(_ world: TestStore) async throws -> [String] {
    try await world.command("LRANGE", world.keys.lane("normal"), 0, -1).compactMap(\.string)
  }

  @Test(arguments: Backend.allCases)
  func campaignWaitsForItsTimeAndBeginsOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let sendAt = try await schedule("a", world)
    let record = try #require(try await world.store.campaigns.show("a"))
    expect(record.state, is: .scheduled)
    expect(record.times.sendAt, is: sendAt)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.isIdle())
    var pulse = try await world.store.dueTasks("w")
    expect(pulse.scheduled, is: [])
    expect((Self.hour - 60_000...Self.hour).contains(try #require(pulse.nextScheduled)))
    expect(try await world.store.queue.promote(["a"]), is: [])
    try await letPass("a", world)
    pulse = try await world.store.dueTasks("w")
    expect(pulse.scheduled, is: ["a"])
    expect(pulse.nextScheduled, is: nil)
    expect(try await world.store.queue.promote(["a"]), is: ["a"])
    expect(try await world.store.queue.promote(["a"]), is: [])
    expect(try await world.store.campaigns.find("a")?.state, is: .active)
    expect(try await lane(world), is: ["a"])
    expect(try await scheduled(world), is: [])
    expect(try await world.store.campaigns.isIdle(), is: false)
    expect(try await world.store.slices.dequeueSlice(worker: "w") != nil)
  }

  @Test(arguments: Backend.allCases)
  func timeThatHasPassedMeansNow(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await schedule("a", in: -1, world)
    expect(try await world.store.campaigns.find("a")?.state, is: .active)
    expect(try await world.store.slices.dequeueSlice(worker: "w") != nil)
  }

  @Test(arguments: Backend.allCases)
  func eightWorkersBeginItOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    for round in 0..<10 {
      let id = "race-\(round)"
      try await schedule(id, world, narrowing: true)
      try await letPass(id, world)
      let begun = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<8 {
          group.addTask {
            let client = try await backend.connect()
            defer { Task { await client.close() } }
            let store = CampaignStore(redis: client, keys: world.keys, services: TestStore.services)
            let begun = try await store.queue.promote(store.dueTasks("w").scheduled)
            if let (_, job) = try await store.campaigns.findWithJob(id) {
              _ = try await store.audiences.fixPartitions(of: CampaignJob.parse(job, .any([APNsService()])))
            }
            return begun
          }
        }
        return try await group.reduce([], +)
      }
      expect(begun, is: [id])
      expect(try await lane(world).filter { $0 == id }, is: [id])
      // No user is registered, so all eight workers choose the first partition.
      expect(try await world.command("LRANGE", world.keys.open(id), 0, -1).map(\.string), is: ["0"])
    }
  }

  @Test(arguments: Backend.allCases)
  func cancelBeforeTheStartEndsItWithoutTargets(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await schedule("a", world)
    expect(try await world.store.campaigns.control("a", .cancel, reason: "wrong text"), is: .cancelled)
    let record = try #require(try await world.store.campaigns.show("a"))
    expect(record.times.finishedAt != nil)
    expect(record.reason, is: "wrong text")
    expect(record.counters, is: SliceCounters())
    expect(record.slices.finished, is: record.slices.total)
    expect(try await scheduled(world), is: [])
    expect(try await world.store.queue.promote(["a"]), is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.isIdle())
    // The campaign expires, like any campaign that has ended.
    expect(try #require(try await world.command("TTL", world.keys.campaign("a")).integer) > 0)
    expect(try await world.command("EXISTS", world.keys.open("a")).integer, is: 0)
    expect(try await world.store.campaigns.control("a", .resume), is: .cancelled)
  }

  @Test(arguments: Backend.allCases)
  func cancelThatRacesWithItsTimeLeavesNothingHalfDone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let other = try await backend.connect()
    let rival = CampaignStore(redis: other, keys: world.keys, services: TestStore.services)
    for round in 0..<20 {
      let id = "race-\(round)"
      try await schedule(id, world)
      try await letPass(id, world)
      async let promoted = rival.queue.promote([id])
      expect(try await world.store.campaigns.control(id, .cancel), is: .cancelled)
      let hasBegun = try await promoted == [id]
      let record = try #require(try await world.store.campaigns.find(id))
      expect(record.state, is: .cancelled)
      expect(record.times.finishedAt == nil, is: hasBegun)
      expect(try await world.store.queue.promote([id]), is: [])
      // If the campaign has begun, its slice can be dequeued and closed. Otherwise it has no slice.
      expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: hasBegun ? id : nil)
    }
    await other.close()
  }

  @Test(arguments: Backend.allCases)
  func resumeSchedulesOrBeginsAPausedCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let sendAt = try await schedule("a", world)
    expect(try await world.store.campaigns.control("a", .pause), is: .paused)
    expect(try await scheduled(world), is: [])
    expect(try await world.store.campaigns.control("a", .resume), is: .scheduled)
    expect(try await world.command("ZSCORE", world.keys.schedule, "a").string, is: String(sendAt))
    expect(try await world.store.campaigns.control("a", .resume), is: .scheduled)

    expect(try await world.store.campaigns.control("a", .pause), is: .paused)
    try await letPass("a", world)
    expect(try await world.store.queue.promote(["a"]), is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await world.store.campaigns.isIdle())
    expect(try await world.store.campaigns.control("a", .resume), is: .active)
    expect(try await world.store.campaigns.isIdle(), is: false)
    expect(try await world.store.slices.dequeueSlice(worker: "w") != nil)
    // After its start the campaign is paused and resumed like any other.
    expect(try await world.store.campaigns.control("a", .pause), is: .paused)
    expect(try await world.store.campaigns.control("a", .resume), is: .active)
  }

  @Test(arguments: Backend.allCases)
  func pausedScheduledCampaignIsCancelledImmediately(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await schedule("a", world)
    try await world.store.campaigns.control("a", .pause)
    expect(try await world.store.campaigns.control("a", .cancel), is: .cancelled)
    expect(try await world.store.campaigns.find("a")?.times.finishedAt != nil)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func timeThatIsMoreThanAYearAheadIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let day = 24 * Self.hour
    try await schedule("near", in: 366 * day - Self.hour, world)
    let sendAt = try await world.store.time() / 1000 + 366 * day + Self.hour
    let job = TestStore.job(
      "far", audience: #"{"segment":"*"}"#, #","sendAt":"\#(Timestamp.format(milliseconds: sendAt))""#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    let refused = [
      await #expect(throws: StoreError.self) { try await world.store.queue.submit(job, as: campaign) },
      await #expect(throws: StoreError.self) { try await world.store.queue.activate(campaign, job: job, worker: "w") },
    ]
    for error in refused {
      expect(error?.code, is: .invalid)
      expect(error?.message.contains("sendAt") == true && error?.hint == "check the year")
    }
  }

  @Test(arguments: Backend.allCases)
  func expirationAndIDLifetimeCountFromTheStart(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let sendAt = try await schedule("a", in: 200 * 24 * Self.hour, world, #","expiration":"4h""#)
    expect(try await world.store.campaigns.find("a")?.delivery.expiration, is: sendAt / 1000 + 14_400)
    let days = try #require(try await world.command("TTL", world.keys.job("a")).integer) / 86_400
    expect((289...290).contains(days))
    let late = try await schedule("b", in: -Self.hour, world, #","expiration":"4h""#)
    expect(try #require(try await world.store.campaigns.find("b")?.delivery.expiration) >= late / 1000 + 14_400 + 3600)
  }

  @Test(arguments: Backend.allCases)
  func scheduleIsRepaired(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await schedule("lost", world)
    try await schedule("gone", world)
    try await world.activate("active")
    try await world.command("DEL", world.keys.schedule)
    try await world.command("ZADD", world.keys.schedule, 1, "gone")
    try await world.command("ZADD", world.keys.schedule, 1, "active")
    try await world.command("DEL", world.keys.campaign("gone"))
    expect(try await world.store.queue.repairSchedule(from: 0) == ([], 0))
    expect(Set(try await scheduled(world)), is: ["lost", "gone", "active"])
    expect(try await world.store.queue.promote(try await world.store.dueTasks("w").scheduled), is: [])
    expect(try await scheduled(world), is: ["lost"])
    expect(try await lane(world), is: ["active"])
  }

  @Test(arguments: Backend.allCases)
  func scheduleOfManyCampaignsIsRepairedPageByPage(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for number in 0..<501 { try await schedule("c\(number)", world) }
    try await world.command("DEL", world.keys.schedule)
    expect(try await world.store.queue.repairSchedule(from: 0).next, is: 500)
    expect(try await world.store.queue.repairSchedule(from: 500).next, is: 0)
    expect(try await scheduled(world).count, is: 501)
  }
}
