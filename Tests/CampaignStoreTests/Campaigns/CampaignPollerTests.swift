@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// A watched campaign shows the same as a read of all its partitions. After the first poll, the cost does not depend on
/// the number of partitions.
struct CampaignPollerTests {
  @Test(arguments: Backend.allCases)
  func watchEqualsAFullRead(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 300)
    _ = try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    try await world.registerUsers(0..<1000)
    let campaign = try await world.activate("a")
    var watch = CampaignPoller("a")
    expect(try await watch.poll(world.store)?.counters, is: SliceCounters())
    var held: [(ledger: SliceLedger, count: Int)] = []
    for _ in 0..<20 {
      let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
      let ledger = try await world.claimed("a", slice.partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      try await ledger.commit(credit: count)
      held.append((ledger, count))
      expect(try await watch.poll(world.store)?.counters, is: try await world.store.campaigns.show("a")?.counters)
    }
    for (position, (ledger, count)) in held.enumerated() {
      for index in 0..<count { try await ledger.commit([index: .terminal(.accepted)]) }
      // Some slices are returned with their outcomes, and some end.
      if position % 2 == 0 {
        let counters = try #require(try await ledger.close(.finish).counters)
        _ = try await world.store.slices.finish(ledger.slice, counters: counters, lane: .normal, worker: "w")
      } else {
        try await ledger.unclaim()
        try await world.store.slices.requeue(ledger.slice, lane: .normal, worker: "w")
      }
      let (seen, all) = (try await watch.poll(world.store), try await world.store.campaigns.show("a"))
      expect(seen?.counters == all?.counters && seen?.slices.sealed == all?.slices.sealed)
    }
    // A new poller immediately reports the counts of slices that no worker holds.
    var late = CampaignPoller("a")
    let (seen, all) = (try await late.poll(world.store), try await world.store.campaigns.show("a"))
    expect(seen?.counters == all?.counters && seen?.slices.sealed == 20)
  }

  @Test func pollCostsTheSameWithMorePartitions() async throws {
    let server = try await RedisServer.start(.single)
    var costs: [Int] = []
    for partitions in [100, 5000] {
      let world = try await TestStore(on: .single, partitions: partitions, server: server)
      _ = try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
      try await world.activate("a")
      _ = try await world.store.slices.dequeueSlice(worker: "w")
      var watch = CampaignPoller("a")
      // The first poll reads all partitions.
      _ = try await watch.poll(world.store)
      let before = try await commands(world)
      for _ in 0..<3 { expect(try await watch.poll(world.store) != nil) }
      costs.append(try await commands(world) - before)
    }
    // The tolerance allows for one slice that is both held by the worker and next in the poll's rotation.
    expect(abs(costs[1] - costs[0]) <= 6, "\(costs)")
    await server.stop()
  }

  private func commands(_ world: TestStore) async throws -> Int {
    let info = RedisServerInfo(parsing: try await world.command("INFO", "stats").string ?? "")
    return info.fields["total_commands_processed"].flatMap { Int($0) } ?? 0
  }
}
