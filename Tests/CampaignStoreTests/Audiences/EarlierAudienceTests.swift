@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Audiences that depend on the outcomes of earlier campaigns and on suppression lists.
struct EarlierAudienceTests {
  private static let names = ["a", "b"]

  /// The contents of the store, in plain Swift.
  private struct Model {
    var allUsers: Set<String> = []
    var segments: [String: Set<String>] = [:]
    /// Users by campaign and outcome.
    var campaigns: [String: [Outcome: Set<String>]] = [:]
    var suppressed: [String?: Set<String>] = [:]
    /// Users who opened a push, by campaign.
    var opened: [String: Set<String>] = [:]

    func members(of earlier: EarlierAudience) -> Set<String> {
      let reached: Set<String> = earlier.outcomes.reduce([]) { $0.union(campaigns[earlier.campaign]?[$1] ?? []) }
      let opened = opened[earlier.campaign] ?? []
      return switch earlier.opened {
      case true?: reached.intersection(opened)
      case false?: reached.subtracting(opened)
      case nil: reached
      }
    }

    /// Returns the users in a campaign's audience.
    func members(of campaign: Campaign) -> Set<String> {
      var members: Set<String> =
        switch campaign.recipients.audience {
        case .segment(let expression): expression.root.members(segments, allUsers)
        case .users(let users): Set(users)
        case .campaign(let earlier): self.members(of: earlier)
        case .activity, .tokens, .channel: []
        }
      if let excluded = campaign.recipients.exclusion.segment {
        members.subtract(excluded.root.members(segments, allUsers))
      }
      for earlier in campaign.recipients.exclusion.campaigns { members.subtract(self.members(of: earlier)) }
      if !campaign.recipients.isTransactional {
        members.subtract(suppressed[nil] ?? [])
        if let category = campaign.recipients.category { members.subtract(suppressed[category] ?? []) }
      }
      return members.intersection(allUsers)
    }
  }

  @Test(arguments: Backend.allCases, [1, 4])
  func audiencesEqualSetsInSwift(on backend: Backend, partitions: Int) async throws {
    var seed = Seed("audiencesEqualSetsInSwift")
    let world = try await TestStore(on: backend, partitions: partitions)
    var model = Model()
    // One partition has several pages of targets, and each set has members who have never registered.
    model.allUsers = Set((0..<1300).map { "u\($0)" })
    try await world.registerUsers(0..<1300)
    func some(_ share: Double) -> Set<String> {
      Set((0..<1400).filter { _ in Double.random(in: 0..<1, using: &seed) < share }.map { "u\($0)" })
    }
    for name in Self.names {
      model.segments[name] = some(0.4)
      try await world.store.audiences.add(Array(model.segments[name] ?? []), to: name)
    }
    for (id, share) in [("old", 0.9), ("older", 0.1)] {
      let users = some(share)
      model.campaigns[id] = try await sent(id, to: users, world, &seed)
      let openers = users.filter { _ in Int.random(in: 0..<3, using: &seed) == 0 }
      // An opening by a user who got no push does not count.
      let reached = (model.campaigns[id]?[.accepted] ?? []).union(model.campaigns[id]?[.unknown] ?? [])
      model.opened[id] = openers.intersection(reached)
      try await world.store.results.apply(openers.map { ReceiptEvent(.opened, campaign: id, user: $0) })
    }
    for category in [nil, "offers"] as [String?] {
      model.suppressed[category] = some(0.1)
      let list = SuppressionList(app: "news", category: category)
      try await world.store.audiences.add(Array(model.suppressed[category] ?? []), to: list.segment)
    }
    for number in 0..<30 {
      let (audience, more) = Self.job(model, &seed)
      let campaign = try await world.activate("c\(number)", audience: audience, more)
      let reached = try await reached(campaign, world)
      expect(reached.count, is: Set(reached).count, "\(audience), \(more), seed \(seed.value)")
      expect(Set(reached), is: model.members(of: campaign), "\(audience), \(more), seed \(seed.value)")
    }
  }

  /// Runs a campaign that produces every outcome.
  ///
  /// - Returns: the users by outcome.
  private func sent(
    _ id: String, to users: Set<String>, _ world: TestStore, _ seed: inout Seed
  ) async throws -> [Outcome: Set<String>] {
    let list = users.sorted().map { "\"\($0)\"" }.joined(separator: ",")
    let campaign = try await world.activate(id, audience: "{\"users\":[\(list)]}", #","results":"none""#)
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") {
      let ledger = try await world.claimed(id, slice.partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      for first in stride(from: 0, to: count, by: 100) {
        let part = first..<min(first + 100, count)
        try await ledger.commit(credit: part.count)
        let outcomes: [Outcome] = [.accepted, .unknown, .unregistered, .expired]
        let records = part.map { index in
          (index, LedgerRecord(state: .terminal(outcomes.randomElement(using: &seed) ?? .accepted)))
        }
        try await ledger.commit(Dictionary(uniqueKeysWithValues: records))
      }
      let counters = try #require(try await ledger.close(.finish).counters)
      _ = try await world.store.slices.finish(slice, counters: counters, lane: campaign.delivery.lane, worker: "w")
    }
    var found: [Outcome: Set<String>] = [:]
    try await world.store.results.forEachResult(of: id) { page in
      for result in page {
        if let outcome = result.outcome { found[outcome, default: []].insert(result.user) }
      }
      return true
    }
    return found
  }

  private static func job(_ model: Model, _ seed: inout Seed) -> (audience: String, more: String) {
    func expression() -> String {
      AudienceExpression(root: .random(of: names, depth: 3, using: &seed)).description
    }
    func outcomes() -> String {
      switch Int.random(in: 0..<5, using: &seed) {
      case 0: ""
      case 3: #","opened":true"#
      case 4: #","opened":false,"outcome":["accepted","expired"]"#
      case 1: #","outcome":"unregistered""#
      default: #","outcome":["expired","accepted"]"#
      }
    }
    var audience =
      switch Int.random(in: 0..<4, using: &seed) {
      case 0: #""users":["u1","u2","u3","u1350"]"#
      case 1: #""campaign":"old""# + outcomes()
      default: #""segment":"\#(expression())""#
      }
    switch Int.random(in: 0..<4, using: &seed) {
    case 0: audience += #","exclude":{"segment":"\#(expression())"}"#
    case 1: audience += #","exclude":{"campaign":["old","older"]\#(outcomes())}"#
    case 2: audience += #","exclude":{"campaign":"older","segment":"\#(expression())"\#(outcomes())}"#
    default: break
    }
    let more = ["", #","category":"offers""#, #","transactional":true"#, #","category":"other""#]
    return ("{\(audience)}", more.randomElement(using: &seed) ?? "")
  }

  /// Returns the users that a campaign reaches, expanded one slice at a time and many slices together.
  private func reached(_ campaign: Campaign, _ world: TestStore) async throws -> [String] {
    let filter = TestStore.filter(of: campaign)
    var users: [String] = []
    func add(_ chunk: TargetChunk) {
      users += (0..<chunk.count).map { String(decoding: chunk.user($0), as: UTF8.self) }
    }
    for partition in 0..<world.keys.partitions {
      let slice = SliceReference(campaign: campaign.id, partition: partition)
      let ledger = SliceLedger(store: world.store, slice: slice, lease: TestStore.timeout, app: "news")
      if partition % 2 == 1 {
        var batch = SliceBatch([ledger], store: world.store.pinned(), of: campaign, filter: filter)
        _ = try await batch.claim(worker: "w", gracePeriod: 0)
        if try await batch.expand([0])[0].get() != nil {
          expect(try await batch.seal([(0, 0)])[0].get().isSealed)
          add(batch.targets(of: 0).chunk)
          continue
        }
      } else {
        _ = try await ledger.claim(worker: "w")
      }
      add(try #require(try await world.store.expansion.expand(ledger, of: campaign, filter: filter)).chunk)
    }
    return users
  }

  @Test func emptySuppressionListsCostNothing() async throws {
    let server = try await RedisServer.start(.single)
    let world = try await TestStore(on: .single, partitions: 1, server: server, users: 0..<2000)
    let campaign = try await world.activate("a", audience: #"{"segment":"*"}"#, #","category":"offers""#)
    let ledger = try await world.claimed("a").ledger
    try await world.command("CONFIG", "RESETSTAT")
    expect(try await world.expand(ledger, campaign), is: 2000)
    let info = RedisServerInfo(parsing: try await world.command("INFO", "commandstats").string ?? "").fields
    expect(info["cmdstat_smismember"] == nil && info["cmdstat_scard"] != nil)
    await server.stop()
  }

  // MARK: Invalid references

  @Test(arguments: Backend.allCases)
  func missingCampaignOrOneWithoutUsersIsRefused(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    try await world.activate("tokens", audience: #"{"tokens":["\#(TestStore.text(1))"]}"#)
    try await world.activate("moved")
    try await world.activate("daily", #","repeat":{"cron":"0 8 * * *"}"#)
    try await world.command("HSET", world.keys.campaign("moved"), "partitions", "9")
    for (id, words) in [
      ("gone", "does not exist"), ("tokens", "no audience of users"), ("moved", "repartition"),
      ("daily", "is recurring"),
    ] {
      for audience in [#"{"campaign":"\#(id)"}"#, #"{"segment":"*","exclude":{"campaign":"\#(id)"}}"#] {
        let campaign = try CampaignJob.parse(TestStore.job("c", audience: audience), .any([TestStore.service]))
        let error = await #expect(throws: StoreError.self) { try await world.store.queue.check(campaign) }
        expect(error?.code == .invalid && error?.message.contains(words) == true, "\(String(describing: error))")
      }
    }
    let excluding = TestStore.job("c", audience: #"{"segment":"*","exclude":{"segment":"churnd"}}"#)
    let campaign = try CampaignJob.parse(excluding, .any([TestStore.service]))
    let error = await #expect(throws: StoreError.self) { try await world.store.queue.check(campaign) }
    expect(error?.message.contains("audience.exclude.segment"), is: true)
  }

  @Test(arguments: Backend.allCases)
  func campaignMustHaveEndedAndStayForAWhile(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    let old = try await world.activate("old")
    let campaign = try CampaignJob.parse(
      TestStore.job("c", audience: #"{"campaign":"old"}"#), .any([TestStore.service]))
    try await world.store.queue.check(campaign)
    expect(try await world.store.audiences.unfinishedEarlier(of: campaign), is: "old")
    _ = try await world.workOff(old)
    expect(try await world.store.audiences.unfinishedEarlier(of: campaign), is: nil)
    try await world.command("EXPIRE", world.keys.campaign("old"), "30")
    let error = await #expect(throws: StoreError.self) {
      try await world.store.audiences.unfinishedEarlier(of: campaign)
    }
    expect(error?.message.contains("expire"), is: true)
  }
}
