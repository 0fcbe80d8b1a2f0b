import Redis

/// Expiry of ended campaigns.
extension CampaignStore {
  /// Expires the keys of an ended campaign after its time to live. Can be repeated.
  func expire(_ id: String) async throws {
    var pipeline = RedisPipeline()
    if let record = try await campaign(id) {
      let (seconds, partitions) = (record.timeToLive, partitions(of: record))
      for start in stride(from: 0, to: partitions.count, by: Self.batch) {
        pipeline.removeAll()
        for partition in partitions[start..<min(start + Self.batch, partitions.count)] {
          pipeline.append("UNLINK", keys.audience(partition, id), keys.retry(partition, id))
          pipeline.append("EXPIRE", keys.slice(partition, of: id), seconds)
          pipeline.append("EXPIRE", keys.targets(partition, id), seconds)
          pipeline.append("EXPIRE", keys.ledger(partition, id), seconds)
          pipeline.append("EXPIRE", keys.reasons(partition, id), seconds)
          pipeline.append("EXPIRE", keys.results(partition, id), seconds)
        }
        _ = try await run(pipeline)
      }
      pipeline.removeAll()
      pipeline.append("EXPIRE", keys.finished(id), seconds)
      pipeline.append("UNLINK", keys.guardTrial(id))
      pipeline.append("EXPIRE", keys.campaign(id), seconds)
      _ = try await run(pipeline)
    }
    try await removeExpired()
    pipeline.removeAll()
    pipeline.append("ZREM", keys.ended, id)
    _ = try await run(pipeline)
  }

  /// Removes from the list of all campaigns those whose records have expired, oldest first: a page for each campaign
  /// that ends, so the list can't grow.
  private func removeExpired() async throws {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.all, 0, Self.batch - 1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    pipeline.removeAll()
    for id in ids { pipeline.append("EXISTS", keys.campaign(id)) }
    guard !pipeline.isEmpty else { return }
    let gone = zip(ids, try await run(pipeline)).filter { $1.integer == 0 }.map(\.0)
    guard !gone.isEmpty else { return }
    pipeline.removeAll()
    pipeline.command("ZREM") { arguments in
      arguments.append(keys.all)
      for id in gone { arguments.append(id) }
    }
    _ = try await run(pipeline)
  }
}
