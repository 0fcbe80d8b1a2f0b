public import PushCore
import Redis

/// Receipts: an app's reports of what users did with the pushes of a campaign.
extension Results {
  /// Records receipts. A repeated call changes nothing.
  ///
  /// A receipt counts only if a push of the campaign may have been delivered to its user. Receipts do not count for a
  /// campaign that no longer exists or whose results have expired. They also do not count for lists of tokens, because
  /// the users are unknown.
  ///
  /// - Parameter receipts: at most a few thousand.
  public func apply(_ receipts: [ReceiptEvent]) async throws {
    let rules = try await rules(of: Set(receipts.map { CampaignID($0.campaign).whole }))
    let receipts = byPart(receipts, rules)
    let ids = Array(Set(receipts.map(\.campaign)))
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "partitions", "ttl", "receipts") }
    // The number of partitions of the store at the start of each campaign. Keys of a campaign stay in these partitions.
    var partitions: [String: Int] = [:]
    var seconds: [String: Int] = [:]
    var variants: [String: CampaignVariants] = [:]
    let replies = try await run(pipeline)
    pipeline.removeAll()
    for (id, reply) in zip(ids, replies) {
      guard let count = reply[0].integer else { continue }
      (partitions[id], seconds[id]) = (count, reply[1].integer)
      // The script records in the campaign that it has receipts. The worker that ends the campaign then sets the expiry
      // of the receipts. If the campaign has already ended, `receipt.lua` sets the expiry.
      if reply[2].isNull { pipeline.script(StoreScripts.noteReceipts, keys: [keys.campaign(id)]) { _ in } }
      if reply[2].integer == Self.receiptsByVariant { variants[id] = rules[CampaignID(id).whole]?.variants }
    }
    let winners = try await winners(of: Array(variants.keys))
    var groups: [ReceiptGroup: [String]] = [:]
    for receipt in Set(receipts) {
      guard let count = partitions[receipt.campaign], count > 0 else { continue }
      let partition = Partition.of(user: receipt.user, count: count)
      let place = variants[receipt.campaign].map { all in
        winners[receipt.campaign] ?? Array(receipt.user.utf8).withUnsafeBytes(all.index)
      }
      groups[
        ReceiptGroup(kind: receipt.kind, campaign: receipt.campaign, partition: partition, place: place), default: []
      ].append(receipt.user)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    func kept(_ id: String) -> Int { ((seconds[id] ?? Campaign.defaultTimeToLive) + Self.receiptMargin) * 1000 }
    // If Redis loses the sealed list of targets, the slice may be sealed again while its index is built. The loop then
    // builds the index again.
    for _ in 0..<Self.maximumTries where !groups.isEmpty {
      let unindexed = try await record(groups, kept)
      for slice in Set(unindexed.map(\.slice)) {
        try await buildRecipientIndex(of: slice, keptFor: kept(slice.campaign))
      }
      groups = groups.filter { unindexed.contains($0.key) }
    }
  }

  private static let maximumTries = 3

  /// Returns the rules of campaigns that have parts or variants, by id. Reads the job of a campaign only if the rules
  /// of the campaign are not in the cache.
  func rules(of ids: Set<String>) async throws -> [String: ReceiptRules] {
    let ids = Array(ids)
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HMGET", keys.campaign(id), "createdAt", "parts", "receipts") }
    var all: [String: ReceiptRules] = [:]
    for (id, fields) in zip(ids, try await run(pipeline)) {
      let hasParts = !fields[1].isNull
      guard let createdAt = fields[0].integer, hasParts || fields[2].integer == Self.receiptsByVariant else { continue }
      if let known = store.receiptRules.rules(of: id, createdAt: createdAt) {
        all[id] = known
        continue
      }
      guard let (record, job) = try await store.campaigns.findWithJob(id) else { continue }
      let apps = record.apps(in: services)
      let rules = await LargeJobThread.read(job.count) {
        ReceiptRules(
          hasParts ? (try? record.campaign(job, apps)) : nil, variants: CampaignJob.variants(of: job, campaign: id))
      }
      store.receiptRules.add(rules, of: id, createdAt: record.times.createdAt)
      all[id] = rules
    }
    return all
  }

  /// Replaces the campaign of each receipt by its part, for campaigns with parts. If a campaign has several legs, each
  /// of them may have the user. In this case, the receipt is returned once for each leg, and it counts for the legs
  /// that have the user as a target.
  private func byPart(_ receipts: [ReceiptEvent], _ rules: [String: ReceiptRules]) -> [ReceiptEvent] {
    receipts.flatMap { receipt in
      var receipt = receipt
      receipt.campaign = CampaignID(receipt.campaign).whole
      let parts = rules[receipt.campaign]?.parts(of: receipt.user) ?? []
      guard !parts.isEmpty else { return [receipt] }
      return parts.map { part in
        var ofLeg = receipt
        ofLeg.campaign = CampaignID(whole: receipt.campaign, part: part).description
        return ofLeg
      }
    }
  }

  /// Records receipts in groups, one script call for each group.
  /// - Parameters:
  ///   - groups: users by receipt kind, campaign, partition and variant.
  ///   - kept: returns after how many ms the receipts of a campaign expire, if the campaign has not ended.
  /// - Returns: the groups of slices without an index of users.
  private func record(_ groups: [ReceiptGroup: [String]], _ kept: (String) -> Int) async throws -> Set<ReceiptGroup> {
    var pipeline = RedisPipeline()
    var asked: [ReceiptGroup] = []
    for (group, users) in groups {
      let (partition, id) = (group.partition, group.campaign)
      for page in users.batches() {
        asked.append(group)
        pipeline.script(
          StoreScripts.receipt,
          keys: [
            keys.receipts(partition, group.kind, id), keys.slice(partition, of: id), keys.recipients(partition, id),
            keys.ledger(partition, id),
          ]
        ) {
          if let place = group.place {
            $0.append("\(kept(id)) \(VariantCounts.field(group.kind, place))")
          } else {
            $0.append(kept(id))
          }
          for user in page {
            $0.append(user)
            $0.append(Int(Self.recipientHash(user.utf8)))
          }
        }
      }
    }
    guard !pipeline.isEmpty else { return [] }
    return Set(zip(asked, try await run(pipeline)).filter { $1.integer == -2 }.map(\.0))
  }

  /// Additional seconds for which the receipts of a running campaign are stored, beyond the campaign's `ttl`: a day.
  private static let receiptMargin = 86_400

  private struct ReceiptGroup: Hashable {
    var kind: ReceiptEvent.Kind
    var campaign: String
    var partition: Int
    /// Place of the variant that all users of the group get; `nil` without variants.
    var place: Int?

    var slice: SliceReference { SliceReference(campaign: campaign, partition: partition) }
  }

  /// Value of the campaign's field `receipts` if its receipts are counted by variant.
  static let receiptsByVariant = 2

  /// Returns the place of the winning variant for each of these parts whose users all get the winner.
  private func winners(of ids: [String]) async throws -> [String: Int] {
    guard !ids.isEmpty else { return [:] }
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HGET", keys.campaign(id), "variant") }
    return Dictionary(
      zip(ids, try await run(pipeline)).compactMap { id, variant in variant.integer.map { (id, $0) } }
    ) { $1 }
  }

  /// Returns the number of users by kind of receipt in the legs of one stage together. A user of several legs
  /// counts once.
  func receipts(ofLegs legs: [CampaignRecord]) async throws -> [ReceiptEvent.Kind: Int] {
    if legs.count == 1 { return try await receipts(of: legs[0]) }
    var counts: [ReceiptEvent.Kind: Int] = [:]
    let legs = legs.filter(\.hasReceipts)
    for partition in Set(legs.flatMap(\.reachedPartitions)) where !legs.isEmpty {
      var pipeline = RedisPipeline()
      for kind in ReceiptEvent.Kind.allCases {
        for leg in legs { pipeline.append("SMEMBERS", keys.receipts(partition, kind, leg.id)) }
      }
      let replies = try await run(pipeline)
      for (index, kind) in ReceiptEvent.Kind.allCases.enumerated() {
        let users = replies[(index * legs.count)..<((index + 1) * legs.count)].flatMap { $0.compactMap(\.string) }
        counts[kind, default: 0] += Set(users).count
      }
    }
    return counts
  }

  /// Returns the number of users by kind of receipt.
  public func receipts(of record: CampaignRecord) async throws -> [ReceiptEvent.Kind: Int] {
    var counts: [ReceiptEvent.Kind: Int] = [:]
    guard record.hasReceipts else { return counts }
    guard record.staging.partIDs.isEmpty else {
      for legs in Dictionary(grouping: record.stages, by: { CampaignID($0.id).part?.stage }).values {
        counts.merge(try await receipts(ofLegs: legs), uniquingKeysWith: +)
      }
      return counts
    }
    let partitions = record.reachedPartitions
    for page in partitions.batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        for kind in ReceiptEvent.Kind.allCases { pipeline.append("SCARD", keys.receipts(partition, kind, record.id)) }
      }
      for (index, reply) in try await run(pipeline).enumerated() {
        let kind = ReceiptEvent.Kind.allCases[index % ReceiptEvent.Kind.allCases.count]
        counts[kind, default: 0] += reply.integer ?? 0
      }
    }
    return counts
  }
}
