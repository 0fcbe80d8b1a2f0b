public import PushCore
import Redis

/// Where a campaign is in its life. Raw values are names in Redis and JSON.
public enum CampaignState: String, Sendable {
  case scheduled, active, paused, cancelled, completed, failed

  /// Whether nothing more can come of it without a person.
  public var isFinal: Bool { self == .cancelled || self == .completed || self == .failed }
}

/// A campaign as the store knows it.
public struct CampaignRecord: Sendable {
  public var id: String
  public var state: CampaignState
  /// Why it is paused or failed.
  public var reason: String?
  public var app: String
  public var lane: Lane
  /// Seconds that its results stay after its end.
  public var timeToLive: Int
  /// `apns-expiration`, in UNIX seconds, fixed when the campaign started.
  public var expiration: Int?
  /// The job without white space.
  public var job: [UInt8]
  /// Totals of the finished slices; with `show`, of the open ones too.
  public var counters: SliceCounters
  /// Slices that are finished, and all.
  public var slices: (finished: Int, total: Int)
  /// ms since the epoch.
  public var createdAt: Int
  /// ms since the epoch.
  public var startedAt: Int?
  /// ms since the epoch.
  public var finishedAt: Int?

  /// Targets without an outcome so far.
  public var pending: Int { counters.targets - counters.outcomes.values.reduce(0, +) }

  init?(id: String, hash reply: RedisReply) {
    var text: [String: RedisReply] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) { text[reply[index].string ?? ""] = reply[index + 1] }
    guard let state = text["state"]?.string.flatMap(CampaignState.init(rawValue:)) else { return nil }
    self.id = id
    self.state = state
    reason = text["reason"]?.string
    app = text["app"]?.string ?? ""
    lane = text["lane"]?.string.flatMap(Lane.init(rawValue:)) ?? .normal
    timeToLive = text["ttl"]?.integer ?? Campaign.defaultTimeToLive
    expiration = text["expiration"]?.integer
    job = text["job"]?.bytes.map(Array.init) ?? []
    counters = SliceCounters(totals: text.compactMapValues(\.integer))
    slices = (text["finished"]?.integer ?? 0, text["slices"]?.integer ?? 0)
    createdAt = text["createdAt"]?.integer ?? 0
    startedAt = text["startedAt"]?.integer
    finishedAt = text["finishedAt"]?.integer
  }
}
<<<<<<< HEAD

/// What a person does to a campaign.
public enum Steering: String, Sendable {
  case pause, resume, cancel
}

/// Looking at campaigns, and steering them.
extension CampaignStore {
  /// A campaign by its totals alone, or `nil` if there is none of that id.
  public func campaign(_ id: String) async throws -> CampaignRecord? {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.campaign(id))
    return CampaignRecord(id: id, hash: try await run(pipeline)[0])
  }

  /// A campaign with what its open slices have counted so far, or `nil` if there is none of that id.
  public func show(_ id: String) async throws -> CampaignRecord? {
    var pipeline = RedisPipeline()
    // The bitmap first: a slice that finishes in between is then missing for a moment, never counted twice.
    pipeline.append("GETRANGE", keys.finished(id), 0, -1)
    pipeline.append("HGETALL", keys.campaign(id))
    let replies = try await run(pipeline)
    guard var record = CampaignRecord(id: id, hash: replies[1]) else { return nil }
    guard record.finishedAt == nil else { return record }
    let bits = Array(replies[0].bytes ?? [])
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      pipeline.removeAll()
      for partition in start..<min(start + Self.batch, keys.partitions) {
        let isFinished = partition / 8 < bits.count && bits[partition / 8] >> UInt8(7 - partition % 8) & 1 == 1
        if !isFinished { pipeline.append("HGETALL", keys.slice(partition, of: id)) }
      }
      guard !pipeline.isEmpty else { continue }
      for reply in try await run(pipeline) { record.counters += SliceCounters(slice: reply.integers) }
    }
    return record
  }

  /// Every campaign whose record is still kept, newest first, by totals.
  public func campaigns() async throws -> [CampaignRecord] {
    var pipeline = RedisPipeline()
    pipeline.append("ZREVRANGE", keys.all, 0, -1)
    let ids = try await run(pipeline)[0].compactMap(\.string)
    var records: [CampaignRecord] = []
    for start in stride(from: 0, to: ids.count, by: Self.batch) {
      pipeline.removeAll()
      let page = ids[start..<min(start + Self.batch, ids.count)]
      for id in page { pipeline.append("HGETALL", keys.campaign(id)) }
      for (id, reply) in zip(page, try await run(pipeline)) {
        if let record = CampaignRecord(id: id, hash: reply) { records.append(record) }
      }
    }
    return records
  }

  /// Whether nothing is left to do: no job to take in, and every campaign has ended or is scheduled for later.
  public func isIdle() async throws -> Bool {
    // In the order in which a job travels, so that none is overtaken: producers' list, workers' lists, campaigns.
    var pipeline = RedisPipeline()
    pipeline.append("LLEN", keys.campaigns)
    pipeline.append("ZRANGE", keys.workers, 0, -1)
    let waiting = try await run(pipeline)
    pipeline.removeAll()
    for worker in waiting[1].compactMap(\.string) { pipeline.append("LLEN", keys.intake(worker: worker)) }
    pipeline.append("ZRANGE", keys.all, 0, -1)
    var replies = try await run(pipeline)
    let ids = replies.removeLast().compactMap(\.string)
    guard waiting[0].integer == 0, replies.allSatisfy({ $0.integer == 0 }) else { return false }
    for start in stride(from: 0, to: ids.count, by: Self.batch) {
      pipeline.removeAll()
      for id in ids[start..<min(start + Self.batch, ids.count)] {
        pipeline.append("HMGET", keys.campaign(id), "state", "finishedAt")
      }
      for reply in try await run(pipeline) {
        // A record that has gone by itself had ended long before.
        if let state = reply[0].string, state != CampaignState.scheduled.rawValue, reply[1].isNull { return false }
      }
    }
    return true
  }

  /// The states of campaigns, in the order asked for; `nil` for those that are gone.
  public func states(of ids: [String]) async throws -> [CampaignState?] {
    guard !ids.isEmpty else { return [] }
    var pipeline = RedisPipeline()
    for id in ids { pipeline.append("HGET", keys.campaign(id), "state") }
    return try await run(pipeline).map { $0.string.flatMap(CampaignState.init(rawValue:)) }
  }

  /// Pauses, resumes or cancels.
  ///
  /// - Returns: the state that follows: unchanged when the verb does not apply to it.
  /// - Throws: ``StoreError`` `notFound`.
  @discardableResult
  public func steer(_ id: String, _ verb: Steering, reason: String = "") async throws -> CampaignState {
    guard let lane = try await campaign(id)?.lane else { throw noSuchCampaign(id) }
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.steer,
      keys: [keys.campaign(id), keys.lane(lane.rawValue), keys.open(id), keys.parked, keys.finished(id)]
    ) {
      $0.append(id)
      $0.append(verb.rawValue)
      $0.append(reason)
      $0.append(keys.partitions)
    }
    guard let state = try await run(pipeline)[0].string.flatMap(CampaignState.init(rawValue:)) else {
      throw noSuchCampaign(id)
    }
    return state
  }

  /// The error for an id that names no campaign.
  public func noSuchCampaign(_ id: String) -> StoreError {
    StoreError(
      .notFound, "there is no campaign \(Excerpt.quoted(id))",
      hint: "see `carillon campaign list`; a job that could not be run is in the dead list")
  }

  /// Lets everything of a campaign that has ended go after its time to live.
  func expire(_ id: String) async throws {
    guard let record = try await campaign(id) else { return }
    let seconds = record.timeToLive
    for start in stride(from: 0, to: keys.partitions, by: Self.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + Self.batch, keys.partitions) {
        pipeline.append("UNLINK", keys.audience(partition, id), keys.retry(partition, id))
        pipeline.append("EXPIRE", keys.slice(partition, of: id), seconds)
        pipeline.append("EXPIRE", keys.targets(partition, id), seconds)
        pipeline.append("EXPIRE", keys.ledger(partition, id), seconds)
        pipeline.append("EXPIRE", keys.reasons(partition, id), seconds)
        pipeline.append("EXPIRE", keys.results(partition, id), seconds)
      }
      _ = try await run(pipeline)
    }
    var pipeline = RedisPipeline()
    pipeline.append("EXPIRE", keys.finished(id), seconds)
    pipeline.append("EXPIRE", keys.campaign(id), seconds)
    let ended = try await time() / 1000 - CampaignStore.longestCampaign
    pipeline.append("ZREMRANGEBYSCORE", keys.all, "-inf", ended)
    _ = try await run(pipeline)
  }

  /// ms after which an id leaves the list of all campaigns; its record is gone long before.
  private static let longestCampaign = 400 * 86400 * 1000
}

extension RedisReply {
  /// The integers among the values of a hash.
  var integers: [String: Int] {
    var fields: [String: Int] = [:]
    for index in stride(from: 0, to: count - 1, by: 2) {
      if let value = self[index + 1].integer { fields[self[index].string ?? ""] = value }
    }
    return fields
  }
}
=======
>>>>>>> store
