import PushCore
import Redis

/// Lost slices: unfinished slices of running campaigns that are in no list of slices. Workers put them back on their
/// lanes.
extension Slices {
  /// Number of campaigns that one call of ``reopenLost(from:)`` checks.
  private static let campaignsPerCheck = 16

  /// Opens lost slices of the next running campaigns. If no slice is lost, the cost does not depend on the number of
  /// workers.
  ///
  /// - Parameter cursor: the position among the running campaigns; 0 for the first.
  /// - Returns: the number of lost slices, which is nearly always 0, and the next position: 0 after the last campaign.
  public func reopenLost(from cursor: Int = 0) async throws -> (opened: Int, next: Int) {
    var pipeline = RedisPipeline()
    pipeline.append("SSCAN", keys.running, cursor, "COUNT", Self.campaignsPerCheck)
    let page = try await run(pipeline)[0]
    let running = page[1].compactMap(\.string)
    guard !running.isEmpty else { return (0, page[0].integer ?? 0) }
    pipeline.removeAll()
    for id in running { pipeline.append("LLEN", keys.open(id)) }
    let open = try await run(pipeline)
    var opened = 0
    for (id, open) in zip(running, open) {
      let status = try await store.campaigns.status(of: id)
      // If the campaign no longer exists, only its entry among the running campaigns remains.
      let isComplete = status.map { open.integer ?? 0 >= $0.unfinished } ?? true
      opened += try await self.open(isComplete ? [] : lostSlices(of: id), of: id, lane: status?.lane ?? .normal)
    }
    return (opened, page[0].integer ?? 0)
  }

  func open(_ lost: [Int], of id: String, lane: Lane) async throws -> Int {
    var pipeline = RedisPipeline()
    // The script also runs if no slice is lost, because it puts a campaign with open slices back on its lane.
    for start in stride(from: 0, to: max(1, lost.count), by: CampaignStore.batch) {
      pipeline.script(
        StoreScripts.reopen,
        keys: [
          keys.campaign(id), keys.finished(id), keys.open(id), keys.parked, keys.lane(lane.rawValue), keys.running,
          keys.wake,
        ]
      ) {
        $0.append(id)
        for partition in lost.dropFirst(start).prefix(CampaignStore.batch) { $0.append(partition) }
      }
    }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
  }

  /// Returns the unfinished slices of a campaign that are neither open nor parked nor held by a worker.
  func lostSlices(of id: String) async throws -> [Int] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.open(id), 0, -1)
    pipeline.append("GET", keys.finished(id))
    let replies = try await run(pipeline)
    let open = Set(replies[0].compactMap(\.integer))
    let finished = PartitionBitmap(replies[1].bytes.map(Array.init) ?? [])
    var lost: [Int] = []
    let unfinished = (0..<keys.partitions).filter { !open.contains($0) && !finished.contains($0) }
    for page in unfinished.batches() {
      lost += try await abandoned(among: page, of: id)
    }
    guard !lost.isEmpty else { return [] }
    // A slice that is held without a lease has just been taken, or its worker has died. This is rare, so reading the
    // lists of all workers is acceptable.
    let held = try await heldPartitions(of: id)
    return lost.filter { !held.contains($0) }
  }

  /// Returns the slices that are not parked and whose claims have no valid lease.
  private func abandoned(among partitions: ArraySlice<Int>, of id: String) async throws -> [Int] {
    var pipeline = RedisPipeline()
    pipeline.command("ZMSCORE") {
      $0.append(keys.parked)
      for partition in partitions { $0.append(SliceReference(campaign: id, partition: partition).description) }
    }
    let due = try await run(pipeline)[0]
    let now = try await store.time() / 1000
    // A slice that is parked for more than a year counts as not parked, because its time is invalid: no retry takes
    // that long.
    let latest = now + 366 * Self.longestLease
    let rest = zip(partitions, due).filter { !($1.string.flatMap(Double.init).map { $0 <= Double(latest) } ?? false) }
      .map(\.0)
    guard !rest.isEmpty else { return [] }
    pipeline.removeAll()
    for partition in rest { pipeline.append("HGET", keys.slice(partition, of: id), "lease") }
    return zip(rest, try await run(pipeline)).filter {
      !(now...(now + Self.longestLease)).contains($1.integer ?? 0)
    }.map(\.0)
  }

  private func heldPartitions(of id: String) async throws -> Set<Int> {
    var pipeline = RedisPipeline()
    for worker in try await store.fleet.workers() { pipeline.append("LRANGE", keys.processing(worker: worker), 0, -1) }
    guard !pipeline.isEmpty else { return [] }
    var held: Set<Int> = []
    for list in try await run(pipeline) {
      for text in list.compactMap(\.string) {
        if let slice = SliceReference(text, partitions: keys.partitions), slice.campaign == id {
          held.insert(slice.partition)
        }
      }
    }
    return held
  }
}
