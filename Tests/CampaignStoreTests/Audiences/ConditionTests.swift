@testable import CampaignStore
import APNs
import LedgerModel
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Campaigns with a condition. They reach the devices that match it, for every way to name the users.
@Suite(.takesTurns) struct ConditionTests {
  /// Facts about one device and its user.
  private struct Person {
    var number: Int
    var locale: String
    var version: String
    var lastSeen: UInt64
    var plan: String?
    var age: Int?

    var user: String { "u\(number / 2)" }
  }

  private static let now = 1_700_000_000_000
  private static let day: UInt64 = 86_400_000

  /// Two devices for each user, who has the attributes of the first.
  private static func people(_ count: Int, seed: UInt64) -> [Person] {
    var random = SeededGenerator(seed: seed)
    var people: [Person] = []
    for number in 0..<count {
      var person = Person(
        number: number, locale: ["", "en", "en-GB", "de", "fr-FR"].randomElement(using: &random) ?? "",
        version: ["", "4.9", "5.2", "5.10"].randomElement(using: &random) ?? "",
        lastSeen: [0, UInt64(now) - UInt64.random(in: 0...60, using: &random) * day].randomElement(using: &random) ?? 0,
        plan: [nil, "gold", "silver"].randomElement(using: &random) ?? nil,
        age: [nil, Int.random(in: 10...60, using: &random)].randomElement(using: &random) ?? nil)
      if number % 2 == 1 { (person.plan, person.age) = (people[number - 1].plan, people[number - 1].age) }
      people.append(person)
    }
    return people
  }

  /// Conditions, and the same conditions in Swift.
  private static let conditions: [(String, @Sendable (Person) -> Bool)] = [
    ("locale = 'en'", { $0.locale.hasPrefix("en") }),
    ("appVersion >= '5.2'", { ["5.2", "5.10"].contains($0.version) }),
    ("lastSeen < 30d", { $0.lastSeen > UInt64(now) - 30 * day }),
    ("plan = 'gold'", { $0.plan == "gold" }),
    ("age >= 18 & !(locale = 'de')", { ($0.age ?? 0) >= 18 && $0.locale != "de" }),
    (
      "plan in ('gold', 'silver') & appVersion < '5.10' | !(age exists)",
      { person in
        person.plan != nil && ["4.9", "5.2"].contains(person.version) || person.age == nil
      }
    ),
  ]

  @Test(arguments: Backend.pair(for: "conditionReachesMatchingDevices"), Self.conditions.indices)
  func conditionReachesMatchingDevices(on backend: Backend, condition: Int) async throws {
    let seed = UInt64.random(in: .min ... .max)
    print("seed \(seed)")
    let people = Self.people(1400, seed: seed)
    let world = try await filled(backend, people)
    let (text, means) = Self.conditions[condition]
    for (id, audience, named) in [
      ("all", #""segment":"*""#, { (_: Person) in true }),
      ("half", #""segment":"half""#, { $0.number / 2 < 350 }),
      ("both", #""segment":"half & !few""#, { (20..<350).contains($0.number / 2) }),
      ("few", #""users":["u1","u2","u3","u4","u5","u6","nobody"]"#, { (1...6).contains($0.number / 2) }),
    ] as [(String, String, (Person) -> Bool)] {
      let campaign = try await world.activate(id, audience: "{\(audience),\"where\":\"\(text)\"}")
      let expected = Set(people.filter { named($0) && means($0) }.map(\.number))
      expect(try await reached(campaign, world), is: expected, "\(id), seed \(seed)")
    }
    let count = try await world.store.audiences.count(
      AudienceExpression(parsing: "*"), where: DevicePredicate(parsing: text))
    // The count is relative to now, and no device was seen lately.
    if !text.contains("lastSeen") {
      expect(count.devices, is: people.count { means($0) }, "seed \(seed)")
      expect(count.users, is: Set(people.filter(means).map(\.user)).count, "seed \(seed)")
    }
  }

  @Test(arguments: Backend.wholeWay)
  func sampleIsTheSameHoweverItIsExpanded(on backend: Backend) async throws {
    let people = Self.people(2000, seed: 7)
    let world = try await filled(backend, people)
    var samples: [String: Set<Int>] = [:]
    for id in ["a", "b"] {
      let campaign = try await world.activate(id, audience: #"{"segment":"*","sample":0.2}"#)
      let sample = try #require(campaign.recipients.sample)
      let reached = try await reached(campaign, world)
      let expected = people.filter { Array($0.user.utf8).withUnsafeBytes(sample.has) }
      expect(reached, is: Set(expected.map(\.number)))
      samples[id] = reached
    }
    // Both devices of a user are in the sample, or neither. The tolerance is five standard deviations.
    expect(samples.values.allSatisfy { abs($0.count - 400) < 130 })
    expect(samples["a"] != samples["b"])
  }

  /// Returns the numbers of the devices that a campaign reaches, expanded one slice at a time and many slices together.
  private func reached(_ campaign: Campaign, _ world: TestStore) async throws -> Set<Int> {
    let filter = TestStore.filter(of: campaign, start: Self.now)
    var reached: [Int] = []
    var ledgers: [SliceLedger] = []
    for partition in 0..<world.keys.partitions {
      if partition % 2 == 0 {
        let ledger = try await world.claimed(campaign.id, partition).ledger
        let targets = try #require(
          try await world.store.expansion.expand(ledger, of: campaign, filter: filter))
        reached += Self.numbers(targets.chunk)
      } else {
        ledgers.append(
          SliceLedger(
            store: world.store, slice: SliceReference(campaign: campaign.id, partition: partition),
            lease: TestStore.timeout,
            app: "news"))
      }
    }
    var batch = SliceBatch(ledgers, store: world.store.pinned(), of: campaign, filter: filter)
    _ = try await batch.claim(worker: "w", gracePeriod: 0)
    for (position, result) in try await batch.expand(Array(ledgers.indices)).enumerated() {
      if try result.get() != nil {
        expect(try await batch.seal([(position, 0)])[0].get().isSealed)
        reached += Self.numbers(batch.targets(of: position).chunk)
      } else {
        // This slice is too large for a batch.
        let targets = try await world.store.expansion.expand(ledgers[position], of: campaign, filter: filter)
        reached += Self.numbers(try #require(targets).chunk)
      }
    }
    expect(Set(reached).count, is: reached.count)
    return Set(reached)
  }

  private static func numbers(_ chunk: TargetChunk) -> [Int] {
    (0..<chunk.count).map { Array(chunk.token($0)).suffix(8).reduce(0) { $0 << 8 | Int($1) } }
  }

  private func filled(_ backend: Backend, _ people: [Person]) async throws -> TestStore {
    let world = try await TestStore(on: backend, partitions: 4)
    try await world.store.registry.register(
      people.map { person in
        var device = TestStore.device(person.number)
        (device.locale, device.appVersion, device.lastSeen) = (person.locale, person.version, person.lastSeen)
        var members: [String] = []
        if let plan = person.plan { members.append("\"plan\":\"\(plan)\"") }
        // A number that is imported from a CSV file is stored as text.
        if let age = person.age { members.append(person.number % 4 < 2 ? "\"age\":\(age)" : "\"age\":\"\(age)\"") }
        return DeviceRegistration(
          user: person.user, device: device, attributes: Array("{\(members.joined(separator: ","))}".utf8))
      })
    try await world.store.audiences.add((0..<350).map { "u\($0)" } + ["nobody"], to: "half")
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "few")
    return world
  }
}
