@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Campaigns with a limit. They reach that number of users, the most recently seen ones, in every way to process
/// slices.
@Suite(.takesTurns) struct LimitTests {
  private struct Person {
    var user: String
    /// The times at which the user's devices were seen, and whether each has the locale of the condition.
    var devices: [(seenAt: Int, isEnglish: Bool)]

    /// The latest time of the matching devices; `nil` if none matches.
    var seenAt: Int? { devices.filter(\.isEnglish).map(\.seenAt).max() }
  }

  private static let now = 1_700_000_000_000

  private func people(_ count: Int, _ seed: inout Seed) -> [Person] {
    (0..<count).map { number in
      Person(
        user: "u\(number)",
        devices: (0..<Int.random(in: 1...2, using: &seed)).map { _ in
          let age = Int.random(in: 0..<1 << Int.random(in: 4...34, using: &seed), using: &seed)
          return (Int.random(in: 0...9, using: &seed) == 0 ? 0 : Self.now - age, Bool.random(using: &seed))
        })
    }
  }

  private func registrations(_ people: [Person], from first: Int = 0) -> [DeviceRegistration] {
    var number = first
    return people.flatMap { person in
      person.devices.map { seenAt, isEnglish in
        var device = TestStore.device(number, registeredAt: 0)
        number += 1
        device.lastSeen = UInt64(seenAt)
        device.locale = isEnglish ? "en" : "de"
        return DeviceRegistration(user: person.user, device: device)
      }
    }
  }

  private func filter(_ campaign: Campaign) -> DeviceFilter { TestStore.filter(of: campaign, start: Self.now) }

  /// Counts each slice and then expands it, one by one or in a batch. Returns the user of each target.
  private func expand(_ campaign: Campaign, _ world: TestStore, seed: inout Seed) async throws -> [String] {
    let filter = filter(campaign)
    let partitions = (0..<world.keys.partitions).shuffled(using: &seed)
    var quotas: AudienceQuotas?
    for (number, partition) in partitions.enumerated() {
      let slice = SliceReference(campaign: campaign.id, partition: partition)
      // A worker may die after it has counted, and another counts again.
      for _ in 0..<Int.random(in: 1...2, using: &seed) {
        quotas = try await world.store.expansion.quotas(for: slice, of: campaign, filter: filter)
        expect(quotas == nil, is: number < partitions.count - 1)
      }
    }
    let found = try #require(quotas)
    expect(try await world.keyNames(world.keys.ranking(campaign.id)).isEmpty)
    var users: [String] = []
    var ledgers: [SliceLedger] = []
    for partition in 0..<world.keys.partitions {
      let slice = SliceReference(campaign: campaign.id, partition: partition)
      // Another worker gets the same quotas.
      expect(try await world.store.expansion.quotas(for: slice, of: campaign, filter: filter), is: found)
      if partition % 2 == 0 {
        let ledger = try await world.claimed(campaign.id, partition).ledger
        let targets = try await world.store.expansion.expand(
          ledger, of: campaign, filter: filter, quota: found[partition])
        users += Self.users(try #require(targets).chunk)
        expect(
          Self.users(try await ledger.targets(from: 0, count: 20_000)), is: Self.users(try #require(targets).chunk))
      } else {
        ledgers.append(SliceLedger(store: world.store, slice: slice, lease: TestStore.timeout, app: "news"))
      }
    }
    var batch = SliceBatch(ledgers, store: world.store.pinned(), of: campaign, filter: filter, quotas: found)
    _ = try await batch.claim(worker: "w", gracePeriod: 0)
    for (position, result) in try await batch.expand(Array(ledgers.indices)).enumerated() {
      let partition = ledgers[position].slice.partition
      if let count = try result.get() {
        expect(count, is: batch.targets(of: position).chunk.count)
        expect(try await batch.seal([(position, 0)])[0].get().isSealed)
        users += Self.users(batch.targets(of: position).chunk)
      } else {
        let targets = try await world.store.expansion.expand(
          ledgers[position], of: campaign, filter: filter, quota: found[partition])
        users += Self.users(try #require(targets).chunk)
      }
    }
    return users
  }

  private static func users(_ chunk: TargetChunk) -> [String] {
    (0..<chunk.count).map { String(decoding: chunk.user($0), as: UTF8.self) }
  }

  @Test(arguments: Backend.pair(for: "limitSelectsTheMostRecentlySeenUsers"))
  func limitSelectsTheMostRecentlySeenUsers(on backend: Backend) async throws {
    var seed = Seed("limitSelectsTheMostRecentlySeenUsers")
    let world = try await TestStore(on: backend, partitions: 5)
    let people = people(3000, &seed)
    try await world.store.registry.register(registrations(people))
    let meant = people.filter { $0.seenAt != nil }
    for (number, limit) in [1, 7, 800, meant.count - 1, meant.count, 100_000].enumerated() {
      let campaign = try await world.activate(
        "c\(number)", audience: #"{"segment":"*","where":"locale = 'en'","limit":\#(limit)}"#)
      let targets = try await expand(campaign, world, seed: &seed)
      let taken = Set(targets)
      expect(taken.count, is: min(limit, meant.count), "limit \(limit), seed \(seed.value)")
      // Every matching device of each user is a target, and no other device is.
      let expected = meant.filter { taken.contains($0.user) }.reduce(0) { $0 + $1.devices.count(where: \.isEnglish) }
      expect(targets.count, is: expected, "limit \(limit), seed \(seed.value)")
      let worst = meant.filter { taken.contains($0.user) }.compactMap(\.seenAt).min() ?? 0
      let best = meant.filter { !taken.contains($0.user) }.compactMap(\.seenAt).max() ?? 0
      expect(
        best <= worst || worst > 0 && (best - worst) * 128 <= Self.now - worst, "limit \(limit), seed \(seed.value)")
      let counted = try await world.store.audiences.count(campaign, filter: filter(campaign))
      expect(counted, is: Reached(users: taken.count, targets: targets.count), "limit \(limit), seed \(seed.value)")
    }
  }

  @Test(arguments: Backend.wholeWay)
  func registrationsDuringTheStartDoNotExceedTheLimit(on backend: Backend) async throws {
    var seed = Seed("registrationsDuringTheStartDoNotExceedTheLimit")
    let world = try await TestStore(on: backend, partitions: 3)
    try await world.store.registry.register(registrations(people(300, &seed)))
    let campaign = try await world.activate("c", audience: #"{"segment":"*","limit":50}"#)
    var quotas: AudienceQuotas?
    for partition in 0..<3 {
      let slice = SliceReference(campaign: "c", partition: partition)
      quotas = try await world.store.expansion.quotas(for: slice, of: campaign, filter: filter(campaign))
    }
    let found = try #require(quotas)
    // These users are seen later than all users before.
    try await world.registerUsers(1000..<1300, registeredAt: UInt64(Self.now))
    var users: Set<String> = []
    for partition in 0..<3 {
      let ledger = try await world.claimed("c", partition).ledger
      let targets = try await world.store.expansion.expand(
        ledger, of: campaign, filter: filter(campaign), quota: found[partition])
      users.formUnion(Self.users(try #require(targets).chunk))
    }
    // Within the resolution of the ranking, some earlier users may count as seen at the same time as these users.
    expect(users.count == 50 && users.count { $0.count >= 5 } >= 40, "seed \(seed.value)")
  }

  @Test(arguments: Backend.wholeWay)
  func isolatedSliceDoesNotBlockTheOthers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, users: 0..<100)
    let campaign = try await world.activate("c", audience: #"{"segment":"*","limit":10}"#)
    func quotas(_ partition: Int) async throws -> AudienceQuotas? {
      try await world.store.expansion.quotas(
        for: SliceReference(campaign: "c", partition: partition), of: campaign, filter: filter(campaign))
    }
    expect(try await quotas(0), is: nil)
    expect(try await quotas(1), is: nil)
    // Simulates a slice that ended without being counted.
    _ = try await world.store.slices.finish(
      SliceReference(campaign: "c", partition: 2), counters: SliceCounters(), lane: .normal, worker: "w")
    let found = try #require(try await quotas(0))
    expect((0..<3).map { found[$0] }.reduce(0, +) == 10 && found[2] == 0)
  }
}
