import APNs
import CampaignStore
import Foundation
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Cost of a target in Redis. The test only measures. It runs if the variable has the number of targets:
///
///     CARILLON_MEASURE=200000 swift test --filter StoreCostMeasurement
struct StoreCostMeasurement {
  private static let asked = ProcessInfo.processInfo.environment["CARILLON_MEASURE"].flatMap { Int($0) }

  @Test(.enabled(if: asked != nil)) func costOfATarget() async throws {
    let count = try #require(Self.asked)
    let server = try await RedisServer.start()
    let client = try Backend.connect(to: server)
    let keys = try #require(Keyspace(namespace: "carillon", partitions: 64))
    let store = CampaignStore(redis: client, keys: keys, services: TestStore.services)
    try await store.open(creating: true)

    try await measure("register", count, client) {
      for start in stride(from: 0, to: count, by: 5000) {
        try await store.registry.register(
          (start..<min(start + 5000, count)).map {
            DeviceRegistration(user: "user-\($0)", device: TestStore.device($0))
          })
      }
    }
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    var ledgers: [(SliceLedger, Int)] = []
    try await measure("expand", count, client) {
      while let slice = try await store.slices.dequeueSlice(worker: "w") {
        let ledger = SliceLedger(store: store, slice: slice, lease: 600_000, app: "news")
        _ = try await ledger.claim(worker: "w")
        let filter = TestStore.filter
        let targets = try #require(try await store.expansion.expand(ledger, of: campaign, filter: filter))
        ledgers.append((ledger, targets.count))
      }
    }
    expect(ledgers.map(\.1).reduce(0, +), is: count)
    try await measure("read", count, client) {
      for (ledger, targets) in ledgers {
        for first in stride(from: 0, to: targets, by: 512) { _ = try await ledger.targets(from: first, count: 512) }
      }
    }
    try await measure("commit", count, client) {
      for (ledger, targets) in ledgers { try await answerAll(ledger, targets) }
    }
    try await measure("finish", count, client) {
      for (ledger, _) in ledgers {
        let counters = try #require(try await ledger.close(.finish).counters)
        _ = try await store.slices.finish(ledger.slice, counters: counters, lane: .normal, worker: "w")
      }
    }
    try await measure("feedback", count, client) {
      for first in stride(from: 0, to: 64, by: 16) {
        try await store.results.deliverFeedback(from: first..<(first + 16))
      }
    }
    let record = try #require(try await store.campaigns.show("a"))
    expect(record.counters.outcomes.values.reduce(0, +), is: count)
    await client.close()
    await server.stop()
  }

  /// Answers targets in batches of 250, as a window of 1,000 does on a few slices. Of 100 targets 3 are unregistered
  /// and 1 is bad.
  private func answerAll(_ ledger: SliceLedger, _ targets: Int) async throws {
    var batch = OutcomeBatch()
    var granted = try await ledger.commit(&batch, credit: 250).granted
    var answered = 0
    while answered < granted {
      let chunk = try await ledger.targets(from: answered, count: granted - answered)
      for position in 0..<chunk.count {
        switch (answered + position) % 100 {
        case 0...2: batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered")
        case 3: batch.append(.badToken, chunk, position, .quarantine, reason: "BadDeviceToken")
        default: batch.append(.terminal(.accepted), at: answered + position)
        }
      }
      answered = granted
      granted = try await ledger.commit(&batch, credit: 250).granted
      batch.removeAll()
    }
  }

  private func measure(_ step: String, _ count: Int, _ client: RedisClient, _ body: () async throws -> Void)
    async throws
  {
    func seconds() async throws -> Double {
      let fields = try await client.serverInfo().fields
      return ["used_cpu_user", "used_cpu_sys"].compactMap { fields[$0].flatMap(Double.init) }.reduce(0, +)
    }
    let before = try await seconds()
    let start = ContinuousClock.now
    try await body()
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    let cost = (try await seconds() - before) * 1e6 / Double(count)
    print(String(format: "%@: %.2f µs of Redis' CPU a target, %.2f s in all", step, cost, elapsed))
  }
}
