import PushCore
import Redis

/// Checks campaigns: the lists that contain them, and the references to their slices.
extension StoreCheck {
  /// Checks every campaign that exists, has a remaining key, or is in a list.
  mutating func campaigns(_ names: Names, _ found: ([StoreFinding]) throws -> Void) async throws {
    try found(try await unreadableDefinitions())
    var ids = names.campaigns
    for key in [keys.all, keys.schedule] { try await forEachRanked(in: key) { ids.formUnion($0) } }
    try await forEachMember(of: keys.running) { ids.formUnion($0) }
    for id in ids.subtracting(names.unreadableCampaigns).sorted() {
      let record: CampaignRecord?
      do {
        record = try await store.campaigns.find(id)
      } catch let error as StoreError where error.code == .damaged {
        try found([open(.damagedCampaign, keys.campaign(id), id, error.message)])
        continue
      }
      try found(try await lists(of: id))
      guard let record else { continue }
      tally.campaigns += 1
      try found(try await parts(of: id))
      if record.hasOpenSlices {
        try found(try await lostSlices(of: record))
      }
      let partitions = record.reachedPartitions
      for batch in partitions.batches(of: Self.slicesPerBatch) {
        let page = batch.map { SliceReference(campaign: id, partition: $0) }
        try found(try await slices(page.filter { !names.unreadableSlices.contains($0) }, of: record))
      }
    }
  }

  /// Returns unreadable definitions of segments. If the whole key is unreadable, the check of key types reports it.
  private func unreadableDefinitions() async throws -> [StoreFinding] {
    do {
      return try await store.audiences.definitions().unreadable.sorted().map {
        open(.unreadableDefinition, keys.definitions, $0)
      }
    } catch let error as StoreError where error.code == .damaged {
      return []
    }
  }

  /// Number of slices whose counters are read in one pipeline.
  private static let slicesPerBatch = 64

  private func lists(of id: String) async throws -> [StoreFinding] {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.repairCampaign,
      keys: [
        keys.campaign(id), keys.all, keys.running, keys.schedule, keys.ended, keys.expiring, keys.open(id),
        keys.finished(id),
      ] + keys.lanes
    ) {
      $0.append(repairs ? 1 : 0)
      $0.append(id)
      $0.append(CampaignID(id).part == nil ? "" : CampaignID(id).whole)
      for lane in Lane.allCases { $0.append(lane.rawValue) }
    }
    return try await store.run(pipeline)[0].compactMap(\.string).map { what in
      switch what {
      case "state": open(.damagedCampaign, keys.campaign(id), id, "it has no state")
      case "of": finding(.partWithoutCampaign, keys.campaign(id), id, "its record does not name its campaign")
      case "outcomes": open(.wrongTotals, keys.campaign(id), id, "the outcomes don't add up to the targets")
      case "slices": open(.wrongTotals, keys.campaign(id), id, "the number of finished slices is wrong")
      default:
        what.hasPrefix("+")
          ? finding(.missingFromList, list(String(what.dropFirst())), id) : finding(.wrongList, list(what), id)
      }
    }
  }

  private func list(_ name: String) -> String { keys.home + name }

  /// Finds slices that are not finished and are neither open, parked nor held by a worker.
  private func lostSlices(of record: CampaignRecord) async throws -> [StoreFinding] {
    let first = try await lost(record.id)
    guard !first.isEmpty else { return [] }
    try await Task.sleep(for: pause)
    let partitions = try await lost(record.id).filter { first[$0.key] == $0.value }.keys.sorted()
    guard !partitions.isEmpty else { return [] }
    if repairs { _ = try await store.slices.open(partitions, of: record.id, lane: record.lane) }
    return partitions.map {
      finding(.lostSlice, keys.open(record.id), "\(SliceReference(campaign: record.id, partition: $0))")
    }
  }

  /// Returns the lost slices, each with the number of its claims. A slice that moves between two lists during the check
  /// can appear to be lost. The worker that takes such a slice then claims it, so the number of claims changes.
  private func lost(_ id: String) async throws -> [Int: Int] {
    let partitions = try await store.slices.lostSlices(of: id)
    var pipeline = RedisPipeline()
    for partition in partitions { pipeline.append("HGET", keys.slice(partition, of: id), "claims") }
    guard !pipeline.isEmpty else { return [:] }
    let claims = try await store.run(pipeline).map { $0.integer ?? 0 }
    return Dictionary(zip(partitions, claims), uniquingKeysWith: { first, _ in first })
  }
}
