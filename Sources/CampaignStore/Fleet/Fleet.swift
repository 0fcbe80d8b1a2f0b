import PushCore
import Redis

/// The workers and their shared state: presence, housekeeping, the wake-up channel, a snapshot of the system.
public struct Fleet: StoreRoom {
  let store: CampaignStore

  /// Largest size in bytes of a job that is read to find its id. The waiting time of a larger job may be unknown.
  private static let readJob = 65_536

  /// Returns a snapshot of the whole system. The cost is about ten commands, up to four for each worker and running
  /// campaign in the snapshot, and one for each partition. A pipeline has at most 500 commands.
  ///
  /// If a part can't be read, its error is in ``FleetSnapshot/problems``. Such a part is damaged, or the Redis user may
  /// not read it.
  ///
  /// - Parameter lease: ms without a heartbeat after which a worker counts as dead.
  /// - Throws: `RedisError` if Redis is unreachable.
  public func snapshot(lease: Int) async throws -> FleetSnapshot {
    var fleet = FleetSnapshot()
    fleet.store.namespace = keys.namespace
    let ids = try await readControl(&fleet)
    try await readWorkers(&fleet, lease: lease)
    try await readCampaigns(ids, &fleet)
    try await readQuarantine(&fleet)
    try await readWebhooks(&fleet)
    do {
      let now = fleet.at
      fleet.backends = try await store.limits.backends().values.filter { $0.isCurrent(now) }.sorted { $0.app < $1.app }
    } catch let error as StoreError {
      fleet.problems.append(error)
    }
    fleet.nodes = try await redis.serverStates(FleetNode.sections).map { FleetNode($0, keys) }
    return fleet
  }

  /// Reads the parts of the snapshot that are in single keys.
  ///
  /// - Returns: the ids of the campaigns to read.
  private func readControl(_ fleet: inout FleetSnapshot) async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("TIME")
    pipeline.append("HMGET", keys.store, "partitions", "nextPartitions", "version")
    pipeline.append("GET", keys.housekeeper)
    pipeline.append("XLEN", keys.dead)
    pipeline.append("LLEN", keys.feedback)
    for key in [keys.schedule, keys.parked] {
      pipeline.append("ZCARD", key)
      pipeline.append("ZRANGE", key, 0, 0, "WITHSCORES")
    }
    for list in EventList.allCases { pipeline.append("LLEN", keys.events(list)) }
    pipeline.script(StoreScripts.oldest, keys: [keys.campaigns, keys.housekeeping]) { $0.append(Self.readJob) }
    for lane in keys.lanes {
      pipeline.append("LLEN", lane)
      pipeline.append("LRANGE", lane, 0, FleetSnapshot.maximumCampaigns - 1)
    }
    pipeline.append("ZCARD", keys.approvals)
    pipeline.append("ZRANGE", keys.approvals, 0, FleetSnapshot.maximumAwaiting - 1)
    pipeline.append("SCARD", keys.running)
    pipeline.append("SSCAN", keys.running, 0, "COUNT", FleetSnapshot.maximumCampaigns)
    var replies = FleetReplies(try await runEach(pipeline))
    fleet.at = (replies.next()?.time ?? 0) / 1000
    let store = replies.next()
    fleet.store.partitions = store?[0].integer
    fleet.store.nextPartitions = store?[1].integer
    if let version = store?[2].integer, version != CampaignStore.layoutVersion {
      fleet.problems.append(self.store.mismatch(version))
    }
    fleet.presence.housekeeper = replies.next()?.string.flatMap(WorkerInstance.init)?.name
    fleet.pendingEntries.dead = replies.next()?.integer ?? 0
    fleet.pendingEntries.feedback = replies.next()?.integer ?? 0
    fleet.queues.scheduled = replies.nextScheduledWork()
    fleet.queues.parked = replies.nextScheduledWork()
    for list in EventList.allCases { fleet.queues.events[list] = replies.next()?.integer ?? 0 }
    let oldest = replies.next()
    var ids: [String] = []
    for lane in Lane.allCases {
      fleet.queues.lanes.append(FleetSnapshot.LaneBacklog(lane: lane, campaigns: replies.next()?.integer ?? 0))
      ids += replies.next()?.compactMap(\.string) ?? []
    }
    let awaiting = (count: replies.next()?.integer ?? 0, ids: replies.next()?.compactMap(\.string) ?? [])
    let running = replies.next()?.integer ?? 0
    ids += replies.next()?.dropFirst().first?.compactMap(\.string) ?? []
    fleet.problems += replies.problems
    if let oldest { fleet.queues.intake = try await intake(oldest) }
    var seen: Set<String> = []
    ids = ids.filter { seen.insert($0).inserted }
    ids = Array(ids.prefix(FleetSnapshot.maximumCampaigns))
    fleet.running.unseen = max(0, running - ids.count)
    fleet.running.unseenAwaiting = max(0, awaiting.count - awaiting.ids.count)
    return ids + awaiting.ids.filter { !ids.contains($0) }
  }

  /// Returns the number of waiting jobs on the producers' list, and since when the next one waits.
  ///
  /// - Parameter oldest: reply of the script `oldest`.
  private func intake(_ oldest: RedisReply) async throws -> FleetSnapshot.Backlog {
    var backlog = FleetSnapshot.Backlog(count: oldest[0].integer ?? 0, since: oldest[1].integer)
    // A command that submits a job stores the job's id with a fixed expiry, so the remaining time of this key shows
    // when the job was submitted.
    guard backlog.count > 0, let id = await JobOutline.read(oldest[2].bytes.map(Array.init) ?? [])?.id else {
      return backlog
    }
    var pipeline = RedisPipeline()
    pipeline.append("PTTL", keys.job(id))
    pipeline.append("TIME")
    let replies = FleetReplies(try await runEach(pipeline)).all
    if let left = replies[0]?.integer, left > 0, let time = replies[1]?.time {
      let submitted = time / 1000 - (Queue.idMemory * 1000 - left)
      backlog.since = min(backlog.since ?? submitted, submitted)
    }
    return backlog
  }

  private func readWorkers(_ fleet: inout FleetSnapshot, lease: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("ZCARD", keys.workers)
    pipeline.append("ZCOUNT", keys.workers, "(\(fleet.at - lease)", "+inf")
    pipeline.append("ZREVRANGE", keys.workers, 0, FleetSnapshot.maximumWorkers - 1, "WITHSCORES")
    var replies = FleetReplies(try await runEach(pipeline))
    let listed = replies.next()?.integer ?? 0
    fleet.presence.live = replies.next()?.integer ?? 0
    let pairs = replies.next()
    fleet.problems += replies.problems
    for index in stride(from: 0, to: (pairs?.count ?? 0) - 1, by: 2) {
      guard let name = pairs?[index].string else { continue }
      let heartbeatAt = pairs?[index + 1].integer ?? 0
      fleet.presence.workers.append(
        FleetSnapshot.Worker(name: name, heartbeatAt: heartbeatAt, isAlive: heartbeatAt > fleet.at - lease, report: nil)
      )
    }
    fleet.presence.unseen = max(0, listed - fleet.presence.workers.count)
    fleet.presence.workers.sort { ($1.isAlive ? 1 : 0, $0.name) < ($0.isAlive ? 1 : 0, $1.name) }
    for range in (0..<fleet.presence.workers.count).batches() {
      pipeline.removeAll()
      pipeline.command("HMGET") {
        $0.append(keys.reports)
        for worker in fleet.presence.workers[range] { $0.append(worker.name) }
      }
      var replies = FleetReplies(try await runEach(pipeline))
      guard let reports = replies.next() else {
        fleet.problems += replies.problems
        return
      }
      for (index, reply) in zip(range, reports) {
        fleet.presence.workers[index].report = reply.bytes.flatMap { WorkerReport(json: Array($0)) }
      }
    }
  }

  private func readCampaigns(_ ids: [String], _ fleet: inout FleetSnapshot) async throws {
    // Each campaign needs three commands.
    let step = CampaignStore.batch / 3
    for start in stride(from: 0, to: ids.count, by: step) {
      let page = ids[start..<min(start + step, ids.count)]
      var pipeline = RedisPipeline()
      for id in page {
        store.campaigns.read(CampaignRecord.fields, of: id, to: &pipeline)
        pipeline.append("LLEN", keys.open(id))
        pipeline.append("HVALS", keys.waiting(id))
      }
      var replies = FleetReplies(try await runEach(pipeline))
      for id in page {
        let (fields, open, waits) = (replies.next(), replies.next(), replies.next())
        do throws(StoreError) {
          guard let fields, var record = try store.campaigns.record(id, fields) else { continue }
          if record.state == .active, record.times.finishedAt == nil, let waits {
            record.waiting = Campaigns.wait(in: waits, createdAt: record.times.createdAt)
          }
          fleet.add(FleetSnapshot.RunningCampaign(record: record, openSlices: open?.integer ?? 0))
        } catch {
          fleet.problems.append(error)
        }
      }
      fleet.problems += replies.problems
    }
    try await joinParts(&fleet)
  }

  /// Combines each campaign and its parts into one entry.
  private func joinParts(_ fleet: inout FleetSnapshot) async throws {
    let parts = fleet.running.campaigns.filter { $0.record.staging.whole != nil }
    guard !parts.isEmpty || fleet.running.campaigns.contains(where: { !$0.record.staging.partIDs.isEmpty }) else {
      return
    }
    fleet.running.campaigns.removeAll { $0.record.staging.whole != nil }
    let records = try await store.campaigns.withParts(fleet.running.campaigns.map(\.record)) {
      fleet.problems.append($0)
    }
    for (index, record) in records.enumerated() where !record.staging.partIDs.isEmpty {
      let own = parts.filter { $0.record.staging.whole == record.id }
      fleet.running.campaigns[index].record = record
      fleet.running.campaigns[index].record.waiting = own.compactMap(\.record.waiting).first
      fleet.running.campaigns[index].openSlices = own.reduce(0) { $0 + $1.openSlices }
    }
  }

  private func readWebhooks(_ fleet: inout FleetSnapshot) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.webhooks)
    var replies = FleetReplies(try await runEach(pipeline))
    if let pairs = replies.next() {
      fleet.webhooks = stride(from: 0, to: pairs.count - 1, by: 2).prefix(FleetSnapshot.maximumWebhooks).compactMap {
        WebhookStatus(name: pairs[$0].string ?? "", text: pairs[$0 + 1].string ?? "")
      }.sorted { $0.name < $1.name }
    }
    fleet.problems += replies.problems
    guard !fleet.webhooks.isEmpty else { return }
    pipeline.removeAll()
    pipeline.script(StoreScripts.backlog, keys: [keys.changes]) {
      for webhook in fleet.webhooks { $0.append(webhook.position) }
    }
    replies = FleetReplies(try await runEach(pipeline))
    if let counts = replies.next() {
      for (index, count) in zip(fleet.webhooks.indices, counts) { fleet.webhooks[index].backlog = count.integer ?? 0 }
    }
    fleet.problems += replies.problems
  }

  private func readQuarantine(_ fleet: inout FleetSnapshot) async throws {
    let partitions = fleet.store.partitions ?? 0
    for page in (0..<partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("HLEN", keys.quarantine(partition))
      }
      let replies = FleetReplies(try await runEach(pipeline))
      fleet.pendingEntries.quarantined += replies.all.reduce(0) { $0 + ($1?.integer ?? 0) }
      if let problem = replies.problems.first {
        // The problem is the same in all partitions, so one error is enough.
        fleet.problems.append(problem)
        return
      }
    }
  }
}

extension FleetSnapshot {
  /// Adds a campaign, and counts its slices for its lane.
  mutating func add(_ campaign: RunningCampaign) {
    running.campaigns.append(campaign)
    let record = campaign.record
    guard campaign.openSlices > 0, record.state == .active || record.state == .cancelled,
      let index = queues.lanes.firstIndex(where: { $0.lane == record.lane })
    else { return }
    let since = max(record.times.createdAt, record.times.sendAt ?? 0)
    queues.lanes[index].slices += campaign.openSlices
    queues.lanes[index].since = min(queues.lanes[index].since ?? since, since)
  }
}

/// Replies that may be errors. An error counts as a missing reply, and is added to the problems of the snapshot.
private struct FleetReplies {
  private(set) var all: [RedisReply?] = []
  private(set) var problems: [StoreError] = []
  private var position = 0

  init(_ results: [Result<RedisReply, StoreError>]) {
    for result in results {
      switch result {
      case .success(let reply): all.append(reply)
      case .failure(let error):
        all.append(nil)
        problems.append(error)
      }
    }
  }

  mutating func next() -> RedisReply? {
    defer { position += 1 }
    return all[position]
  }

  /// Reads the number of entries, and the first entry's score as its due time.
  mutating func nextScheduledWork() -> FleetSnapshot.ScheduledWork {
    let (count, first) = (next()?.integer ?? 0, next())
    return FleetSnapshot.ScheduledWork(count: count, next: first.flatMap { $0.count == 2 ? $0[1].integer : nil })
  }
}
