import PushCore
import Redis

/// Expiry of ended campaigns.
extension Campaigns {
  /// Handles the end of a campaign or a part. A campaign with parts ends when its last part ends. The keys of a part
  /// stay until its campaign has ended. A repeated call is safe.
  func end(_ id: String) async throws {
    guard CampaignID(id).part != nil else { return try await expire(id) }
    let whole = CampaignID(id).whole
    let parts = try await partIDs(of: whole)
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.endPart,
      keys: [keys.campaign(whole), keys.gates, keys.ended, keys.running, keys.changes]
        + parts.map { keys.campaign($0) }
    ) {
      $0.append(whole)
      for part in parts { $0.append(CampaignID(part).part?.isStage == true ? 1 : 0) }
    }
    let hasEnded = try await run(pipeline)[0].integer == 1
    pipeline.removeAll()
    pipeline.append("ZREM", keys.ended, id)
    _ = try await run(pipeline)
    if hasEnded { try await expire(whole) }
  }

  /// Sets the expiry of the keys of an ended campaign and of its parts to the `ttl` of the campaign. A repeated call is
  /// safe.
  private func expire(_ id: String) async throws {
    var pipeline = RedisPipeline()
    if let record = try await find(id) {
      let seconds = record.delivery.timeToLive
      for part in record.staging.partIDs.isEmpty ? [record] : record.parts {
        try await expireSlices(
          of: part.id, in: part.reachedPartitions, after: seconds, receipts: part.hasReceipts,
          control: part.counters.control > 0)
      }
      if !record.staging.partIDs.isEmpty {
        try await unlinkAudience(of: id, in: Array(0..<record.placement.partitions))
      }
      // The record of the campaign comes last. A worker that finds this record without an expiry repeats all of these
      // commands.
      for id in record.staging.partIDs + [id] {
        pipeline.append("EXPIRE", keys.finished(id), seconds)
        pipeline.append("EXPIRE", keys.timeline(id), seconds)
        pipeline.append(
          "UNLINK", keys.guardTrial(id), keys.guardWatch(id), keys.rate(campaign: id), keys.ranking(id))
        pipeline.append("ZADD", keys.expiring, try await store.time() / 1000 + seconds * 1000 + Self.expiryMargin, id)
        pipeline.append("EXPIRE", keys.campaign(id), seconds)
      }
      _ = try await run(pipeline)
    }
    try await removeExpired()
    pipeline.removeAll()
    pipeline.append("ZREM", keys.ended, id)
    _ = try await run(pipeline)
  }

  /// Removes the users that a job lists, and their values.
  func unlinkAudience(of id: String, in partitions: [Int]) async throws {
    for page in partitions.batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("UNLINK", keys.audience(partition, id), keys.values(partition, id))
      }
      _ = try await run(pipeline)
    }
  }

  /// Sets the expiry of the keys of a campaign's slices.
  ///
  /// - Parameters:
  ///   - receipts: whether the campaign may have receipts.
  ///   - control: whether the campaign may have a control group.
  func expireSlices(
    of id: String, in partitions: [Int], after seconds: Int, receipts: Bool = true,
    control: Bool = true
  ) async throws {
    var pipeline = RedisPipeline()
    for page in partitions.batches() {
      pipeline.removeAll()
      for partition in page {
        pipeline.append("UNLINK", keys.audience(partition, id), keys.values(partition, id), keys.retry(partition, id))
        pipeline.append("EXPIRE", keys.slice(partition, of: id), seconds)
        pipeline.append("EXPIRE", keys.targets(partition, id), seconds)
        if control { pipeline.append("EXPIRE", keys.control(partition, id), seconds) }
        pipeline.append("EXPIRE", keys.ledger(partition, id), seconds)
        pipeline.append("EXPIRE", keys.reasons(partition, id), seconds)
        pipeline.append("EXPIRE", keys.results(partition, id), seconds)
        if receipts { pipeline.append("EXPIRE", keys.recipients(partition, id), seconds) }
        for kind in ReceiptEvent.Kind.allCases where receipts {
          pipeline.append("EXPIRE", keys.receipts(partition, kind, id), seconds)
        }
      }
      _ = try await run(pipeline)
    }
  }

  /// Safety margin in ms after the expiry of a record. It covers the duration of the commands that set the expiry.
  private static let expiryMargin = 60_000

  /// Removes campaigns whose records have expired from the list of all campaigns. Workers call this function for each
  /// campaign that ends. Each call removes up to one page, so the list can't grow without bound. If the record of a
  /// campaign still exists, the campaign has continued (`addslice.lua`). It is added to the list of expiring campaigns
  /// again when it ends.
  private func removeExpired() async throws {
    var pipeline = RedisPipeline()
    pipeline.append(
      "ZRANGEBYSCORE", keys.expiring, "-inf", try await store.time() / 1000, "LIMIT", 0, CampaignStore.batch)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    guard !ids.isEmpty else { return }
    pipeline.removeAll()
    for id in ids { pipeline.append("EXISTS", keys.campaign(id)) }
    let gone = zip(ids, try await run(pipeline)).filter { $1.integer == 0 }.map(\.0)
    pipeline.removeAll()
    if !gone.isEmpty { remove(gone, from: keys.all, by: &pipeline) }
    remove(ids, from: keys.expiring, by: &pipeline)
    _ = try await run(pipeline)
  }

  private func remove(_ ids: [String], from key: String, by pipeline: inout RedisPipeline) {
    pipeline.command("ZREM") { arguments in
      arguments.append(key)
      for id in ids { arguments.append(id) }
    }
  }
}
