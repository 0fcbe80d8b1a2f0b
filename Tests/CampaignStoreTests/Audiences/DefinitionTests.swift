@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Segments that are rules. They mean the same as sets in Swift wherever they are used, and a campaign keeps their
/// meaning from its start.
@Suite(.takesTurns) struct DefinitionTests {
  private struct Person {
    var user: String
    var locales: [String]
    var plan: String?
  }

  private static let lists = ["a", "b"]

  /// Conditions, and the same conditions for a user in Swift.
  private static let conditions: [(String?, @Sendable (Person) -> Bool)] = [
    (nil, { _ in true }),
    ("locale = 'en'", { $0.locales.contains("en") }),
    ("!(locale = 'en')", { $0.locales.contains { $0 != "en" } }),
    ("plan = 'gold'", { $0.plan == "gold" }),
    ("locale = 'de' & plan exists", { $0.locales.contains("de") && $0.plan != nil }),
  ]

  private func fill(_ world: TestStore, _ count: Int, _ seed: inout Seed) async throws -> [Person] {
    var (people, registrations): ([Person], [DeviceRegistration]) = ([], [])
    for number in 0..<count {
      let person = Person(
        user: "u\(number)",
        locales: (0..<Int.random(in: 1...2, using: &seed)).map { _ in
          ["en", "de"].randomElement(using: &seed) ?? "en"
        },
        plan: [nil, "gold", "silver"].randomElement(using: &seed) ?? nil)
      people.append(person)
      for (place, locale) in person.locales.enumerated() {
        var device = TestStore.device(2 * number + place)
        device.locale = locale
        let attributes = person.plan.map { Array(#"{"plan":"\#($0)"}"#.utf8) } ?? []
        registrations.append(DeviceRegistration(user: person.user, device: device, attributes: attributes))
      }
    }
    try await world.store.registry.register(registrations)
    return people
  }

  @Test(arguments: Backend.allCases)
  func randomRulesEqualSetsInSwift(on backend: Backend) async throws {
    var seed = Seed("randomRulesEqualSetsInSwift")
    let world = try await TestStore(on: backend, partitions: 3)
    let people = try await fill(world, 80, &seed)
    let allUsers = Set(people.map(\.user))
    var known: [String: Set<String>] = [:]
    for name in Self.lists {
      known[name] = Set((0..<90).filter { _ in Bool.random(using: &seed) }.map { "u\($0)" })
      try await world.store.audiences.add(Array(try #require(known[name])), to: name)
    }
    for _ in 0..<25 {
      // Each rule may name the rules before it.
      for number in 0..<4 {
        let names = Self.lists + (0..<number).map { "r\($0)" }
        let expression = AudienceExpression(root: .random(of: names, depth: 3, using: &seed))
        let (text, holds) = Self.conditions[Int.random(in: 0..<Self.conditions.count, using: &seed)]
        try await world.store.audiences.define(
          "r\(number)",
          SegmentDefinition(expression: expression, predicate: try text.map { try DevicePredicate(parsing: $0) }))
        var members = expression.root.members(known, allUsers)
        if text != nil { members.formIntersection(people.filter(holds).map(\.user)) }
        known["r\(number)"] = members
      }
      let expression = AudienceExpression(root: .random(of: Array(known.keys.sorted()), depth: 4, using: &seed))
      let expected = expression.root.members(known, allUsers).intersection(allUsers)
      expect(
        try await world.store.audiences.count(expression).users, is: expected.count, "\(expression), seed \(seed.value)"
      )
      var found: [String] = []
      try await world.store.audiences.forEachMember(of: expression) { found += $0 }
      expect(Set(found).intersection(allUsers), is: expected, "\(expression), seed \(seed.value)")
      // A rule that now names an earlier rule must not be named by that rule in the next iteration.
      for number in (0..<4).reversed() { expect(try await world.store.audiences.removeSegment("r\(number)")) }
      for number in 0..<4 { known["r\(number)"] = nil }
    }
  }

  /// Pages of several hundred users, read with their records and without.
  @Test func largeSegmentsAreAskedPageByPage() async throws {
    var seed = Seed("largeSegmentsAreAskedPageByPage")
    let world = try await TestStore(on: .single, partitions: 1)
    let people = try await fill(world, 2000, &seed)
    try await world.store.audiences.add(people.prefix(1500).map(\.user), to: "a")
    for (rule, condition) in [("*", 1), ("*", 3), ("a", 1), ("a", 4), ("!a", 4)] {
      let (text, holds) = Self.conditions[condition]
      try await world.store.audiences.define(
        "rule",
        SegmentDefinition(
          expression: try AudienceExpression(parsing: rule), predicate: try DevicePredicate(parsing: text ?? "")))
      let base = rule == "*" ? people[...] : rule == "a" ? people.prefix(1500) : people.dropFirst(1500)
      let expected = base.count(where: holds)
      expect(
        try await world.store.audiences.count(AudienceExpression(parsing: "rule")).users, is: expected,
        "\(rule) \(text ?? "")")
      expect(
        try await world.store.audiences.count(AudienceExpression(parsing: "* & !rule")).users, is: 2000 - expected,
        "\(rule) \(text ?? "")")
    }
  }

  private func define(_ world: TestStore, _ name: String, _ expression: String) async throws {
    try await world.store.audiences.define(
      name, SegmentDefinition(expression: try AudienceExpression(parsing: expression)))
  }

  private func refusal(_ body: () async throws -> Void) async -> String {
    await (#expect(throws: StoreError.self) { try await body() })?.message ?? ""
  }

  @Test(arguments: Backend.allCases)
  func invalidDefinitionOrRemovalIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.store.audiences.add(["u1"], to: "list")
    try await define(world, "a", "list")
    try await define(world, "b", "a | list")
    expect(await refusal { try await define(world, "a", "b") }.contains("contain itself: a → b → a"))
    expect(await refusal { try await define(world, "list", "a") }.contains("already exists as a segment"))
    expect(await refusal { try await define(world, "c", "nobody") }.contains("there is no segment 'nobody'"))
    expect(
      await refusal { _ = try await world.store.audiences.removeSegment("a") }.contains(
        "definitions use the segment 'a': b"))
    expect(
      await refusal { _ = try await world.store.audiences.removeSegment("list") }.contains(
        "definitions use the segment 'list': a, b"))
    expect(await refusal { try await world.store.audiences.checkNotDefined("a") }.contains("is defined as list"))
    try await world.store.audiences.checkNotDefined("list")
    expect(try await world.store.audiences.definitions().all.keys.sorted(), is: ["a", "b"])
    expect(try await world.store.audiences.segmentNames(), is: ["list"])
    expect(try await world.store.audiences.removeSegment("b"))
    expect(try await world.store.audiences.removeSegment("a"))
    expect(try await world.store.audiences.removeSegment("a"), is: false)
  }

  @Test(arguments: Backend.allCases)
  func rulesDefinedConcurrentlyNeverFormACycle(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    try await world.store.audiences.add(["u1"], to: "list")
    for _ in 0..<10 {
      try await define(world, "a", "list")
      try await define(world, "b", "list")
      async let first: Void = define(world, "a", "b")
      async let second: Void = define(world, "b", "a")
      var refused = 0
      do { try await first } catch is StoreError { refused += 1 }
      do { try await second } catch is StoreError { refused += 1 }
      expect(refused, is: 1)
      try await world.store.audiences.definitions().check()
      for name in ["a", "b", "a"] { _ = try? await world.store.audiences.removeSegment(name) }
    }
  }

  @Test(arguments: Backend.wholeWay)
  func campaignKeepsTheDefinitionsOfItsStart(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<40)
    try await world.store.audiences.add((0..<10).map { "u\($0)" }, to: "ten")
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "twenty")
    try await define(world, "inner", "ten")
    try await define(world, "rule", "inner")
    let campaign = try await world.activate("c", audience: #"{"segment":"rule"}"#, narrowing: true)
    let job = TestStore.job(
      "later", audience: #"{"segment":"*","exclude":{"segment":"rule"}}"#, #","sendAt":"2100-01-01T00:00:00Z""#)
    var later = try CampaignJob.parse(job, .any([APNsService()]))
    // The schedule accepts this time. The test then sets it to a time in the past.
    later.delivery.sendAt = try await world.store.time() / 1000 + 86_400_000
    expect(try await world.store.queue.activate(later, job: job, worker: "w"), is: .new)
    try await define(world, "inner", "twenty")
    var (record, _) = try #require(try await world.store.campaigns.findWithJob("c"))
    expect(record.placement.definitions.all.mapValues(\.description), is: ["rule": "inner", "inner": "ten"])
    var pinned = campaign
    pinned.recipients.definitions = record.placement.definitions
    try await world.expectEnd(of: pinned, Set((0..<10).map { "u\($0)" }))
    // The definitions of a scheduled campaign are fixed when it begins. A rule that is removed by then keeps its last
    // meaning.
    try await define(world, "rule", "!inner")
    try await world.command("HSET", world.keys.campaign("later"), "sendAt", 1)
    expect(try await world.store.queue.promote(["later"]), is: ["later"])
    expect(try await world.store.audiences.fixPartitions(of: later) != nil)
    (record, _) = try #require(try await world.store.campaigns.findWithJob("later"))
    expect(record.placement.definitions.all.mapValues(\.description), is: ["rule": "!inner", "inner": "twenty"])
    later.recipients.definitions = record.placement.definitions
    try await world.expectEnd(of: later, Set((0..<20).map { "u\($0)" }))
  }

  @Test(arguments: Backend.allCases)
  func removedRuleKeepsItsMeaningForAScheduledCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, users: 0..<20)
    try await world.store.audiences.add((0..<10).map { "u\($0)" }, to: "ten")
    try await define(world, "rule", "ten")
    let job = TestStore.job("c", audience: #"{"segment":"!rule"}"#)
    var campaign = try CampaignJob.parse(job, .any([APNsService()]))
    campaign.delivery.sendAt = try await world.store.time() / 1000 + 86_400_000
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    // No command removes the rule during this time, but another program does.
    expect(await refusal { _ = try await world.store.audiences.removeSegment("rule") }.contains("not ended: c"))
    try await world.command("HDEL", world.keys.definitions, "rule")
    try await world.command("HSET", world.keys.campaign("c"), "sendAt", 1)
    expect(try await world.store.queue.promote(["c"]), is: ["c"])
    campaign.recipients.definitions = try #require(try await world.store.campaigns.findWithJob("c")).record.placement
      .definitions
    campaign.recipients.definitions = try #require(try await world.store.audiences.fixPartitions(of: campaign))
    try await world.expectEnd(of: campaign, Set((10..<20).map { "u\($0)" }))
    // A job that names the removed rule is rejected.
    let error = await #expect(throws: StoreError.self) {
      try await world.activate("d", audience: #"{"segment":"!rule"}"#)
    }
    expect(error?.message.contains("there is no segment 'rule'"), is: true)
  }

  /// A definition that can't be read affects only jobs and rules that name it.
  @Test(arguments: Backend.allCases)
  func unreadableDefinitionConcernsOnlyWhatNamesIt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let store = world.store
    try await store.audiences.add(["u1"], to: "fans")
    try await store.audiences.define("loud", SegmentDefinition(expression: AudienceExpression(parsing: "fans")))
    try await world.command("HSET", world.keys.definitions, "ghost", #"{"expression":"a &"#)
    try await world.command("HSET", world.keys.definitions, "tower", #"{"expression":"ghost & fans"}"#)
    for text in ["fans", "loud", "!fans | loud"] {
      try await store.queue.checkSegments(of: AudienceExpression(parsing: text))
    }
    for text in ["ghost", "fans & !ghost", "tower"] {
      do {
        try await store.queue.checkSegments(of: AudienceExpression(parsing: text))
        Issue.record("\(text) was accepted")
      } catch let error as StoreError {
        expect(error.code == .invalid && error.message.contains("'ghost'"), "\(error)")
      }
    }
    try await store.audiences.define("quiet", SegmentDefinition(expression: AudienceExpression(parsing: "loud")))
    // The check of the store reports it.
    var findings: [StoreFinding] = []
    _ = try await store.repair.check(pause: .zero) { findings += $0 }
    expect(findings.filter { $0.kind == .unreadableDefinition }.map(\.subject), is: ["ghost"])
    // A new definition repairs the rule. A definition that can't be read can be removed.
    try await store.audiences.define("ghost", SegmentDefinition(expression: AudienceExpression(parsing: "fans")))
    try await store.queue.checkSegments(of: AudienceExpression(parsing: "tower"))
    try await world.command("HSET", world.keys.definitions, "last", "{")
    expect(try await store.audiences.undefine("last"))
    expect(try await store.audiences.definitions().unreadable.isEmpty)
  }
}
