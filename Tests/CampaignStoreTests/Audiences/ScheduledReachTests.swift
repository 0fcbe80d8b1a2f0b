@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Partition pruning of a scheduled campaign. It has slices in every partition until it begins to expand, and then only
/// in partitions with a possible target.
struct ScheduledReachTests {
  @Test(arguments: Backend.allCases)
  func scheduledCampaignReachesUsersWhoJoinBefore(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<20)
    try await world.store.audiences.add(["u1"], to: "a")
    let campaign = try await schedule("later", #"{"segment":"a"}"#, world)
    expect(try await world.openSlices("later"), is: Set(0..<64))
    try await world.store.audiences.add(["u2"], to: "a")
    try await letPass("later", world)
    expect(try await world.store.queue.promote(["later"]), is: ["later"])
    // The campaign has begun and waits for a worker. A user who joins now is reached.
    try await world.store.audiences.add(["u3"], to: "a")
    expect(try await world.openSlices("later"), is: Set(0..<64))
    expect(try await world.store.audiences.fixPartitions(of: campaign) != nil)
    let reached = Self.partitions(["u1", "u2", "u3"])
    expect(try await world.openSlices("later"), is: reached)
    // The partitions are fixed once.
    try await world.store.audiences.add(["u4"], to: "a")
    expect(try await world.store.audiences.fixPartitions(of: campaign) != nil)
    expect(try await world.openSlices("later"), is: reached)
    try await world.expectEnd(of: campaign, ["u1", "u2", "u3"])
    expect(try await world.store.campaigns.show("later")?.slices.total, is: reached.count)
  }

  @Test(arguments: Backend.allCases)
  func largestStoreIsNarrowedToo(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 16_384, users: 0..<1200)
    let reached = Set((0..<1200).map { Partition.of(user: "u\($0)", count: 16_384) })
    let campaign = try await schedule("later", #"{"segment":"*"}"#, world)
    try await letPass("later", world)
    expect(try await world.store.queue.promote(["later"]), is: ["later"])
    expect(try await world.store.audiences.fixPartitions(of: campaign) != nil)
    expect(try await world.openSlices("later"), is: reached)
  }

  @Test(arguments: Backend.allCases)
  func campaignThatTheScheduleHasLostBeginsOnRepair(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await schedule("later", #"{"segment":"*"}"#, world)
    try await letPass("later", world)
    expect(try await world.store.queue.repairSchedule(from: 0) == (["later"], 0))
    expect(try await world.openSlices("later"), is: Set(0..<64))
    try await world.expectEnd(of: campaign, ["u0", "u1", "u2"])
  }

  /// Redis lost the beginning of the campaign. A worker replays a slice that has ended, and then the campaign begins
  /// again.
  @Test(arguments: Backend.allCases)
  func sliceThatEndedBeforeALostBeginningIsCountedOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await schedule("later", #"{"segment":"*"}"#, world)
    let slice = SliceReference(campaign: "later", partition: Partition.of(user: "u1", count: 64))
    try await world.end(slice, of: campaign)
    try await letPass("later", world)
    expect(try await world.store.queue.promote(["later"]), is: ["later"])
    expect(try await world.store.audiences.fixPartitions(of: campaign) != nil)
    expect(try await world.openSlices("later"), is: Set(0..<64).subtracting([slice.partition]))
    try await world.expectEnd(of: campaign, ["u0", "u1", "u2"], slices: 64)
  }

  @Test(arguments: Backend.allCases)
  func scheduledCampaignToListedUsersKeepsItsSlices(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await schedule("later", #"{"users":["u0","u2"]}"#, world)
    try await letPass("later", world)
    expect(try await world.store.queue.repairSchedule(from: 0) == (["later"], 0))
    expect(try await world.openSlices("later"), is: Self.partitions(["u0", "u2"]))
    try await world.expectEnd(of: campaign, ["u0", "u2"])
  }

  @Test(arguments: Backend.allCases)
  func resumeAfterTheStartTimeBeginsTheCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 64, users: 0..<3)
    let campaign = try await schedule("later", #"{"segment":"*"}"#, world)
    try await world.store.campaigns.control("later", .pause)
    try await letPass("later", world)
    expect(try await world.store.queue.promote(["later"]), is: [])
    expect(try await world.openSlices("later"), is: Set(0..<64))
    expect(try await world.store.campaigns.control("later", .resume), is: .active)
    expect(try await world.store.queue.promote(["later"]), is: [])
    try await world.expectEnd(of: campaign, ["u0", "u1", "u2"])
  }

  // MARK: Helpers

  private static func partitions(_ users: Set<String>, of count: Int = 64) -> Set<Int> {
    Set(users.map { Partition.of(user: $0, count: count) })
  }

  /// Activates a campaign that begins in an hour.
  @discardableResult
  private func schedule(_ id: String, _ audience: String, _ world: TestStore) async throws -> Campaign {
    let sendAt = Timestamp.format(milliseconds: try await world.store.time() / 1000 + 3_600_000)
    return try await world.activate(id, audience: audience, #","sendAt":"\#(sendAt)""#, narrowing: true)
  }

  /// Moves a campaign's start time into the past, so that the test does not wait for it.
  private func letPass(_ id: String, _ world: TestStore) async throws {
    try await world.command("HSET", world.keys.campaign(id), "sendAt", 1)
  }
}
