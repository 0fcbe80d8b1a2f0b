import PushCore
import Redis

/// Presence and takeover: who is alive, and what a dead worker, a lost reply or the end of a pause leaves behind.
extension CampaignStore {
  /// What a heartbeat brought back.
  public struct Heartbeat: Sendable {
    /// Redis' time in ms since the epoch.
    public var now: Int
    /// Workers that are taken for dead: their last heartbeat is too long ago.
    public var dead: [String]
    /// Slices whose next retry is due.
    public var due: [SliceReference]
    /// Whether there may be more of them.
    public var isMoreDue: Bool
    /// Scheduled campaigns whose time has come, for ``CampaignStore/promote(_:)``.
    public var scheduled: [String]
    /// ms until the next one is due.
    public var nextScheduled: Int?
    /// Workers that live, this one among them.
    public var workers: Int
  }

  /// Renews a worker's presence, and lets the keys of a campaign expire whose last worker died before it could.
  ///
  /// - Parameters:
  ///   - worker: its name.
  ///   - timeout: ms without a heartbeat after which another worker is taken for dead.
  public func heartbeat(worker: String, timeout: Int) async throws -> Heartbeat {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.heartbeat, keys: [keys.workers, keys.parked, keys.ended, keys.schedule]) {
      $0.append(worker)
      $0.append(timeout)
      $0.append(Self.batch)
    }
    let reply = try await run(pipeline)[0]
    for id in reply[3].compactMap(\.string) { try await expire(id) }
    return Heartbeat(
      now: reply[0].integer ?? 0, dead: reply[1].compactMap(\.string),
      due: try await references(in: reply[2]) { pipeline, text in pipeline.append("ZREM", keys.parked, text) },
      isMoreDue: reply[2].count == Self.batch,
      scheduled: reply[4].compactMap(\.string), nextScheduled: reply[5].integer.flatMap { $0 < 0 ? nil : $0 },
      workers: max(1, reply[6].integer ?? 1))
  }

  /// Puts slices whose retry is due back on their lanes; any worker may, and it does no harm if several do.
  public func unpark(_ due: [SliceReference], worker: String) async throws {
    guard !due.isEmpty else { return }
    let lanes = try await lanes(of: due.map(\.campaign))
    var pipeline = RedisPipeline()
    for (slice, lane) in zip(due, lanes) {
      if let lane {
        requeue(slice, lane: lane, worker: worker, to: &pipeline)
      } else {
        // Its campaign has gone: nothing else would ever remove the reference.
        pipeline.append("ZREM", keys.parked, slice.description)
      }
    }
    _ = try await run(pipeline)
  }

  /// The slices in a worker's list.
  public func processing(of worker: String) async throws -> [SliceReference] {
    var pipeline = RedisPipeline()
    pipeline.append("LRANGE", keys.processing(worker: worker), 0, Self.batch - 1)
    let list = keys.processing(worker: worker)
    return try await references(in: run(pipeline)[0]) { pipeline, text in pipeline.append("LREM", list, 0, text) }
  }

  /// The references of a list. What is none is taken out: it would be in the way of those behind it for ever.
  private func references(
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

  /// Requeues the slices that a dead worker left in its list, where their lease has run out.
  ///
  /// - Parameters:
  ///   - worker: its name; one's own, to find what an earlier process of that name left.
  ///   - leftovers: the slices of its list to look at; `nil` for all.
  /// - Returns: the slices that were requeued.
  public func takeOver(from worker: String, only leftovers: Set<SliceReference>? = nil) async throws -> [SliceReference]
  {
    var references = try await processing(of: worker)
    if let leftovers { references.removeAll { !leftovers.contains($0) } }
    var requeued: [SliceReference] = []
    if !references.isEmpty {
      let now = try await time() / 1000
      var pipeline = RedisPipeline()
      for slice in references {
        pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "lease")
        pipeline.append("HGET", keys.slice(slice.partition, of: slice.campaign), "owner")
      }
      let leases = try await run(pipeline)
      for (index, slice) in references.enumerated() {
        // A lease of more than a day ahead is none, see `claim.lua`.
        let lease = leases[2 * index].integer ?? 0
        let left = (now...(now + Self.longestLease)).contains(lease) ? lease - now : 0
        if left > 0, leases[2 * index + 1].string == worker { continue }
        if left > 0 {
          // Another worker's live lease.
          try await postpone(slice, for: left, worker: worker)
        } else if let lane = try await lanes(of: [slice.campaign])[0] {
          try await requeue(slice, lane: lane, worker: worker)
          requeued.append(slice)
        } else {
          try await dismiss(slice, worker: worker)
        }
      }
    }
    return requeued
  }

  /// ms that a lease can have ahead: a day.
  private static let longestLease = 86_400_000

  /// Gives the jobs that a dead worker was taking in back to the intake list, next in turn, and removes it from the list
  /// of workers once nothing of it is left.
  public func removeWorker(_ worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.removeWorker,
      keys: [
        keys.workers, keys.processing(worker: worker), keys.intake(worker: worker), keys.campaigns, keys.applied,
      ]
    ) { $0.append(worker) }
    _ = try await run(pipeline)
  }

  /// Opens the slices of running campaigns that are in no list, whatever became of their references.
  ///
  /// - Returns: how many there were; all but always none.
  public func reopenLost() async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.running)
    let running = try await run(pipeline)[0].compactMap(\.string)
    guard !running.isEmpty else { return 0 }
    let lists = try await workers().map { keys.processing(worker: $0) }
    let lanes = try await lanes(of: running)
    pipeline.removeAll()
    for (id, lane) in zip(running, lanes) {
      let ring = keys.lane((lane ?? .normal).rawValue)
      pipeline.script(
        StoreScripts.reopen,
        keys: [keys.campaign(id), keys.finished(id), keys.open(id), keys.parked, ring, keys.running] + lists
      ) {
        $0.append(id)
        $0.append(keys.partitions)
      }
    }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
  }

  /// Notes, for workers that start in the next moments, that Redis may have lost its last writes.
  public func noteFailover(for milliseconds: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("SET", keys.failover, "1", "PX", milliseconds)
    // A full Redis refuses it, and is none that has just been filled.
    _ = try await redis.execute(pipeline)
  }

  /// Whether Redis may have lost its last writes a moment ago, as far as a worker that has just started can tell: the
  /// server is young, or a worker has noted it, or no worker has sent a heartbeat for a while. Asks whatever server
  /// answers.
  ///
  /// - Parameters:
  ///   - uptime: seconds since its process was started.
  ///   - timeout: ms within which some live worker has always sent a heartbeat.
  public func mayHaveFailedOver(uptime: Int, timeout: Int) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("EXISTS", keys.failover)
    pipeline.append("ZRANGE", keys.workers, -1, -1, "WITHSCORES")
    pipeline.append("TIME")
    let replies = try await runAnywhere(pipeline)
    guard replies[1].count == 2, let latest = replies[1][1].integer, let now = replies[2][0].integer else {
      return false
    }
    return uptime < Self.youth || replies[0].integer == 1
      || now * 1000 > latest.addingReportingOverflow(timeout).partialValue
  }

  /// Seconds for which a server that has been started is young.
  private static let youth = 3

  /// The names of all workers that may hold anything.
  func workers() async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.workers, 0, -1)
    return try await run(pipeline)[0].compactMap(\.string)
  }

  /// The lanes of campaigns; `nil` for one that has gone.
  func lanes(of campaigns: [String]) async throws -> [Lane?] {
    var pipeline = RedisPipeline()
    for id in campaigns { pipeline.append("HGET", keys.campaign(id), "lane") }
    return try await run(pipeline).map { $0.string.flatMap(Lane.init(rawValue:)) }
  }
}
