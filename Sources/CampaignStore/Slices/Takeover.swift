import PushCore
import Redis

/// Takeover: makes slices available to workers again. This is needed after the death of a worker or the loss of a
/// reply, and when the time of a parked slice has come.
extension Slices {
  /// Puts slices whose retry is due back on their lanes. Any worker may do this, and several may do it at the same
  /// time.
  public func unpark(_ due: [SliceReference], worker: String) async throws {
    guard !due.isEmpty else { return }
    let lanes = try await lanes(of: due.map(\.campaign))
    var pipeline = RedisPipeline()
    for (slice, lane) in zip(due, lanes) {
      if let lane {
        requeue(slice, lane: lane, worker: worker, to: &pipeline)
      } else {
        // The campaign no longer exists, so no other step removes the reference.
        pipeline.append("ZREM", keys.parked, slice.description)
      }
    }
    _ = try await run(pipeline)
  }

  /// Returns the slices in a worker's processing list.
  public func processing(of worker: String) async throws -> [SliceReference] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.processing(worker: worker), 0, CampaignStore.batch - 1)
    let list = keys.processing(worker: worker)
    return try await references(in: run(pipeline)[0]) { pipeline, text in pipeline.append("LREM", list, 0, text) }
  }

  /// Returns those of these slices that their campaigns have not counted as finished yet.
  public func uncounted(_ slices: Set<SliceReference>) async throws -> Set<SliceReference> {
    guard !slices.isEmpty else { return [] }
    let slices = Array(slices)
    var pipeline = RedisPipeline()
    for slice in slices { pipeline.append("GETBIT", keys.finished(slice.campaign), slice.partition) }
    return Set(zip(slices, try await run(pipeline)).lazy.filter { $1.integer == 0 }.map(\.0))
  }

  /// Returns the references of a list and removes invalid ones. An invalid reference would otherwise block the
  /// references behind it forever.
  func references(
    in reply: RedisReply, remove: (inout RedisPipeline, String) -> Void
  ) async throws -> [SliceReference] {
    var references: [SliceReference] = []
    var pipeline = RedisPipeline()
    for text in reply.compactMap(\.string) {
      if let reference = SliceReference(text, partitions: keys.partitions) {
        references.append(reference)
      } else {
        remove(&pipeline, text)
      }
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    return references
  }

  /// Requeues the slices that a dead worker abandoned in its list, if their leases have expired.
  ///
  /// - Parameters:
  ///   - worker: the name of the dead worker. A worker passes its own name to find slices of an earlier process of that
  ///     name.
  ///   - leftovers: the slices in the list that are checked; `nil` for all.
  ///   - isGone: whether the worker's process is known to have ended. If so, its leases end immediately.
  /// - Returns: the slices that were requeued.
  public func takeOver(
    from worker: String, only leftovers: Set<SliceReference>? = nil, isGone: Bool = false
  ) async throws -> [SliceReference] {
    var requeued: [SliceReference] = []
    while true {
      var references = try await processing(of: worker)
      let isFull = references.count == CampaignStore.batch
      if let leftovers { references.removeAll { !leftovers.contains($0) } }
      if references.isEmpty { return requeued }
      let given = try await giveBack(references, of: worker, isGone: isGone)
      requeued += given
      // If slices have few targets, the worker may have held more slices than one read returns. Read its list again.
      guard isFull, leftovers == nil, !given.isEmpty else { return requeued }
    }
  }

  private func giveBack(
    _ references: [SliceReference], of worker: String, isGone: Bool
  ) async throws -> [SliceReference] {
    if isGone { try await endLeases(of: references, worker: worker) }
    let now = try await store.time() / 1000
    let campaigns = Array(Set(references.map(\.campaign)))
    let lanes = Dictionary(zip(campaigns, try await lanes(of: campaigns)), uniquingKeysWith: { first, _ in first })
    var pipeline = RedisPipeline()
    for slice in references {
      pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "lease")
      pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "owner")
    }
    let leases = try await run(pipeline)
    pipeline.removeAll()
    var requeued: [SliceReference] = []
    for (index, slice) in references.enumerated() {
      // A lease of more than a day is invalid, see `claim.lua`.
      let lease = leases[2 * index].integer ?? 0
      let left = (now...(now + Self.longestLease)).contains(lease) ? lease - now : 0
      if left > 0, leases[2 * index + 1].string == worker { continue }
      if left > 0 {
        // Another worker has a live lease.
        try await postpone(slice, for: left, worker: worker)
      } else if let lane = lanes[slice.campaign] ?? nil {
        requeue(slice, lane: lane, worker: worker, isLeft: true, to: &pipeline)
        requeued.append(slice)
      } else {
        try await dismiss(slice, worker: worker)
      }
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    return requeued
  }

  private func endLeases(of slices: [SliceReference], worker: String) async throws {
    var pipeline = RedisPipeline()
    for slice in slices {
      pipeline.script(StoreScripts.expire, keys: [keys.slice(slice.partition, of: slice.campaign)]) {
        $0.append(worker)
      }
    }
    _ = try await run(pipeline)
  }

  /// Longest valid remaining time of a lease, in ms: a day.
  static let longestLease = 86_400_000

  /// Records that Redis may have lost its last writes. The record expires after this number of ms. Workers that start
  /// before then read it.
  public func recordFailover(for milliseconds: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("SET", keys.failover, "1", "PX", milliseconds)
    // The reply is not checked, because only a full Redis refuses the write. A Redis that has just loaded its data is
    // not full.
    _ = try await redis.execute(pipeline)
  }

  /// Returns whether Redis may have lost its last writes a moment ago. A worker that has just started calls this
  /// function, before it admits connections. The function therefore also uses connections that are not admitted.
  ///
  /// If the list of workers is empty, the result is `false`: no worker that could replay writes is known. Otherwise the
  /// result is `true` if the server's process started less than 3 s ago, if a worker has recorded a failover, or if the
  /// latest heartbeat of all workers is older than `timeout`.
  ///
  /// - Parameters:
  ///   - uptime: seconds since the start of the server's process.
  ///   - timeout: age in ms of the latest heartbeat. If it is older, no worker was running, or Redis was unreachable.
  public func mayHaveFailedOver(uptime: Int, timeout: Int) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", keys.failover)
    pipeline.append("ZRANGE", keys.workers, -1, -1, "WITHSCORES")
    pipeline.append("TIME")
    let replies = try await store.runAnywhere(pipeline)
    guard replies[1].count == 2, let latest = replies[1][1].integer, let now = replies[2].time else {
      return false
    }
    return uptime < Self.youth || replies[0].integer == 1
      || now / 1000 > latest.addingReportingOverflow(timeout).partialValue
  }

  /// Seconds after its start for which a server may have lost its last writes.
  private static let youth = 3

  /// Returns the lanes of campaigns; `nil` for a campaign that no longer exists.
  func lanes(of campaigns: [String]) async throws -> [Lane?] {
    var pipeline = RedisPipeline()
    for id in campaigns { pipeline.append("HGET", keys.campaign(id), "lane") }
    return try await run(pipeline).map { $0.string.flatMap(Lane.init(rawValue:)) }
  }
}
