@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Order of slices on the lanes.
struct LaneTests {
  @Test(arguments: Backend.allCases)
  func campaignsOfALaneTakeTurns(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3)
    for id in ["a", "b", "c"] { try await world.activate(id) }
    var order: [String] = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") { order.append(slice.campaign) }
    expect(order, is: ["a", "b", "c", "a", "b", "c", "a", "b", "c"])
  }

  @Test(arguments: Backend.allCases)
  func oneTargetJobNeverWaitsBehindTheSlicesOfALargeOne(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, activating: "large")
    for _ in 0..<5 { expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: "large") }
    try await world.activate("small", audience: #"{"users":["x"]}"#)
    let next = [
      try await world.store.slices.dequeueSlice(worker: "w"), try await world.store.slices.dequeueSlice(worker: "w"),
    ]
    expect(next.contains { $0?.campaign == "small" })
  }

  @Test(arguments: Backend.allCases)
  func higherLaneComesFirstAndOthersCanBeLeftOut(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    for lane in ["bulk", "normal", "urgent"] { try await world.activate(lane, #","lane":"\#(lane)""#) }
    expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: "urgent")
    expect(try await world.store.slices.dequeueSlice(worker: "w", lanes: [.urgent]), is: nil)
    expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: "normal")
    expect(try await world.store.slices.dequeueSlice(worker: "w")?.campaign, is: "bulk")
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func dequeuedReferenceIsInTheListOfAKnownWorker(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    expect(try await world.store.campaigns.find("a")?.times.startedAt, is: nil)
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(slice, is: SliceReference(campaign: "a", partition: 0))
    expect(try await processing(world, "w"), is: ["0:a"])
    expect(try await world.command("ZSCORE", world.keys.workers, "w").isNull, is: false)
    expect(try await world.store.campaigns.find("a")?.times.startedAt != nil)
    try await world.store.slices.dismiss(slice, worker: "w")
    expect(try await processing(world, "w"), is: [])
  }

  @Test(arguments: Backend.allCases)
  func campaignIsOnItsLaneOnlyWhileItHasOpenSlices(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await ring(world), is: [])
    for _ in 0..<2 { try await world.store.slices.requeue(slice, lane: .normal, worker: "w") }
    expect(try await ring(world), is: ["a"])
    expect(try await processing(world, "w"), is: [])
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: slice)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func requeuedSliceIsNext(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    try await world.store.slices.requeue(slice, lane: .normal, worker: "w")
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: slice)
  }

  @Test(arguments: Backend.allCases)
  func finishedSliceIsNeverOpenedAgain(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2, activating: "a")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w"))
    expect(try await world.store.slices.finish(slice, counters: SliceCounters(), lane: .normal, worker: "w"), is: nil)
    try await world.store.slices.requeue(slice, lane: .normal, worker: "w")
    expect(try await world.store.slices.dequeueSlice(worker: "w") != slice)
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
  }

  @Test(arguments: Backend.allCases)
  func referenceOfAnExpiredCampaignIsDropped(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, activating: "a")
    try await world.command("DEL", world.keys.campaign("a"))
    expect(try await world.store.slices.dequeueSlice(worker: "w"), is: nil)
    expect(try await ring(world), is: [])
  }

  @Test func referencesAreReadAsTheyAreWritten() {
    let slice = SliceReference(campaign: "spring.sale-1_x", partition: 17)
    expect(slice.description, is: "17:spring.sale-1_x")
    expect(SliceReference(slice.description, partitions: 256), is: slice)
    expect(SliceReference("spring", partitions: 256), is: nil)
    expect(SliceReference("x:spring", partitions: 256), is: nil)
    expect(SliceReference("256:spring", partitions: 256), is: nil)
    expect(SliceReference("-1:spring", partitions: 256), is: nil)
    expect(SliceReference("01:spring", partitions: 256), is: nil)
  }

  private func ring(_ world: TestStore) async throws -> [String] {
    try await world.command("LRANGE", world.keys.lane("normal"), 0, -1).compactMap(\.string)
  }

  private func processing(_ world: TestStore, _ worker: String) async throws -> [String] {
    try await world.command("LRANGE", world.keys.processing(worker: worker), 0, -1).compactMap(\.string)
  }
}
