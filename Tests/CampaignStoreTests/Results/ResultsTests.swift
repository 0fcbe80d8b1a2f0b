@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Results of targets. They can be read at any time, whatever value `results` has.
struct ResultsTests {
  @Test(arguments: Backend.allCases)
  func exportHasEveryTargetOnceAndInPages(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, users: 0..<1200)
    let campaign = try await world.activate("a")
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") {
      let ledger = try await world.claimed("a", slice.partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      try await ledger.commit(credit: count)
      for start in stride(from: 0, to: count, by: 500) {
        try await ledger.commit(.accepted, start..<min(start + 500, count))
      }
    }
    var users: Set<String> = []
    try await world.store.results.forEachResult(of: "a") { page in
      expect(page.count <= 500)
      for result in page {
        expect(users.insert(result.user).inserted)
        expect(result.outcome, is: .accepted)
        expect(result.at, is: 5000)
        expect(result.token?.bytes, is: TestStore.token(Int(result.user.dropFirst()) ?? -1))
      }
      return true
    }
    expect(users.count, is: 1200)
    var pages = 0
    try await world.store.results.forEachResult(of: "a") { _ in
      pages += 1
      return false
    }
    expect(pages, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func targetWithoutAnOutcomeHasNone(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 4, granted: 3)
    try await ledger.commit([0: .terminal(.accepted), 1: .waiting(milliseconds: 60_000)])
    var results: [TargetResult] = []
    try await world.store.results.forEachResult(of: "a") { page in
      results += page
      return true
    }
    expect(results.map(\.outcome), is: [.accepted, nil, nil, nil])
    expect(results.map(\.at), is: [5000, 0, 0, 0])
    // The last answer of a waiting target is returned.
    expect(results[1].status, is: 503)
    expect(results[1].reason, is: "ServiceUnavailable")
  }

  @Test(arguments: Backend.allCases)
  func resultOfATokenIsFoundInAnyPartition(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<20)
    let campaign = try await world.activate("a")
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") {
      let ledger = try await world.claimed("a", slice.partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      try await ledger.commit(credit: count)
      let chunk = try await ledger.targets(from: 0, count: count)
      var batch = OutcomeBatch()
      for position in 0..<count { batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered") }
      _ = try await ledger.commit(&batch, credit: 0)
      if slice.partition.isMultiple(of: 2) { try await world.store.results.deliverFeedback(from: [slice.partition]) }
    }
    // Some tokens still have an owner, others do not.
    for number in 0..<20 {
      let result = try await world.store.results.result(of: TestStore.deviceToken(number), "apns", in: "a")
      expect(result?.user, is: "u\(number)")
      expect(result?.outcome, is: .unregistered)
    }
    expect(try await world.store.results.result(of: TestStore.deviceToken(99), "apns", in: "a") == nil)
  }

  @Test(arguments: Backend.allCases)
  func showAddsOpenSlicesToTheTotals(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, users: 0..<100)
    let campaign = try await world.activate("a")
    let first = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let done = try await world.claimed("a", first.partition).ledger
    let count = try #require(try await world.expand(done, campaign))
    try await done.commit(credit: count)
    try await done.commit(.accepted, 0..<count)
    // The sum is the same if the first slice is closed and not counted, or counted, while the other is half-way.
    let counters = try #require(try await done.close(.finish).counters)
    expect(try await world.store.campaigns.show("a")?.counters.outcomes, is: [.accepted: count])
    expect(try await world.store.campaigns.find("a")?.counters.targets, is: 0)
    _ = try await world.store.slices.finish(first, counters: counters, lane: .normal, worker: "w")
    expect(try await world.store.campaigns.show("a")?.counters.outcomes, is: [.accepted: count])
    expect(try await world.store.campaigns.find("a")?.counters.targets, is: count)

    let second = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    let half = try await world.claimed("a", second.partition).ledger
    expect(try await world.expand(half, campaign), is: 100 - count)
    try await half.commit(credit: 10)
    try await half.commit([0: .terminal(.rejected), 1: .waiting(milliseconds: 60_000)])
    let record = try #require(try await world.store.campaigns.show("a"))
    expect(record.counters.targets, is: 100)
    expect(record.counters.outcomes, is: [.accepted: count, .rejected: 1])
    expect(record.counters.inDoubt, is: 8)
    expect(record.counters.retrying, is: 1)
    expect(record.pending, is: 99 - count)
    expect((record.slices.finished, record.slices.total) == (1, 2))
    expect(record.state, is: .active)
  }

  @Test func jobIsReadOnlyOnRequest() async throws {
    let server = try await RedisServer.start()
    let world = try await TestStore(on: .single, partitions: 1, server: server)
    let users = (0..<20_000).map { "\"user-\($0)\"" }.joined(separator: ",")
    try await world.activate("a", audience: "{\"users\":[\(users)]}")
    let store = world.store
    expect(try await store.campaigns.status(of: "a")?.state, is: .active)
    func read(_ body: () async throws -> Void) async throws -> Int {
      func sent() async throws -> Int {
        Int(try await world.redis.serverInfo(section: "stats").fields["total_net_output_bytes"] ?? "") ?? 0
      }
      let before = try await sent()
      try await body()
      return try await sent() - before
    }
    let claims = try await read { for _ in 0..<10 { _ = try await store.campaigns.status(of: "a") } }
    let looks = try await read {
      _ = try await store.campaigns.all()
      _ = try await store.campaigns.find("a")
      _ = try await store.campaigns.show("a")
    }
    expect(claims < 20_000 && looks < 20_000, "\(claims), \(looks)")
    expect(try await read { _ = try await store.campaigns.findWithJob("a") } > 200_000)
    await server.stop()
  }

  @Test(arguments: Backend.allCases)
  func recordHasTheValuesOfTheJob(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let before = try await world.store.time() / 1000
    try await world.activate("a", #","lane":"urgent","ttl":"2d","expiration":"4h""#)
    let record = try #require(try await world.store.campaigns.find("a"))
    expect(record.app, is: "news")
    expect(record.lane, is: .urgent)
    expect(record.delivery.timeToLive, is: 2 * 86400)
    expect(record.times.createdAt >= before)
    let expiration = try #require(record.delivery.expiration)
    expect((before / 1000 + 4 * 3600...before / 1000 + 4 * 3600 + 600).contains(expiration))
    let job = try #require(try await world.store.campaigns.findWithJob("a")).job
    expect(
      try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]])).id, is: "a")
    try await world.activate("b", #","expiration":"0""#)
    expect(try await world.store.campaigns.find("b")?.delivery.expiration, is: 0)
    try await world.activate("c")
    expect(try await world.store.campaigns.find("c")?.delivery.expiration, is: nil)
    expect(try await Set(world.store.campaigns.all().map(\.id)), is: ["a", "b", "c"])
  }
}
