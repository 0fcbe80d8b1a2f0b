import PushCore

/// What makes a campaign's pushes.
struct CampaignComposers {
  /// Composers at most: those of the hours of some days. Earlier ones are not needed again.
  private static let most = 128

  /// Makes the pushes that have no expiration of their own.
  let standard: any PushComposer
  /// Makes the others, by expiration.
  private var byExpiration: [Int: any PushComposer] = [:]

  init(of campaign: Campaign, _ service: any PushService, expiration: Int?) {
    standard = service.composer(for: campaign, expiration: expiration)
  }

  /// Returns what makes pushes that may be delivered until some time, in UNIX seconds.
  mutating func composer(for campaign: Campaign, _ service: any PushService, expiration: Int) -> any PushComposer {
    if let known = byExpiration[expiration] { return known }
    if byExpiration.count >= Self.most { byExpiration = [:] }
    let composer = service.composer(for: campaign, expiration: expiration)
    byExpiration[expiration] = composer
    return composer
  }
}
