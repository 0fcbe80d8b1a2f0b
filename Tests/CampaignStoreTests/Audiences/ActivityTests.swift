@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Users and their Live Activities.
struct ActivityTests {
  private static let day = 86_400_000

  private func device(_ number: Int, _ activity: String?, at registeredAt: Int) -> DeviceRecord {
    var device = TestStore.device(number)
    device.kind = .liveActivity
    device.activity = activity
    device.registeredAt = UInt64(registeredAt)
    return device
  }

  private func users(_ world: TestStore, _ audience: String, id: String) async throws -> [String] {
    let aps = #"{"event":"update","timestamp":1,"content-state":{}}"#
    let job = Array(
      #"{"id":"\#(id)","app":"news","audience":\#(audience),"apns":{"payload":{"aps":\#(aps)},"pushType":"liveactivity"}}"#
        .utf8)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    var users: [String] = []
    for partition in (try #require(try await world.store.campaigns.find(id))).reachedPartitions {
      let ledger = try await world.claimed(id, partition).ledger
      let filter = DeviceFilter(campaign, service: APNsService(), environment: "production", start: 0)
      let count = try #require(try await world.store.expansion.expand(ledger, of: campaign, filter: filter)).count
      let chunk = try await ledger.targets(from: 0, count: count)
      users += (0..<count).map { String(decoding: chunk.user($0), as: UTF8.self) }
    }
    return users.sorted()
  }

  @Test(arguments: Backend.pair(for: "onlyTokensOfTheActivityAreTargets"))
  func onlyTokensOfTheActivityAreTargets(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4)
    try await world.store.registry.register(
      (0..<40).map {
        let activity = [nil, "a", "b"][$0 % 3]
        return DeviceRegistration(user: "u\($0 % 20)", device: device($0, activity, at: 1000))
      })
    let having = { (rest: Int) in (0..<40).filter { $0 % 3 == rest }.map { "u\($0 % 20)" }.sorted() }
    expect(try await users(world, #"{"activity":"a"}"#, id: "one"), is: having(1))
    expect(try await users(world, #"{"activity":"b","where":"locale = 'fr'"}"#, id: "none"), is: [])
    let others = Set((0..<20).map { "u\($0)" }).subtracting(having(1))
    let rest = try await users(world, #"{"segment":"*","exclude":{"activity":"a"}}"#, id: "rest")
    expect(Set(rest) == others && !others.isEmpty)
    // The activity is not a segment.
    expect(try await world.store.audiences.segmentNames(), is: [])
  }

  @Test(arguments: Backend.wholeWay)
  func endedActivityIsRemoved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    let now = try await world.store.time() / 1000
    let long = now - 3 * Self.day
    try await world.store.registry.register([
      DeviceRegistration(user: "ada", device: device(1, "old", at: long)),
      DeviceRegistration(user: "ada", device: TestStore.device(2)),
    ])
    try await world.command("ZADD", world.keys.activities, long, "old")
    try await world.store.registry.register([DeviceRegistration(user: "ada", device: device(3, "new", at: now))])
    let tokens = try await world.store.registry.user("ada")?.devices.map(\.token) ?? []
    expect(tokens, is: [TestStore.token(2), TestStore.token(3)])
    expect(try await world.store.registry.owners(of: [TestStore.deviceToken(1)], APNsService()), is: [nil])
    expect(try await world.store.audiences.userLists(), is: ["@new"])
    expect(try await world.command("ZRANGE", world.keys.activities, 0, -1).compactMap(\.string), is: ["new"])
    await #expect(throws: StoreError.self) { try await world.store.registry.checkActivity("old") }
    try await world.store.registry.checkActivity("new")
  }
}
