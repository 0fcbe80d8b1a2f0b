@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Batches of registrations. The result equals that of single registrations in the same order.
@Suite(.takesTurns) struct RegistrationBatchTests {
  @Test(arguments: Backend.allCases)
  func batchesComeToTheSameAsRowByRow(on backend: Backend) async throws {
    var seed = Seed("batchesComeToTheSameAsRowByRow")
    for _ in 0..<4 {
      let rows = (0..<300).map { _ in Self.registration(using: &seed) }
      let single = try await TestStore(on: backend)
      for row in rows { try await single.store.registry.register([row]) }
      let batched = try await TestStore(on: backend)
      var rest = rows[...]
      while !rest.isEmpty {
        // A token belongs to only one user of a batch, as in an import.
        var users: [[UInt8]: String] = [:]
        let batch = rest.prefix { row in
          users.updateValue(row.user, forKey: row.device.token).map { $0 == row.user } ?? true
        }
        let size = Int.random(in: 1...batch.count, using: &seed)
        try await batched.store.registry.register(Array(batch.prefix(size)))
        rest = rest.dropFirst(size)
      }
      let (one, other) = (try await Self.everything(in: single), try await Self.everything(in: batched))
      expect(one, is: other, "seed \(seed.value)")
      expect(!one.isEmpty)
    }
  }

  @Test(arguments: Backend.allCases)
  func stepsOfSeveralBatchesMayOverlap(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let batches = try (0..<3).map { number in
      try world.batch(
        (0..<200).map { row in
          var device = TestStore.device(row + number * 100, registeredAt: 0)
          device.locale = "l\(number)"
          return DeviceRegistration(user: "u\((row + number * 100) % 90)", device: device)
        })
    }
    // The first batch is in its last step when the third begins.
    var bound = try await world.store.registry.bind(batches[0])
    let first = try await world.store.registry.enter(bound)
    bound = try await world.store.registry.bind(batches[1])
    let third = try await world.store.registry.bind(batches[2])
    expect(try await world.store.registry.complete(first).stands.allSatisfy { $0 })
    let second = try await world.store.registry.enter(bound)
    expect(try await world.store.registry.complete(world.store.registry.enter(third)).stands.allSatisfy { $0 })
    expect(try await world.store.registry.complete(second).stands.allSatisfy { $0 })
    expect(try await Self.everything(in: world).count, is: 400 * 2)
    for partition in 0..<world.keys.partitions {
      expect(try await world.command("HLEN", world.keys.moving(partition)).integer, is: 0)
    }
  }

  @Test(arguments: Backend.allCases)
  func theDeviceSeenLongestAgoLeaves(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, devicesPerUser: 3)
    func register(_ number: Int, lastSeen: UInt64, registeredAt: UInt64) async throws -> [Bool] {
      var device = TestStore.device(number, registeredAt: registeredAt)
      device.lastSeen = lastSeen
      return try await world.store.registry.register([DeviceRegistration(user: "x", device: device)])
    }
    func numbers() async throws -> [Int] {
      let tokens = try await world.store.registry.user("x")?.devices.map(\.token) ?? []
      return (0..<10).filter { tokens.contains(TestStore.token($0)) }
    }
    for (number, seen, registered) in [(1, 300, 10), (2, 300, 20), (3, 100, 90)] as [(Int, UInt64, UInt64)] {
      expect(try await register(number, lastSeen: seen, registeredAt: registered), is: [true])
    }
    // The device that was seen longest ago leaves. If devices were seen at the same time, the one that registered first
    // leaves.
    _ = try await register(4, lastSeen: 500, registeredAt: 30)
    expect(try await numbers(), is: [1, 2, 4])
    _ = try await register(5, lastSeen: 500, registeredAt: 40)
    expect(try await numbers(), is: [2, 4, 5])
    // A registration counts as seen now.
    _ = try await register(6, lastSeen: 0, registeredAt: 600)
    expect(try await numbers(), is: [4, 5, 6])
    // A device that was seen longer ago than all others is not added, and the known devices may register again.
    _ = try await register(7, lastSeen: 1, registeredAt: 1)
    _ = try await register(4, lastSeen: 500, registeredAt: 31)
    expect(try await numbers(), is: [4, 5, 6])
    let tokens = try (1...7).map { try TestStore.deviceToken($0) }
    expect(
      try await world.store.registry.owners(of: tokens, TestStore.service), is: [nil, nil, nil, "x", "x", "x", nil])
  }

  @Test(arguments: Backend.allCases)
  func boundHoldsWithinOneBatchToo(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, devicesPerUser: 100)
    let rows = (0..<350).map {
      DeviceRegistration(user: "x", device: TestStore.device($0, registeredAt: UInt64(1000 + $0)))
    }
    let entered = try await world.store.registry.enter(world.store.registry.bind(world.batch(rows)))
    expect(try await world.store.registry.complete(entered).evicted, is: 250)
    let kept = Set(try await world.store.registry.user("x")?.devices.map(\.token) ?? [])
    expect(kept, is: Set((250..<350).map { TestStore.token($0) }))
    let owners = try await world.store.registry.owners(
      of: (0..<350).map { try TestStore.deviceToken($0) }, TestStore.service)
    expect(owners.enumerated().allSatisfy { ($1 == "x") == ($0 >= 250) })
  }

  @Test(arguments: Backend.allCases)
  func scriptStopsAtLargeRecordsAndIsContinued(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let rows = (0..<90).map { number in
      var device = TestStore.device(number)
      device.attributes = ["key": String(repeating: "k", count: 20_000)]
      return DeviceRegistration(user: "u\(number % 5)", device: device)
    }
    expect(try await world.store.registry.register(rows).allSatisfy { $0 })
    for user in 0..<5 { expect(try await world.store.registry.user("u\(user)")?.devices.count, is: 18) }
  }

  // MARK: Helpers

  private static func registration(using seed: inout Seed) -> DeviceRegistration {
    var device = TestStore.device(
      Int.random(in: 0..<60, using: &seed), registeredAt: UInt64.random(in: 0..<4, using: &seed))
    device.lastSeen = UInt64.random(in: 0..<3, using: &seed)
    device.locale = ["de", "en", "fr"].randomElement(using: &seed) ?? ""
    let attributes = Bool.random(using: &seed) ? Array(#"{"n":"\#(Int.random(in: 0..<5, using: &seed))"}"#.utf8) : []
    return DeviceRegistration(
      user: "u\(Int.random(in: 0..<12, using: &seed))", device: device, attributes: attributes)
  }

  /// Returns all data that registrations leave as text: records, attributes, users and owners.
  private static func everything(in world: TestStore) async throws -> Set<String> {
    var lines: Set<String> = []
    for partition in 0..<world.keys.partitions {
      let owners = try await world.command("HGETALL", world.keys.owner(partition))
      for place in stride(from: 0, to: owners.count, by: 2) {
        lines.insert(
          "owner \(StoreDump.plain(owners[place].bytes.map(Array.init) ?? [])) \(owners[place + 1].string ?? "")")
      }
      for user in try await world.command("SMEMBERS", world.keys.users(partition)).compactMap(\.string) {
        let record = try #require(try await world.store.registry.user(user))
        for device in record.devices {
          lines.insert("\(user) \(device) \(String(decoding: record.attributes, as: UTF8.self))")
        }
      }
    }
    return lines
  }
}
