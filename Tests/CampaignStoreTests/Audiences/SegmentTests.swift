@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Segments by name, with members in all partitions.
struct SegmentTests {
  @Test(arguments: Backend.allCases)
  func segmentIsTheSumOfWhatWasAdded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8)
    try await world.store.audiences.add((0..<1300).map { "u\($0)" }, to: "vip")
    try await world.store.audiences.add((1200..<1500).map { "u\($0)" }, to: "vip")
    try await world.store.audiences.add(["u1"], to: "beta")
    expect(try await world.store.audiences.size(ofSegment: "vip"), is: 1500)
    expect(try await world.store.audiences.segmentNames(), is: ["beta", "vip"])
    expect(try await world.store.audiences.size(ofSegment: "nope"), is: 0)
  }

  @Test(arguments: Backend.allCases)
  func replacementTakesEffectAsAWhole(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<300)
    try await world.store.audiences.add((0..<200).map { "u\($0)" }, to: "optedout")
    var replacement = try await world.store.audiences.replacement(of: "optedout")
    expect(
      try await world.store.audiences.add((100..<350).map { "u\($0)" }, to: &replacement), is: 200,
      "50 are not registered")
    expect(try await world.store.audiences.size(ofSegment: "optedout"), is: 200)
    let partition = Partition.of(user: "u100", count: 8)
    let read = world.keys.importing(partition, "optedout", id: replacement.id)
    expect(try await world.command("TTL", read).integer ?? 0 > 80_000, "an import that dies leaves nothing for ever")
    try await world.store.audiences.putInForce(replacement)
    expect(try await world.store.audiences.size(ofSegment: "optedout"), is: 250)
    expect(try await world.store.audiences.lists(of: "u0").segments, is: [])
    expect(try await world.store.audiences.lists(of: "u349").segments, is: ["optedout"])
    expect(try await world.command("TTL", world.keys.segment(partition, "optedout")).integer, is: -1)
    expect(try await world.command("EXISTS", read).integer, is: 0)

    // Redis ran the script, and its answer was lost with the connection, so the client runs the script again.
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.putInForce,
      keys: [
        world.keys.segment(partition, "optedout"), read, world.keys.stated(partition, "optedout"),
        world.keys.erased(partition),
      ]
    ) {
      $0.append(replacement.at)
      $0.append("")
      $0.append(replacement.began)
    }
    _ = try await world.store.run(pipeline)
    expect(try await world.store.audiences.size(ofSegment: "optedout"), is: 250)

    var given = try await world.store.audiences.replacement(of: "optedout")
    _ = try await world.store.audiences.add(["u0"], to: &given)
    try await world.store.audiences.discard(given)
    expect(try await world.store.audiences.size(ofSegment: "optedout"), is: 250)
    expect(try await world.store.audiences.remove(["u349", "u0"], from: "optedout"), is: 1)
  }

  @Test(arguments: Backend.allCases)
  func removedSegmentLeavesItsUsers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<3)
    try await world.store.audiences.add(["u1", "u2"], to: "vip")
    expect(try await world.store.audiences.removeSegment("vip"))
    expect(try await world.store.audiences.removeSegment("vip"), is: false)
    expect(try await world.store.audiences.segmentNames(), is: [])
    expect(try await world.store.audiences.size(ofSegment: "vip"), is: 0)
    expect(try await world.store.registry.user("u1") != nil)
  }

  @Test(arguments: Backend.allCases)
  func countIsOfUsersAndReachableDevices(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    var quarantined = TestStore.device(9)
    quarantined.isQuarantined = true
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1)),
      DeviceRegistration(user: "x", device: TestStore.device(2)),
      DeviceRegistration(user: "y", device: quarantined),
    ])
    try await world.store.audiences.add(["x", "y", "stranger"], to: "vip")
    expect(try await world.store.audiences.count(AudienceExpression(parsing: "vip")) == (2, 2))
    expect(try await world.store.audiences.count(AudienceExpression(parsing: "!vip")) == (0, 0))
    let error = await #expect(throws: StoreError.self) {
      try await world.store.audiences.count(AudienceExpression(parsing: "vpi"))
    }
    expect(error?.hint, is: "did you mean vip?")
  }

  @Test(arguments: Backend.allCases)
  func membersAndMembershipsAgree(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<600)
    try await world.store.audiences.add((0..<400).map { "u\($0)" }, to: "vip")
    try await world.store.audiences.add((300..<700).map { "u\($0)" }, to: "news")
    var members: [String] = []
    try await world.store.audiences.forEachMember(of: AudienceExpression(parsing: "vip & news")) { members += $0 }
    expect(members.sorted(), is: (300..<400).map { "u\($0)" })
    expect(try await world.store.audiences.lists(of: "u350").segments, is: ["news", "vip"])
    expect(try await world.store.audiences.lists(of: "u650").segments, is: ["news"])
    expect(try await world.store.audiences.lists(of: "nobody").segments, is: [])
  }
}
