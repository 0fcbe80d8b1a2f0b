public import PushCore
import Redis

/// What became of a variant of a campaign, or of those who waited for the best of them.
public struct VariantCounts: Sendable, Equatable {
  /// Sealed targets.
  public var targets = 0
  /// What became of them.
  public var outcomes: [Outcome: Int] = [:]
  /// How many users did what.
  public var receipts: [ReceiptEvent.Kind: Int] = [:]

  /// Nobody got it.
  public init() {}

  /// Under which number a slice counts a state of a variant's targets: `commit.lua` finds it in the records.
  ///
  /// - Parameter variant: as a ledger record has it.
  static func number(of state: UInt8, _ variant: UInt8) -> Int { Int(state) + 16 * Int(variant) }

  /// In the place of a state: how many targets there are.
  private static let sealed: UInt8 = 31
  /// One more than the largest of these numbers.
  static let numbers = number(of: sealed, record(CampaignVariants.rest)) + 1

  /// How a ledger record has the place of a variant.
  static func record(_ place: Int) -> UInt8 { UInt8(place + 1) }

  /// The fields of a slice that count something for the variant of a place.
  static func fields(_ place: Int) -> [String] {
    [targetsField(place)] + Outcome.allCases.map { "\(number(of: $0.rawValue, record(place)))" }
      + ReceiptEvent.Kind.allCases.map { field($0, place) }
  }

  static func targetsField(_ place: Int) -> String { "\(number(of: sealed, record(place)))" }

  static func field(_ kind: ReceiptEvent.Kind, _ place: Int) -> String { "\(kind.rawValue):\(record(place))" }

  /// Adds what a slice has counted.
  mutating func add(_ fields: StoredFields, _ place: Int) throws(StoreError) {
    targets += try fields.number(Self.targetsField(place)) ?? 0
    for outcome in Outcome.allCases {
      let count = try fields.number("\(Self.number(of: outcome.rawValue, Self.record(place)))") ?? 0
      if count > 0 { outcomes[outcome, default: 0] += count }
    }
    for kind in ReceiptEvent.Kind.allCases {
      let count = try fields.number(Self.field(kind, place)) ?? 0
      if count > 0 { receipts[kind, default: 0] += count }
    }
  }
}

/// Which variant those get who have waited for the best, once that is said.
public struct VariantDecision: Sendable, Equatable {
  /// The variant's place.
  public var winner: Int
  /// ms since the epoch.
  public var at: Int
  /// Who said so; `nil` for the rule of the job, and where nobody says.
  public var person: String?

  /// Memberwise.
  public init(winner: Int, at: Int, person: String? = nil) {
    self.winner = winner
    self.at = at
    self.person = person
  }

  fileprivate init?(_ reply: RedisReply) {
    guard reply.count == 3, let winner = reply[0].integer, (0..<CampaignVariants.maximum).contains(winner) else {
      return nil
    }
    let person = reply[2].string ?? ""
    self.init(winner: winner, at: reply[1].integer ?? 0, person: person.isEmpty ? nil : person)
  }
}

/// Campaigns that tell different users different things.
extension CampaignStore {
  /// What became of each variant, and behind them of those who wait for the best.
  ///
  /// Costs a look at every slice.
  public func variantCounts(of record: CampaignRecord, _ variants: CampaignVariants) async throws -> [VariantCounts] {
    let places = Array(variants.all.indices) + [CampaignVariants.rest]
    let names = places.flatMap(VariantCounts.fields)
    var counts = places.map { _ in VariantCounts() }
    let partitions = partitions(of: record)
    for start in stride(from: 0, to: partitions.count, by: Self.batch) {
      let page = partitions[start..<min(start + Self.batch, partitions.count)]
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.command("HMGET") { arguments in
          arguments.append(keys.slice(partition, of: record.id))
          for name in names { arguments.append(name) }
        }
      }
      for (partition, reply) in zip(page, try await run(pipeline)) {
        let slice = SliceReference(campaign: record.id, partition: partition)
        let fields = StoredFields(.slice(slice, keys), names, reply)
        for (number, place) in places.enumerated() { try counts[number].add(fields, place) }
      }
    }
    return counts
  }

  /// Which variant those get who wait; `nil` before that is said.
  public func decision(of id: String) async throws -> VariantDecision? {
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.campaign(id), "winner", "decidedAt", "decidedBy")
    return VariantDecision(try await run(pipeline)[0])
  }

  /// What came of looking for the best variant.
  public enum WinnerFinding: Sendable {
    /// Said now, or before.
    case decided(VariantDecision)
    /// A person has to say so.
    case unclear(String)
    /// The campaign is gone.
    case gone
  }

  /// Finds out which variant is best, and says so, unless that is said already. Whoever dies on the way has said nothing, or
  /// all.
  ///
  /// - Parameter round: how often the campaign was resumed: who has resumed it since it was unclear knows that.
  public func findWinner(of campaign: Campaign, round: Int) async throws -> WinnerFinding {
    let id = campaign.id
    if let known = try await decision(of: id) { return .decided(known) }
    guard let variants = campaign.variants, let winner = variants.winner, let record = try await self.campaign(id)
    else { return .gone }
    let counts = try await variantCounts(of: record, variants).dropLast()
    let (counted, reached) = Self.figures(Array(counts), by: winner.measure)
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.campaign(id), "unclear")
    let unclear = try await run(pipeline)[0].integer
    switch variants.verdict(counted: counted, of: reached, isResumed: unclear.map { $0 < round } ?? false) {
    case .winner(let place):
      return try await decide(id, variants, place).map { .decided($0) } ?? .gone
    case .unclear(let reason):
      if let known = try await decide(id, variants, nil, round: round) { return .decided(known) }
      return .unclear(reason)
    }
  }

  /// By variant, what it is judged by, and of how many.
  private static func figures(
    _ counts: [VariantCounts], by measure: CampaignVariants.Measure
  ) -> (counted: [Int], of: [Int]) {
    let accepted = counts.map { $0.outcomes[.accepted] ?? 0 }
    guard let receipt = measure.receipt else {
      let gone: Set<Outcome> = [.unregistered, .expiredToken]
      let others = counts.map { count in
        count.outcomes.reduce(0) { $0 + ($1.key.isRefusal || gone.contains($1.key) ? $1.value : 0) }
      }
      return (accepted, zip(accepted, others).map(+))
    }
    return (counts.map { $0.receipts[receipt] ?? 0 }, accepted)
  }

  /// Says once more which variant those get who wait: Redis may have lost that it was said.
  public func restore(_ decision: VariantDecision, of campaign: Campaign) async throws {
    guard let variants = campaign.variants, variants.all.indices.contains(decision.winner) else { return }
    _ = try await decide(campaign.id, variants, decision.winner, by: decision.person, at: decision.at)
  }

  /// - Parameter place: of the variant; `nil` where it is unclear.
  /// - Returns: what stands; `nil` for nothing.
  private func decide(
    _ id: String, _ variants: CampaignVariants, _ place: Int?, by person: String? = nil, isByPerson: Bool = false,
    round: Int = 0, at: Int? = nil
  ) async throws -> VariantDecision? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.decide, keys: [keys.campaign(id), keys.timeline(id)]) {
      $0.append(place.map(String.init) ?? "")
      $0.append(place.map { variants.all[$0].name } ?? "")
      $0.append(isByPerson ? "person" : "worker")
      $0.append(person ?? "")
      $0.append(round)
      $0.append(at.map(String.init) ?? "")
    }
    return VariantDecision(try await run(pipeline)[0])
  }

  // MARK: By a person

  /// Says which variant those get who wait, on a person's word: before it is time, or where the job's rule can't tell.
  ///
  /// - Parameters:
  ///   - name: the variant's.
  ///   - person: who it is; nothing where nobody says.
  /// - Returns: what stands, and the state of the campaign: one that has waited for this goes on.
  /// - Throws: ``StoreError`` `notFound`, `invalid` where there is no such variant to wait for, or `decided`.
  public func decide(
    _ id: String, variant name: String, by person: String
  ) async throws -> (decision: VariantDecision, state: CampaignState) {
    guard let (record, job) = try await campaignAndJob(id) else { throw noSuchCampaign(id) }
    guard let variants = CampaignJob.variants(of: job), variants.winner != nil else {
      throw StoreError(
        .invalid, "campaign \(id) has no variants of which one goes to the rest",
        hint: "that takes variants and winner in its job")
    }
    guard let place = variants.place(named: name) else {
      throw StoreError(
        .invalid, "campaign \(id) has no variant \(Excerpt.quoted(name))",
        hint: Nearest.hint(name, among: variants.all.map(\.name)))
    }
    guard !record.state.isFinal else {
      throw StoreError(
        .decided, "campaign \(id) is \(record.state.rawValue): nobody waits any more",
        hint: "see: carillon campaign show \(id)")
    }
    guard let decision = try await decide(id, variants, place, by: person, isByPerson: true) else {
      throw noSuchCampaign(id)
    }
    guard decision.winner == place else {
      throw StoreError(
        .decided,
        "variant \(variants.all[min(decision.winner, variants.all.count - 1)].name) of campaign \(id) was named already",
        hint: "what was sent to some of the rest is sent to all; see: carillon campaign show \(id)")
    }
    if record.state == .paused, record.pausedItself, record.reason?.hasPrefix(Self.unclearReason) == true {
      return (decision, try await resume(id, unguarded: record.isUnguarded, by: person))
    }
    try await unparkAll(of: id, lane: record.lane, isReady: true)
    return (decision, record.state)
  }

  /// What the reason of a campaign begins with that is paused for it.
  private static let unclearReason = "variants: "
}
