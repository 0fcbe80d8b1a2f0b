@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Control groups. Their users get nothing, are counted, and can be read afterwards.
@Suite(.takesTurns) struct ControlGroupTests {
  /// Users who got the push, and users in the control group.
  private struct Parts: Equatable {
    var users: Set<String> = []
    var control: Set<String> = []
  }

  private static let now = 1_700_000_000_000

  private func filter(_ campaign: Campaign, app: Double? = nil) -> DeviceFilter {
    DeviceFilter(
      campaign, service: TestStore.service, environment: "production", start: Self.now, control: app)
  }

  /// Runs a campaign to its end, with slices one by one and in a batch.
  private func run(_ campaign: Campaign, app: Double? = nil, _ world: TestStore) async throws -> Parts {
    let filter = filter(campaign, app: app)
    var quotas: AudienceQuotas?
    if campaign.recipients.limit != nil {
      for partition in 0..<world.keys.partitions {
        let slice = SliceReference(campaign: campaign.id, partition: partition)
        quotas = try await world.store.expansion.quotas(for: slice, of: campaign, filter: filter)
      }
    }
    for partition in 0..<world.keys.partitions {
      let slice = SliceReference(campaign: campaign.id, partition: partition)
      var ledger = SliceLedger(store: world.store, slice: slice, lease: TestStore.timeout, app: "news")
      var batch = SliceBatch([ledger], store: world.store.pinned(), of: campaign, filter: filter, quotas: quotas)
      if partition % 2 == 0 {
        // Another worker began the slice and died.
        let dead = try await world.claimed(campaign.id, partition, lease: 0).ledger
        var pipeline = RedisPipeline()
        var strangers = ControlUsers()
        Array("stranger".utf8).withUnsafeBytes { strangers.add($0) }
        dead.append(strangers, to: &pipeline)
        _ = try await world.store.run(pipeline)
        ledger = try await world.claimed(campaign.id, partition).ledger
        let quota = quotas.map { $0[partition] }
        let targets = try #require(
          try await world.store.expansion.expand(ledger, of: campaign, filter: filter, quota: quota))
        // Redis lost the seal, and the worker restores it.
        try await world.command(
          "DEL", world.keys.targets(partition, campaign.id), world.keys.control(partition, campaign.id))
        try await world.command("HDEL", world.keys.slice(partition, of: campaign.id), "control", "count", "seal")
        try await world.command("HSET", world.keys.slice(partition, of: campaign.id), "phase", "expanding")
        try await world.command("RPUSH", world.building(ledger), "")
        expect(try await world.store.expansion.restore(targets, of: ledger))
        let count = targets.count
        if count > 0 {
          _ = try await ledger.commit(credit: count)
          _ = try await ledger.commit(.accepted, 0..<count)
        }
        let counters = try #require(try await ledger.close(.finish).counters)
        _ = try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: "w")
      } else {
        _ = try await batch.claim(worker: "w", gracePeriod: 0)
        let count = try #require(try await batch.expand([0])[0].get())
        let answer = try await batch.seal([(0, count)])[0].get()
        var counters = answer.counters
        if counters == nil {
          _ = try await ledger.commit(.accepted, 0..<count)
          counters = try await ledger.close(.finish).counters
        }
        _ = try await world.store.slices.finish(slice, counters: try #require(counters), lane: .normal, worker: "w")
      }
    }
    var parts = Parts()
    try await world.store.results.forEachResult(of: campaign.id) { results in
      parts.users.formUnion(results.map(\.user))
      return true
    }
    var control: [String] = []
    try await world.store.expansion.forEachControlUser(of: campaign.id) { control += $0 }
    parts.control = Set(control)
    expect(parts.control.count, is: control.count)
    let record = try #require(try await world.store.campaigns.show(campaign.id))
    expect(record.state, is: .completed)
    expect(record.counters.control, is: control.count)
    expect(record.counters.outcomes, is: parts.users.isEmpty ? [:] : [.accepted: record.counters.targets])
    let counted = try await world.store.audiences.count(campaign, filter: filter)
    expect(counted, is: Reached(users: parts.users.count, targets: record.counters.targets, control: control.count))
    return parts
  }

  @Test(arguments: Backend.pair(for: "groupsHaveTheirSharesAndAreRepeatable"))
  func groupsHaveTheirSharesAndAreRepeatable(on backend: Backend) async throws {
    // Each partition has so few users that a batch reads them in one page.
    let world = try await TestStore(on: backend, partitions: 16, users: 0..<2400)
    try await world.store.audiences.add((0..<1200).map { "u\($0)" } + ["nobody"], to: "half")
    let allUsers = Set((0..<2400).map { "u\($0)" })
    let plain = try await run(try await world.activate("plain"), app: nil, world)
    expect(plain, is: Parts(users: allUsers))
    let first = try await run(try await world.activate("first", #","control":0.1"#), world)
    let second = try await run(try await world.activate("second", #","control":0.1"#), world)
    let shared = try await run(try await world.activate("shared"), app: 0.2, world)
    let both = try await run(
      try await world.activate("both", audience: #"{"segment":"half"}"#, #","control":0.1"#), app: 0.2, world)
    for parts in [first, second, shared] {
      expect(parts.users.isDisjoint(with: parts.control) && parts.users.union(parts.control) == allUsers)
    }
    // The tolerance is five standard deviations.
    expect(abs(first.control.count - 240) < 74 && abs(second.control.count - 240) < 74)
    expect(abs(shared.control.count - 480) < 98)
    expect(first.control != second.control)
    let half = Set((0..<1200).map { "u\($0)" })
    // The app's group is the same in every campaign. Each campaign also has its own group.
    expect(shared.control.intersection(half).isSubset(of: both.control))
    expect(both.control.subtracting(shared.control).count >= 40 && both.users.union(both.control) == half)
    let receipt = try await run(try await world.activate("receipt", #","transactional":true"#), app: 0.2, world)
    expect(receipt, is: Parts(users: allUsers))
  }

  @Test(arguments: Backend.allCases)
  func groupIsAPartOfTheUsersWithinALimit(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3)
    for number in 0..<30 {
      // Users with a higher number were seen later.
      try await world.registerUsers(
        number * 20..<number * 20 + 20, registeredAt: UInt64(Self.now - (1 << (40 - number))))
    }
    let parts = try await run(
      try await world.activate("c", audience: #"{"segment":"*","limit":200}"#, #","control":0.25"#), world)
    expect(parts.users.union(parts.control), is: Set((400..<600).map { "u\($0)" }))
    expect(parts.users.isDisjoint(with: parts.control))
    expect(abs(parts.control.count - 50) < 31)
  }

  @Test(arguments: Backend.allCases)
  func userWithoutAMatchingDeviceIsInNoGroup(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<100)
    let campaign = try await world.activate(
      "c", audience: #"{"segment":"*","where":"locale = 'en'"}"#, #","control":0.5"#)
    expect(try await run(campaign, world), is: Parts())
  }

  @Test func pagesAreReadAsTheyAreWritten() {
    var users = ControlUsers()
    let names = (0..<1234).map { "u\($0)" } + ["zoë", String(repeating: "x", count: 256)]
    for name in names { Array(name.utf8).withUnsafeBytes { users.add($0) } }
    expect(users.pages.count == 3 && users.count == names.count)
    expect(users.pages.flatMap { page in page.withUnsafeBytes(ControlUsers.users) }, is: names)
    expect(ControlUsers().pages.isEmpty)
    ([0, 5, 65] as [UInt8]).withUnsafeBytes { expect(ControlUsers.users(on: $0).isEmpty) }
  }
}
