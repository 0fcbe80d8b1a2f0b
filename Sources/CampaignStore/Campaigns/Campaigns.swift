import PushCore
import Redis

/// The records of campaigns, and the operations that change a campaign's state.
public struct Campaigns: StoreRoom {
  let store: CampaignStore

  /// Returns a campaign or a part with its totals only; `nil` if the id does not exist. The totals of a campaign with
  /// parts are those of its stages.
  public func find(_ id: String) async throws -> CampaignRecord? {
    var pipeline = RedisPipeline()
    read(CampaignRecord.fields, of: id, to: &pipeline)
    guard let record = try await record(id, run(pipeline)[0]) else { return nil }
    return try await withParts([record])[0]
  }

  /// Returns campaigns with their parts.
  func withParts(_ records: [CampaignRecord]) async throws -> [CampaignRecord] {
    var damage: StoreError?
    let records = try await withParts(records) { damage = $0 }
    if let damage { throw damage }
    return records
  }

  /// Returns campaigns with their readable parts. Damaged parts are left out.
  ///
  /// - Parameter damaged: called with the error of each damaged part.
  func withParts(_ records: [CampaignRecord], damaged: (StoreError) -> Void) async throws -> [CampaignRecord] {
    var pipeline = RedisPipeline()
    for id in records.flatMap(\.staging.partIDs) { read(CampaignRecord.fields, of: id, to: &pipeline) }
    guard !pipeline.isEmpty else { return records }
    var replies = try await runEach(pipeline)[...]
    return records.map { record in
      var record = record
      guard !record.staging.partIDs.isEmpty else { return record }
      var parts: [CampaignRecord] = []
      for id in record.staging.partIDs {
        do throws(StoreError) {
          if let part = try self.record(id, replies.removeFirst().get()) { parts.append(part) }
        } catch {
          damaged(error)
        }
      }
      record.take(parts)
      return record
    }
  }

  /// Returns the ids of the parts that a campaign's record lists; none for a campaign without parts, or if the campaign
  /// no longer exists.
  func partIDs(of whole: String) async throws -> [String] {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.campaign(whole), "parts")
    return try await run(pipeline)[0].string?.split(separator: " ").compactMap { CampaignPart($0) }
      .map { CampaignID(whole: whole, part: $0).description } ?? []
  }

  /// Returns a campaign or a part with its own totals only, and the campaign's job without white space; `nil` if the id
  /// does not exist. ``CampaignRecord/campaign(_:_:)`` reads the job.
  public func findWithJob(_ id: String) async throws -> (record: CampaignRecord, job: [UInt8])? {
    var pipeline = RedisPipeline()
    read(CampaignRecord.fields, of: id, to: &pipeline)
    pipeline.append("HGET", keys.campaign(CampaignID(id).whole), "job")
    pipeline.append("HGET", keys.campaign(id), "definitions")
    let replies = try await run(pipeline)
    guard var record = try record(id, replies[0]) else { return nil }
    if let json = replies[2].bytes.map(Array.init) {
      guard let definitions = await LargeJobThread.read(json.count, { SegmentDefinitions(json) }) else {
        throw StoreError(
          .campaign(id), "the field definitions of the key \(keys.campaign(id)) should be definitions of segments")
      }
      record.placement.definitions = definitions
    }
    return (record, replies[1].bytes.map(Array.init) ?? [])
  }

  /// Returns the status of a campaign; `nil` if the id does not exist.
  public func status(of id: String) async throws -> CampaignStatus? {
    var pipeline = RedisPipeline()
    read(CampaignStatus.fields, of: id, to: &pipeline)
    let reply = try await run(pipeline)[0]
    return try CampaignStatus(StoredFields(.campaign(id, keys), CampaignStatus.fields, reply))
  }

  /// Reads a record.
  ///
  /// - Parameter reply: the reply to ``read(_:of:to:)`` of all fields.
  func record(_ id: String, _ reply: RedisReply) throws(StoreError) -> CampaignRecord? {
    try CampaignRecord(id: id, StoredFields(.campaign(id, keys), CampaignRecord.fields, reply))
  }

  func read(_ fields: [String], of id: String, to pipeline: inout RedisPipeline) {
    pipeline.command("HMGET") { arguments in
      arguments.append(keys.campaign(id))
      for field in fields { arguments.append(field) }
    }
  }

  /// Returns a campaign with the counts of its open slices; `nil` if the id does not exist.
  public func show(_ id: String) async throws -> CampaignRecord? {
    guard let (totals, finished) = try await view(id) else { return nil }
    var record = totals
    if !record.staging.partIDs.isEmpty {
      var parts: [CampaignRecord] = []
      for part in record.staging.partIDs {
        if let part = try await show(part) { parts.append(part) }
      }
      record.take(parts)
    }
    guard record.hasOpenSlices else { return record }
    for page in (0..<keys.partitions).batches() {
      let open = page.filter { !finished.contains($0) }
      for (_, slice) in try await counters(of: id, in: open) { record.add(slice) }
    }
    return record
  }

  /// Returns a campaign with its totals and the reason why it waits, and the partitions whose slices these totals
  /// include.
  func view(_ id: String) async throws -> (record: CampaignRecord, finished: PartitionBitmap)? {
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.view, keys: [keys.campaign(id), keys.finished(id)]) { arguments in
      for field in CampaignRecord.fields { arguments.append(field) }
    }
    let view = try await run(pipeline)[0]
    guard var record = try record(id, view[0]) else { return nil }
    if record.hasOpenSlices, record.state == .active {
      record.waiting = try await wait(of: id, createdAt: record.times.createdAt)
    }
    return (record, PartitionBitmap(Array(view[1].bytes ?? [])))
  }

  /// Returns the counters of slices of a campaign.
  func counters(of id: String, in partitions: [Int]) async throws -> [(partition: Int, slice: OpenSlice)] {
    guard !partitions.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for partition in partitions { pipeline.append("HGETALL", keys.slice(partition, of: id)) }
    return try zip(partitions, try await run(pipeline)).map { partition, reply in
      let fields = StoredFields(.slice(SliceReference(campaign: id, partition: partition), keys), all: reply)
      // `seal.lua` writes the field `count`.
      return (
        partition,
        OpenSlice(
          counters: try SliceCounters(slice: fields), isSealed: fields.has("count"),
          readyAt: try fields.number("readyAt"))
      )
    }
  }

  /// Returns all campaigns whose records still exist, newest first, with their totals.
  ///
  /// - Parameter damaged: called with the error of each damaged campaign.
  public func all(damaged: (StoreError) -> Void = { _ in }) async throws -> [CampaignRecord] {
    var records: [CampaignRecord] = []
    try await forEachPage(.newestFirst) { ids in
      let ids = ids.filter { CampaignID($0).part == nil }
      var pipeline = RedisPipeline()
      for id in ids { read(CampaignRecord.fields, of: id, to: &pipeline) }
      for (id, result) in zip(ids, pipeline.isEmpty ? [] : try await runEach(pipeline)) {
        do throws(StoreError) {
          if let record = try record(id, result.get()) { records.append(record) }
        } catch {
          damaged(error)
        }
      }
      return true
    }
    return try await withParts(records, damaged: damaged)
  }

  /// Returns whether no work is left: no job to take in, and every campaign has ended or is scheduled for later.
  public func isIdle() async throws -> Bool {
    let workers = try await store.fleet.workers()
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.idle, keys: [keys.campaigns, keys.running] + workers.map { keys.intake(worker: $0) })
    return try await run(pipeline)[0].integer == 1
  }

  /// Returns the error for an id that names no campaign.
  public func noSuchCampaign(_ id: String) -> StoreError {
    StoreError(
      .notFound, "there is no campaign \(Excerpt.quoted(id))",
      hint: "check `carillon campaign list`, and `carillon dead list` for jobs that could not be run")
  }
}
