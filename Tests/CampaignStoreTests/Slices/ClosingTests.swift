@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// The end of slices and campaigns. A slice ends once, with an outcome for every target. A campaign ends with its last
/// slice.
struct ClosingTests {
  @Test(arguments: Backend.allCases)
  func sliceWithAnythingLeftIsNotFinished(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 3)
    expect(try await ledger.close(.finish).counters, is: nil)
    try await ledger.commit(credit: 3)
    expect(try await ledger.close(.finish).counters, is: nil)
    try await ledger.commit([0: .terminal(.accepted), 1: .terminal(.failed), 2: .waiting(milliseconds: 60_000)])
    expect(try await ledger.close(.finish).counters, is: nil)
    try await ledger.commit([2: .terminal(.expired)])
    let counters = try #require(try await ledger.close(.finish).counters)
    expect(counters.targets, is: 3)
    expect(counters.outcomes, is: [.accepted: 1, .failed: 1, .expired: 1])
    // A caller that missed the reply gets it again, and nothing changes any more.
    expect(try await ledger.close(.finish).counters, is: counters)
    expect(try await ledger.close(.cancel).counters, is: counters)
    expect(try await ledger.commit([0: .terminal(.failed)]).isOwner, is: false)
    expect(try await ledger.close(.finish).counters, is: counters)
  }

  @Test(arguments: Backend.allCases)
  func unsealedSliceIsNotFinished(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    expect(try await world.claimed("a").ledger.close(.finish).counters, is: nil)
  }

  @Test(arguments: Backend.allCases)
  func cancelledSliceGivesEveryTargetAnOutcome(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 10, granted: 6)
    try await ledger.commit([
      0: .terminal(.accepted), 1: .terminal(.badToken), 2: .waiting(milliseconds: 60_000), 3: .waiting(),
    ])
    // One retry is granted again. It is in doubt, like targets 4 and 5.
    expect(try await ledger.commit(credit: 1).retries.map(\.index), is: [3])
    try await world.store.campaigns.control("a", .cancel)
    let counters = try #require(try await ledger.close(.cancel).counters)
    expect(counters.outcomes, is: [.accepted: 1, .badToken: 1, .unknown: 3, .cancelled: 5])
    expect(counters.inDoubt, is: 0)
    expect(counters.retrying, is: 0)
    expect(counters.targets, is: 10)
    let slice = SliceReference(campaign: "a", partition: 0)
    expect(try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w"), is: .cancelled)

    let record = try #require(try await world.store.campaigns.show("a"))
    expect(record.state, is: .cancelled)
    expect(record.counters.outcomes, is: counters.outcomes)
    expect(record.pending, is: 0)
    // The export has the same outcomes, target by target.
    var lines: [Outcome?] = []
    try await world.store.results.forEachResult(of: "a") { page in
      lines += page.map(\.outcome)
      return true
    }
    expect(
      lines.map { $0?.name },
      is: [
        "accepted", "badToken", "cancelled", "unknown", "unknown", "unknown", "cancelled", "cancelled", "cancelled",
        "cancelled",
      ])
  }

  @Test(arguments: Backend.allCases)
  func cancelledSliceThatWasNotSealedHasNoTargets(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<5, activating: "a")
    let ledger = try await world.claimed("a").ledger
    var pipeline = RedisPipeline()
    ledger.append(SealedTargets(pages: [[1, 2, 3]]), to: &pipeline)
    _ = try await world.store.run(pipeline)
    expect(try await ledger.close(.cancel).counters, is: SliceCounters())
    expect(try await world.isBuilding(ledger), is: false)
    try await world.store.results.forEachResult(of: "a") { page in
      Issue.record("results of no targets: \(page)")
      return true
    }
  }

  private static let ends: [([Outcome: Int], CampaignState)] = [
    ([.rejected: 3, .badToken: 2], .failed), ([.failed: 1, .unregistered: 4], .failed),
    ([.rejected: 4, .accepted: 1], .completed), ([.rejected: 4, .unknown: 1], .completed),
    ([.unregistered: 3, .expired: 2], .completed), ([:], .completed),
  ]

  @Test(arguments: ends)
  func campaignWithoutAnAcceptedPushFails(outcomes: [Outcome: Int], state: CampaignState) async throws {
    let world = try await TestStore(on: .single, partitions: 1, activating: "a")
    var counters = SliceCounters()
    counters.outcomes = outcomes
    counters.targets = outcomes.values.reduce(0, +)
    let slice = SliceReference(campaign: "a", partition: 0)
    expect(try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w"), is: state)
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(record.state, is: state)
    expect(record.reason?.hasPrefix("none of its 5 pushes was accepted: ") ?? false == (state == .failed))
  }

  @Test(arguments: Backend.allCases)
  func sliceCountsOnceHoweverOftenItIsFinished(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    var counters = SliceCounters()
    counters.targets = 5
    counters.outcomes = [.accepted: 4, .unregistered: 1]
    counters.pruned = 1
    let first = SliceReference(campaign: "a", partition: 1)
    for _ in 0..<3 {
      expect(try await world.store.slices.finish(first, counters: counters, lane: .normal, worker: "w"), is: nil)
    }
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(record.counters, is: counters)
    expect((record.slices.finished, record.slices.total) == (1, 2))
    expect(record.state, is: .active)
    let second = SliceReference(campaign: "a", partition: 0)
    expect(try await world.store.slices.finish(second, counters: counters, lane: .normal, worker: "w"), is: .completed)
    expect(try await world.store.slices.finish(second, counters: counters, lane: .normal, worker: "w"), is: nil)
    expect(try await world.store.campaigns.find("a")?.counters.targets, is: 10)
    expect(try await world.store.campaigns.isIdle())
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func finishedSliceIsInNoListAnyMore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    // Lists are only hints, so the reference may be open, held and parked at the same time.
    try await world.command("RPUSH", world.keys.open("a"), slice.partition)
    try await world.command("ZADD", world.keys.parked, 0, slice.description)
    _ = try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w")
    expect(try await world.command("LLEN", world.keys.processing(worker: "w")).integer, is: 0)
    expect(try await world.command("ZCARD", world.keys.parked).integer, is: 0)
    // A worker that takes the reference again finds the slice closed, and drops it.
    expect(try await world.store.slices.dequeueSlice(worker: "w") != slice)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: slice)
    expect(try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w"), is: nil)
    expect(try await world.store.campaigns.find("a")?.slices.finished, is: 1)
    expect(try await world.command("LLEN", world.keys.processing(worker: "w")).integer, is: 1)
    expect(try await world.command("LLEN", world.keys.open("a")).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func sliceOfAWorkerThatDiedBeforeCountingIsCounted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 2)
    expect(try await world.store.slices.dequeueSlice(worker: "dead") != nil)
    try await ledger.commit(credit: 2)
    try await ledger.commit(.accepted, 0..<2)
    expect(try await ledger.close(.finish).counters != nil)
    expect(try await world.store.slices.uncounted([ledger.slice]), is: [ledger.slice])
    // The worker is dead. Its reference comes back, and the next worker finds the slice closed and not counted.
    let requeued = try await world.store.slices.takeOver(from: "dead")
    expect(requeued, is: [ledger.slice])
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let next = SliceLedger(store: world.store, slice: slice, lease: 1000, app: "news")
    guard case .finished = try await next.claim(worker: "w") else {
      Issue.record("the slice had ended")
      return
    }
    let counters = try #require(try await next.close(.finish).counters)
    expect(counters.outcomes, is: [.accepted: 2])
    expect(try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w"), is: .completed)
    expect(try await world.store.slices.uncounted([slice]), is: [])
  }

  @Test(arguments: Backend.allCases)
  func allKeysOfAnEndedCampaignExpire(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await world.store.registry.register([DeviceRegistration(user: "x", device: TestStore.device(1))])
    let before = try await ownKeys(world)
    try await finishOne(world, "a", #","ttl":"1h""#)
    let keys = try await ownKeys(world).subtracting(before)
    expect(keys.count >= 6)
    let lasting = [
      world.keys.all, world.keys.expiring, world.keys.job("a"), world.keys.workers, world.keys.changes,
    ]
    for key in keys where !lasting.contains(key) {
      let lifetime = try #require(try await world.command("TTL", key).integer)
      expect((3500...3600).contains(lifetime), "\(key): \(lifetime)")
    }
  }

  @Test(arguments: Backend.allCases)
  func campaignExpiresIfItsLastWorkerDiedBeforeTheExpiry(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await finishOne(world, "a")
    // Simulates a worker that died immediately after the script that ended the campaign.
    let key = world.keys.campaign("a")
    try await world.command("PERSIST", key)
    try await world.command("ZADD", world.keys.ended, 1, "a")
    _ = try await world.store.dueTasks("w")
    expect(try await world.command("TTL", key).integer ?? -1 > 0)
    expect(try await world.command("ZCARD", world.keys.ended).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func campaignThatHasExpiredLeavesTheList(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    for id in ["a", "b"] { try await finishOne(world, id) }
    // Ended campaigns with a longer time to live precede it in the list.
    for number in 0..<CampaignStore.batch {
      try await world.command("HSET", world.keys.campaign("old-\(number)"), "state", "completed")
      try await world.command("ZADD", world.keys.all, number, "old-\(number)")
    }
    try await expireNow("a", world)
    expect(try await world.store.campaigns.find("a") == nil)
    try await finishOne(world, "c")
    let listed = try await world.command("ZRANGE", world.keys.all, CampaignStore.batch, -1)
    expect(listed.map(\.string), is: ["b", "c"])
    expect(try await world.command("ZRANGE", world.keys.expiring, 0, -1).map(\.string), is: ["b", "c"])
  }

  @Test(arguments: Backend.allCases)
  func campaignThatContinuedStaysInTheList(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await finishOne(world, "a")
    try await world.command("PERSIST", world.keys.campaign("a"))
    try await world.command("ZADD", world.keys.expiring, 1, "a")
    try await finishOne(world, "b")
    expect(try await world.command("ZRANGE", world.keys.all, 0, -1).map(\.string), is: ["a", "b"])
  }

  @Test(arguments: Backend.allCases)
  func suspendedWorkerLeavesNoKeysOfAnEndedCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    let job = TestStore.job("a", audience: #"{"users":["x"]}"#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    try await finishOne(world, "a")
    for isForgotten in [false, true] {
      if isForgotten { try await world.command("DEL", world.keys.campaign("a")) }
      let partitions = try await world.store.queue.writeAudience(of: campaign)
      expect(try await world.command("EXISTS", world.keys.audience(partitions[0], "a")).integer, is: 1)
      let admission = try await world.store.queue.write(
        campaign, job: job, digest: "", partitions: partitions, start: 0, worker: "slow")
      expect(admission, is: .duplicate)
      expect(try await world.command("EXISTS", world.keys.audience(partitions[0], "a")).integer, is: 0)
      expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    }
  }

  /// Simulates that the time to live of an ended campaign has passed.
  private func expireNow(_ id: String, _ world: TestStore) async throws {
    try await world.command("DEL", world.keys.campaign(id))
    try await world.command("ZADD", world.keys.expiring, 1, id)
  }

  private func finishOne(_ world: TestStore, _ id: String, _ more: String = "") async throws {
    let campaign = try await world.activate(id, audience: #"{"users":["x"]}"#, more)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let ledger = try await world.claimed(id, slice.partition).ledger
    let count = try #require(try await world.expand(ledger, campaign))
    try await ledger.commit(credit: count)
    try await ledger.commit(.rejected, 0..<count)
    let counters = try #require(try await ledger.close(.finish).counters)
    expect(
      try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w")?.isFinal, is: true)
  }

  private func ownKeys(_ world: TestStore) async throws -> Set<String> {
    Set(try await world.keyNames("{\(world.keys.namespace)*"))
  }
}
