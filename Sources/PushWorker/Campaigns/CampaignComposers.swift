import PushCore

/// The composers of a campaign. A composer makes the pushes (``PushComposer``). Pushes with different expirations need
/// different composers.
struct CampaignComposers {
  /// Maximum number of composers in ``byExpiration``: enough for one expiration per hour over several days. When the
  /// limit is reached, all are removed, because composers of past hours are not needed again.
  private static let most = 128

  /// The composer for pushes that expire when the campaign expires.
  let standard: any PushComposer
  /// The composers for pushes with a different expiration, by expiration in UNIX seconds.
  private var byExpiration: [Int: any PushComposer] = [:]

  init(of campaign: Campaign, _ service: any PushService, expiration: Int?) {
    standard = service.composer(for: campaign, expiration: expiration)
  }

  /// Returns the composer for pushes with an expiration, in UNIX seconds.
  mutating func composer(for campaign: Campaign, _ service: any PushService, expiration: Int) -> any PushComposer {
    if let known = byExpiration[expiration] { return known }
    if byExpiration.count >= Self.most { byExpiration = [:] }
    let composer = service.composer(for: campaign, expiration: expiration)
    byExpiration[expiration] = composer
    return composer
  }
}
