import CampaignStore
import Redis
import TestSupport

extension FaultWorld {
  /// Pushes a campaign like a producer and waits for its end.
  ///
  /// - Parameter limit: limit of the wait.
  /// - Returns: seconds from the push to the end on Redis' clock; `nil` if the campaign did not end in time.
  func time(_ campaign: FaultCampaign, within limit: Duration) async throws -> Double? {
    let began = try await store.time() / 1000
    try await push(campaign)
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      let start = ContinuousClock.now
      if let end = try await store.campaigns.find(campaign.id)?.times.finishedAt { return Double(end - began) / 1000 }
      await elapse(afterCheckSince: start, atLeast: .milliseconds(10))
    }
    return nil
  }

  /// Moves the start of a scheduled campaign to another time, in ms since the epoch.
  func reschedule(_ id: String, to instant: Int) async throws {
    try await redis.command("HSET", "{\(store.keys.namespace)}:campaign:\(id)", "sendAt", instant).get()
    try await redis.command("ZADD", store.keys.schedule, "XX", instant, id).get()
  }
}
