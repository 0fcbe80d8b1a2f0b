import CampaignStore
import PushCore

/// The rates of apps and of their backends, created with the first campaign of an app. Confined to the worker's loop,
/// like the limits in it.
struct RateTable {
  /// The rates of apps at a push service, by ``ServiceRate``.
  private var apps: [RateSubject: RateLimit] = [:]
  /// The rates of backends, by the app's name. In force only while the backend is unhealthy.
  private var backends: [String: RateLimit] = [:]

  /// Returns the rates that limit a campaign: its own, its app's, and its app's backend's.
  mutating func limits(of campaign: Campaign, _ app: AppChannel, _ channel: ServiceChannel) -> [RateLimit] {
    var limits: [RateLimit] = []
    if let rate = campaign.delivery.rate { limits.append(RateLimit(.campaign(Self.subject(campaign, rate)), rate)) }
    if let rate = channel.rate {
      let subject = RateSubject.app(campaign.app, service: channel.service.name)
      let limit = apps[subject] ?? RateLimit(subject, .perSecond(rate))
      apps[subject] = limit
      limits.append(limit)
    }
    if let backend = app.backend, campaign.heedsBackend {
      let limit = backends[campaign.app] ?? RateLimit(.backend(campaign.app), .perSecond(backend.rate))
      backends[campaign.app] = limit
      limits.append(limit)
    }
    return limits
  }

  /// Returns the id whose token bucket limits a campaign. The legs of a stage share one bucket. If the rate follows from a
  /// time, each leg sends its own targets in that time.
  private static func subject(_ campaign: Campaign, _ rate: CampaignRate) -> String {
    guard case .perSecond = rate else { return campaign.id }
    return campaign.expandedTogether.first ?? campaign.id
  }

  /// Adapts the rates to the health of the backends.
  ///
  /// - Parameters:
  ///   - known: The backends of apps.
  ///   - now: In ms since the epoch by Redis' clock.
  /// - Returns: Whether a rate has changed.
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
