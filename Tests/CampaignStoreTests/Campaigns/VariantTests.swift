@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Counts of outcomes by variant, together with the outcomes of targets.
struct VariantTests {
  private static let variants = #","variants":[{"name":"a"},{"name":"b","weight":2,"apns":{"payload":{"n":2}}}]"#
  private static let winner = variants + #","stages":[{"share":0.5,"winner":{"minimum":10}}]"#

  /// A variant's place and an outcome.
  private struct Place: Hashable {
    var variant: Int
    var outcome: Outcome
  }

  /// A sealed and granted slice. The variant of a user is derived from the user's id, not from the sealed targets.
  private struct Scene {
    let world: TestStore
    let campaign: Campaign
    let variants: CampaignVariants
    let ledger: SliceLedger
    let targets: SealedTargets
    let places: [Int]

    init(
      on backend: Backend, users: Int = 300, _ more: String = VariantTests.variants, granted: Int? = nil
    ) async throws {
      world = try await TestStore(on: backend, partitions: 1)
      try await world.registerUsers(0..<users)
      campaign = try await world.activate("a", more)
      ledger = try await world.claimed("a").ledger
      let filter = DeviceFilter(campaign, service: TestStore.service, environment: "production", start: 0)
      targets = try #require(try await world.store.expansion.expand(ledger, of: campaign, filter: filter))
      let variants = try #require(campaign.message.variants)
      self.variants = variants
      let chunk = targets.chunk
      places = (0..<chunk.count).map { position in chunk.user(position).withUnsafeBytes { variants.index(of: $0) } }
      expect(places.count, is: users)
      var nothing = OutcomeBatch()
      _ = try await ledger.commit(&nothing, credit: granted ?? users)
    }

    func batch(_ outcomes: [(index: Int, outcome: Outcome)], attempt: UInt8 = 0) -> OutcomeBatch {
      var batch = OutcomeBatch()
      for (index, outcome) in outcomes {
        var record = LedgerRecord.terminal(outcome, attempt: attempt)
        record.variant = UInt8(places[index] + 1)
        batch.append(record, at: index)
      }
      return batch
    }

    func commit(_ outcomes: [(index: Int, outcome: Outcome)], credit: Int = 0) async throws {
      var batch = batch(outcomes)
      _ = try await ledger.commit(&batch, credit: credit)
    }

    func counted() async throws -> [VariantCounts] {
      let record = try #require(try await world.store.campaigns.find("a"))
      return try await world.store.campaigns.variantCounts(of: record, variants)
    }

    /// Compares the counters with the outcomes of the targets.
    func expectCounts(_ outcomes: [Int: Outcome]) async throws {
      var expected: [Place: Int] = [:]
      for (index, outcome) in outcomes { expected[Place(variant: places[index], outcome: outcome), default: 0] += 1 }
      let counted = try await counted()
      for (number, place) in variants.all.indices.enumerated() {
        expect(counted[number].targets, is: places.count { $0 == place })
        let own = expected.filter { $0.key.variant == place }
        expect(
          counted[number].outcomes, is: Dictionary(uniqueKeysWithValues: own.map { ($0.key.outcome, $0.value) }),
          "\(place)")
      }
      let numbers = try await world.slice("a").numbers
      for outcome in Outcome.allCases {
        expect(numbers["\(outcome.rawValue)"] ?? 0 == outcomes.values.count { $0 == outcome }, "\(outcome)")
      }
    }
  }

  // MARK: Counts

  @Test(arguments: Backend.allCases)
  func repeatedOutcomesAreCountedOnceByVariant(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    var seed = Seed("repeatedOutcomesAreCountedOnceByVariant")
    var known: [Int: Outcome] = [:]
    let kinds: [Outcome] = [.accepted, .accepted, .accepted, .unregistered, .rejected, .failed, .capped, .expired]
    // Whole ranges, single targets, and both mixed with known outcomes.
    for _ in 0..<12 {
      let first = Int.random(in: 0..<250, using: &seed)
      let indexes = first..<first + Int.random(in: 1...50, using: &seed)
      let observed = indexes.filter { _ in Int.random(in: 0..<5, using: &seed) > 0 }.map { index in
        (index: index, outcome: kinds.randomElement(using: &seed) ?? .accepted)
      }
      for (index, outcome) in observed where known[index] == nil || outcome == .accepted { known[index] = outcome }
      try await scene.commit(observed)
      // The reply was lost.
      try await scene.commit(observed)
      try await scene.expectCounts(known)
      // Redis lost the outcomes, or the worker only assumes so.
      var batch = scene.batch(observed)
      _ = try await scene.ledger.commit(
        &batch, CommitRequest(seal: scene.ledger.claim, expected: .replay(granted: 300)))
      try await scene.expectCounts(known)
    }
    try await scene.commit((0..<300).map { ($0, .accepted) })
    for index in 0..<300 where known[index] == nil || known[index] != nil { known[index] = .accepted }
    // Targets with another outcome are accepted now.
    try await scene.expectCounts(known)
    var findings: [StoreFinding] = []
    _ = try await scene.world.store.repair.check(pause: .zero) { findings += $0 }
    expect(findings.isEmpty, "\(findings)")
    let field = VariantCounts.fields(1)[1]
    try await scene.world.command("HINCRBY", scene.world.keys.slice(0, of: "a"), field, 1)
    _ = try await scene.world.store.repair.check(pause: .zero) { findings += $0 }
    expect(findings.map(\.kind), is: [.wrongCounters], "\(findings)")
  }

  @Test(arguments: Backend.allCases)
  func retriesAreCountedWhenTheyHaveEnded(on backend: Backend) async throws {
    let scene = try await Scene(on: backend, users: 20)
    try await scene.ledger.commit(
      Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, LedgerRecord.waiting()) }))
    try await scene.expectCounts([:])
    let granted = try await scene.ledger.commit(credit: 20)
    expect(granted.retries.count, is: 20)
    var batch = scene.batch((0..<20).map { ($0, .accepted) }, attempt: 1)
    _ = try await scene.ledger.commit(&batch, credit: 0)
    try await scene.expectCounts(Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, .accepted) }))
  }

  /// A cancel gives each variant its share of the outcomes. Targets in doubt become unknown.
  @Test(arguments: Backend.allCases)
  func cancelledTargetsAreCountedByVariant(on backend: Backend) async throws {
    let scene = try await Scene(on: backend, granted: 240)
    try await scene.commit((0..<200).filter { $0 % 3 > 0 }.map { ($0, $0 % 4 == 0 ? .rejected : .accepted) })
    try await scene.ledger.commit([
      0: .waiting(milliseconds: 100_000), 3: .waiting(milliseconds: 100_000, isAmbiguous: true),
    ])
    let languages = try #require(scene.campaign.message.content?.variantLanguages)
    let counters = try #require(try await scene.ledger.close(.cancel, variantLanguages: languages).counters)
    var known: [Int: Outcome] = [:]
    try await scene.world.store.results.forEachResult(of: "a") { results in
      for (index, result) in results.enumerated() { known[index] = result.outcome }
      return true
    }
    expect(known.count == 300 && known.values.count { $0 == .unknown } == 106 && known[0] == .cancelled)
    expect(known[3], is: .unknown)
    expect(counters.outcomes[.unknown], is: 106)
    try await scene.expectCounts(known)
    _ = try await scene.world.store.slices.finish(scene.ledger.slice, counters: counters, lane: .normal, worker: "w")
    expect(try await scene.world.store.campaigns.show("a")?.pending, is: 0)
  }

  /// Redis lost the seal, and the worker restores it.
  @Test(arguments: Backend.allCases)
  func restoredSealHasTheSameTargetsOfEachVariant(on backend: Backend) async throws {
    let scene = try await Scene(on: backend, granted: 0)
    let keys = scene.world.keys
    try await scene.world.command("DEL", keys.targets(0, "a"), keys.slice(0, of: "a"))
    let again = try await scene.world.claimed("a").ledger
    try await scene.world.command("RPUSH", scene.world.building(again), "")
    try await scene.world.command("DEL", scene.world.building(again))
    try await scene.world.command("RPUSH", scene.world.building(again), "")
    expect(try await scene.world.store.expansion.restore(scene.targets, of: again))
    try await scene.expectCounts([:])
  }

  @Test(arguments: Backend.allCases)
  func receiptsAreCountedOnceByVariant(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    for _ in 0..<2 {
      try await scene.world.store.results.apply((0..<200).map { ReceiptEvent(.opened, campaign: "a", user: "u\($0)") })
      try await scene.world.store.results.apply(
        (100..<150).map { ReceiptEvent(.delivered, campaign: "a", user: "u\($0)") })
    }
    let counted = try await scene.counted()
    func expected(_ users: Range<Int>, _ place: Int) -> Int {
      users.count { number in Array("u\(number)".utf8).withUnsafeBytes { scene.variants.index(of: $0) } == place }
    }
    for (number, place) in [0, 1].enumerated() {
      expect(counted[number].receipts[.opened], is: expected(0..<200, place))
      expect(counted[number].receipts[.delivered], is: expected(100..<150, place))
    }
    let record = try #require(try await scene.world.store.campaigns.find("a"))
    expect(try await scene.world.store.results.receipts(of: record), is: [.opened: 200, .delivered: 50, .dismissed: 0])
  }

  /// A campaign without variants has no cost.
  @Test(arguments: Backend.allCases)
  func campaignWithoutVariantsHasNoCounts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    try await world.activate("a", #","variants":null"#)
    let ledger = try await world.claimed("a").ledger
    let campaign = try CampaignJob.parse(TestStore.job("a", audience: #"{"segment":"*"}"#), .any([APNsService()]))
    _ = try await world.expand(ledger, campaign)
    try await ledger.commit(credit: 10)
    try await ledger.commit(.accepted, 0..<10)
    try await world.store.results.apply([ReceiptEvent(.opened, campaign: "a", user: "u1")])
    let fields = Set(try await world.slice("a").text.keys)
    expect(fields.isDisjoint(with: CampaignVariants.places.flatMap(VariantCounts.fields)), "\(fields)")
    expect(try await world.command("HGET", world.keys.campaign("a"), "receipts").integer, is: 1)
    expect(try await ledger.record(0).variant, is: 0)
  }

  // MARK: Decisions

  @Test(arguments: Backend.allCases)
  func personDecidesBeforeTheTimeOrWithoutAWinner(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    try await world.activate("early", Self.winner)
    let (decision, state) = try await world.store.campaigns.decide("early", variant: "b", by: "ada")
    expect(decision.winner == 1 && decision.person == "ada" && state == .active)
    let entry = try #require(try await world.store.campaigns.timeline(of: "early").last)
    expect(entry.verb == .decide && !entry.isByWorker && entry.person == "ada" && entry.reason == "b")
    try await world.activate("paused", Self.winner)
    try await world.store.campaigns.control("paused", .pause, reason: "no winner", gate: 0)
    expect(try await world.store.campaigns.decide("paused", variant: "a", by: "").state, is: .active)
    // A campaign that is paused for another reason stays paused.
    try await world.activate("other", Self.winner)
    try await world.store.campaigns.control("other", .pause, reason: "a typo")
    expect(try await world.store.campaigns.decide("other", variant: "a", by: "").state, is: .paused)
    try await world.activate("plain")
    try await world.activate("over", Self.winner)
    try await world.store.campaigns.control("over", .cancel)
    for (id, name, code, says) in [
      ("plain", "a", StoreError.Code.invalid, "no stage of campaign plain chooses a winner"),
      ("other", "c", .invalid, "has no variant 'c'"),
      ("over", "a", .decided, "is cancelled"), ("nobody", "a", .notFound, ""),
    ] {
      let error = await #expect(throws: StoreError.self) {
        try await world.store.campaigns.decide(id, variant: name, by: "")
      }
      expect(error?.code == code && error?.message.contains(says) == true, "\(error?.message ?? "")")
    }
  }
}
