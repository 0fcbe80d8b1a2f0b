import CampaignStore
import PushCore

/// The rates of apps and of their backends, once a campaign of theirs came into hand.
/// Confined to the worker's loop, as the limits in it.
struct RateTable {
  /// By the app's name.
  private var apps: [String: RateLimit] = [:]
  /// Likewise of apps whose backend says how it is; in force while that is not well.
  private var backends: [String: RateLimit] = [:]

  /// The rates that a campaign is held against: its own, its app's, and its app's backend's.
  mutating func limits(of campaign: Campaign, _ app: AppChannel) -> [RateLimit] {
    var limits: [RateLimit] = []
    if let rate = campaign.delivery.rate { limits.append(RateLimit(.campaign(campaign.id), rate)) }
    if let rate = app.rate {
      let limit = apps[campaign.app] ?? RateLimit(.app(campaign.app), .perSecond(rate))
      apps[campaign.app] = limit
      limits.append(limit)
    }
    if let backend = app.backend, campaign.heedsBackend {
      let limit = backends[campaign.app] ?? RateLimit(.backend(campaign.app), .perSecond(backend.rate))
      backends[campaign.app] = limit
      limits.append(limit)
    }
    return limits
  }

  /// Goes as fast as is right for how backends are.
  ///
  /// - Parameters:
  ///   - known: the backends of apps.
  ///   - now: ms since the epoch by Redis' clock.
  /// - Returns: whether anything is otherwise than before.
  mutating func follow(_ standings: [String: BackendStanding], of known: [String: AppBackend], now: Int) -> Bool {
    var hasChanged = false
    for (app, limit) in backends {
      guard let backend = known[app] else { continue }
      let standing = standings[app].flatMap { $0.isCurrent(now) && $0.isSlowed ? $0 : nil }
      if limit.follow(standing, rate: backend.rate) { hasChanged = true }
    }
    return hasChanged
  }
}
