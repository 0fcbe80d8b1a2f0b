import CampaignStore

extension FaultWorld {
  /// Pushes a campaign as a producer does, and waits for its end.
  ///
  /// - Parameter limit: when to give up waiting.
  /// - Returns: seconds from the push to the end, by Redis' clock; `nil` if it had not come by then.
  func time(_ campaign: FaultCampaign, within limit: Duration) async throws -> Double? {
    let began = try await store.time() / 1000
    try await push(campaign)
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      if let end = try await store.campaigns.find(campaign.id)?.finishedAt { return Double(end - began) / 1000 }
      await elapse(.milliseconds(10))
    }
    return nil
  }
}
