import PushCore
import Redis

/// Why a campaign that could be sent is not, and since when.
public struct CampaignWait: Sendable, Equatable {
  /// For people.
  public var reason: String
  /// ms since the epoch; `nil` when nobody knows.
  public var since: Int?
}

/// What workers say of campaigns that they can't send. It is a remark for people, and nothing depends on it: it goes by
/// itself when its worker does.
extension Campaigns {
  /// Seconds that a remark stays unless it is made again; workers make it every second.
  private static let waitMemory = 10

  /// Says, or says again, why this worker can't send a campaign.
  ///
  /// - Parameter since: ms since the epoch.
  public func noteWaiting(_ id: String, worker: String, reason: String, since: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.waiting(id), worker, "\(since) \(reason)")
    pipeline.append("EXPIRE", keys.waiting(id), Self.waitMemory)
    _ = try await run(pipeline)
  }

  /// Takes back what this worker said of a campaign.
  public func clearWaiting(_ id: String, worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.waiting(id), worker)
    _ = try await run(pipeline)
  }

  /// Why an active campaign is not sent: what the worker says that has waited longest; `nil` when none says so.
  ///
  /// - Parameter createdAt: of the campaign, in ms since the epoch. A push service may have been out of reach before; the
  ///   campaign waits since it is there at most. (And workers know Redis' clock to some milliseconds only.)
  func wait(of id: String, createdAt: Int) async throws -> CampaignWait? {
    var pipeline = RedisPipeline()
    pipeline.append("HVALS", keys.waiting(id))
    return Self.wait(in: try await run(pipeline)[0], createdAt: createdAt)
  }

  /// The same, of what workers say.
  static func wait(in remarks: RedisReply, createdAt: Int) -> CampaignWait? {
    let waits = remarks.compactMap { reply -> CampaignWait? in
      guard let parts = reply.string?.split(separator: " ", maxSplits: 1), parts.count == 2, let since = Int(parts[0]),
        (0...Timestamp.range.upperBound).contains(since)
      else { return nil }
      return CampaignWait(reason: String(parts[1]), since: max(since, createdAt))
    }
    return waits.min { $0.since ?? 0 < $1.since ?? 0 }
  }

  /// That no worker is there, since the last sign of life that is known of; `nil` when there is a worker.
  ///
  /// - Parameter lease: ms without a sign of life after which a worker is taken for dead.
  public func absence(lease: Int) async throws -> CampaignWait? {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.workers, -1, -1, "WITHSCORES")
    let latest = try await run(pipeline)[0]
    let since = latest.count == 2 ? latest[1].integer : nil
    if let since, try await store.time() / 1000 - since < lease { return nil }
    return CampaignWait(reason: "no worker is there; start one: carillon worker", since: since)
  }
}
