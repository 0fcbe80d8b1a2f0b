import PushCore
import Redis

/// The reason why an active campaign is not being sent, and since when.
public struct CampaignWait: Sendable, Equatable {
  /// Reason as text for people.
  public var reason: String
  /// Start of the wait in ms since the epoch; `nil` if unknown.
  public var since: Int?
}

/// Reasons that workers report for campaigns that they can't send. People read them; no decision depends on them. A
/// reason expires when the worker stops reporting it.
extension Campaigns {
  /// Seconds after which a reason expires unless it is reported again. Workers report it every second.
  private static let waitMemory = 10

  /// Reports or renews the reason why this worker can't send a campaign.
  ///
  /// - Parameter since: the start of the wait in ms since the epoch.
  public func reportWaiting(_ id: String, worker: String, reason: String, since: Int) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.waiting(id), worker, "\(since) \(reason)")
    pipeline.append("EXPIRE", keys.waiting(id), Self.waitMemory)
    _ = try await run(pipeline)
  }

  /// Removes the reason that this worker reported for a campaign.
  public func clearWaiting(_ id: String, worker: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.waiting(id), worker)
    _ = try await run(pipeline)
  }

  /// Returns why an active campaign is not being sent: the reason of the worker that has waited longest. `nil` if no
  /// worker reports a reason.
  ///
  /// - Parameter createdAt: the creation of the campaign, in ms since the epoch. The returned wait begins at this time
  ///   or later, even if the push service was unreachable before. (Workers know Redis' clock only with an error of some
  ///   milliseconds.)
  func wait(of id: String, createdAt: Int) async throws -> CampaignWait? {
    var pipeline = RedisPipeline()
    pipeline.append("HVALS", keys.waiting(id))
    return Self.wait(in: try await run(pipeline)[0], createdAt: createdAt)
  }

  /// Returns the wait of the worker that has waited longest, from the reported reasons.
  static func wait(in remarks: RedisReply, createdAt: Int) -> CampaignWait? {
    let waits = remarks.compactMap { reply -> CampaignWait? in
      guard let parts = reply.string?.split(separator: " ", maxSplits: 1), parts.count == 2, let since = Int(parts[0]),
        (0...Timestamp.range.upperBound).contains(since)
      else { return nil }
      return CampaignWait(reason: String(parts[1]), since: max(since, createdAt))
    }
    return waits.min { $0.since ?? 0 < $1.since ?? 0 }
  }

  /// Returns the wait that applies to all campaigns while no worker is alive. It begins at the last known heartbeat.
  /// `nil` if a worker is alive.
  ///
  /// - Parameter lease: ms without a heartbeat after which a worker counts as dead.
  public func absence(lease: Int) async throws -> CampaignWait? {
    var pipeline = RedisPipeline()
    pipeline.append("ZRANGE", keys.workers, -1, -1, "WITHSCORES")
    let latest = try await run(pipeline)[0]
    let since = latest.count == 2 ? latest[1].integer : nil
    if let since, try await store.time() / 1000 - since < lease { return nil }
    return CampaignWait(reason: "no worker runs; start one: carillon worker", since: since)
  }
}
