public import PushCore
import Redis

/// Counts of a variant of a campaign.
public struct VariantCounts: Sendable, Equatable {
  /// Number of sealed targets.
  public var targets = 0
  /// Number of targets by outcome.
  public var outcomes: [Outcome: Int] = [:]
  /// Number of users by kind of receipt.
  public var receipts: [ReceiptEvent.Kind: Int] = [:]

  /// Creates counts that are all zero.
  public init() {}

  /// Returns the number of the field in which a slice counts the targets of a variant in one state of the ledger.
  /// `commit.lua` computes this number from the ledger records.
  ///
  /// - Parameter variant: the variant in the form of a ledger record (position plus one).
  static func number(of state: UInt8, _ variant: UInt8) -> Int { Int(state) + 16 * Int(variant) }

  /// A pseudo-state for the field that counts all sealed targets of the variant.
  private static let sealed: UInt8 = 31
  /// Upper bound of ``number(of:_:)``: one more than its largest result.
  static let numbers = number(of: sealed, record(CampaignVariants.maximum - 1)) + 1

  /// Returns the place of a variant in the form of a ledger record: the place plus one.
  static func record(_ place: Int) -> UInt8 { UInt8(place + 1) }

  /// Returns the fields of a slice that have the counts of the variant at a place.
  static func fields(_ place: Int) -> [String] {
    [targetsField(place)] + Outcome.allCases.map { "\(number(of: $0.rawValue, record(place)))" }
      + ReceiptEvent.Kind.allCases.map { field($0, place) }
  }

  /// Adds the counts of another part of the campaign.
  mutating func add(_ other: VariantCounts) {
    targets += other.targets
    outcomes.merge(other.outcomes, uniquingKeysWith: +)
    receipts.merge(other.receipts, uniquingKeysWith: +)
  }

  static func targetsField(_ place: Int) -> String { "\(number(of: sealed, record(place)))" }

  static func field(_ kind: ReceiptEvent.Kind, _ place: Int) -> String { "\(kind.rawValue):\(record(place))" }

  /// Adds the counts of a slice.
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

/// Decision about the winning variant for the later stages.
public struct VariantDecision: Sendable, Equatable {
  /// The variant's place.
  public var winner: Int
  /// Time of the decision, in ms since the epoch.
  public var at: Int
  /// The person who decided; `nil` if the job's rule decided, or if the person is unknown.
  public var person: String?

  /// Creates an instance with these values.
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

/// Campaigns with variants: different users get different content.
extension Campaigns {
  /// Returns the counts of each variant. For a campaign with parts these are the sums over all of its stages.
  ///
  /// Reads every slice.
  public func variantCounts(of record: CampaignRecord, _ variants: CampaignVariants) async throws -> [VariantCounts] {
    let places = Array(variants.all.indices)
    let names = places.flatMap(VariantCounts.fields)
    var counts = places.map { _ in VariantCounts() }
    guard record.staging.partIDs.isEmpty else {
      for part in record.stages where !part.staging.isGated {
        for (place, count) in try await variantCounts(of: part, variants).enumerated() { counts[place].add(count) }
      }
      return counts
    }
    let partitions = record.reachedPartitions
    for page in partitions.batches() {
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

  /// Returns the winning variant for the later stages; `nil` before the decision.
  public func decision(of id: String) async throws -> VariantDecision? {
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.campaign(id), "winner", "decidedAt", "decidedBy")
    return VariantDecision(try await run(pipeline)[0])
  }

  /// Returns the numerator and the denominator of the share by which variants are compared. The numerator is the number
  /// of receipts or pushes that count, and the denominator is the total number.
  static func figures(
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

  // MARK: Choice by a person

  /// Chooses the winning variant for the stages after the stage that has `winner` in the job, on behalf of a person.
  /// This is possible before the gate has decided, or if the gate can't decide. If the gate has paused the campaign,
  /// the campaign continues.
  ///
  /// - Parameters:
  ///   - name: the name of the variant.
  ///   - person: the person; empty if unknown.
  /// - Returns: the valid decision, and the state of the campaign.
  /// - Throws: ``StoreError`` `notFound`; `invalid` if no stage chooses a winner; `decided` if the decision was made
  ///   already or is no longer needed.
  public func decide(
    _ id: String, variant name: String, by person: String
  ) async throws -> (decision: VariantDecision, state: CampaignState) {
    let id = CampaignID(id).whole
    guard let (record, job) = try await findWithJob(id) else { throw noSuchCampaign(id) }
    let campaign = try? await record.read(job, record.apps(in: services))
    guard let variants = campaign?.message.variants, let stages = campaign?.delivery.stages, stages.winnerPlace != nil
    else {
      throw StoreError(
        .invalid, "no stage of campaign \(id) chooses a winner",
        hint: "a job needs variants and a stage with winner")
    }
    guard let place = variants.index(named: name) else {
      throw StoreError(
        .invalid, "campaign \(id) has no variant \(Excerpt.quoted(name))",
        hint: Nearest.hint(name, among: variants.all.map(\.name)))
    }
    guard !record.state.isFinal else {
      throw StoreError(
        .decided, "campaign \(id) is \(record.state.rawValue): no user waits for the winner",
        hint: "see: carillon campaign show \(id)")
    }
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.decide, keys: [keys.campaign(id), keys.timeline(id), keys.gates]) {
      $0.append(place)
      $0.append(name)
      $0.append(person)
      $0.append(id)
    }
    guard let decision = VariantDecision(try await run(pipeline)[0]) else { throw noSuchCampaign(id) }
    guard decision.winner == place else {
      throw StoreError(
        .decided,
        "variant \(variants.all[min(decision.winner, variants.all.count - 1)].name) of campaign \(id) was already chosen",
        hint: "the choice can't be changed, because pushes may have been sent; see: carillon campaign show \(id)")
    }
    if record.state == .paused, record.staging.verdict == stages.winnerPlace, !record.approval.isNeeded {
      return (decision, try await resume(id, unguarded: record.resumes.isUnguarded, by: person).state)
    }
    return (decision, record.state)
  }
}
