import CampaignStore
import PushCore

/// The rates of apps, of their backends and of shared quotas, created with the first campaign of an app. Confined to
/// the worker's loop, like the limits in it.
struct RateTable {
  /// The rates of apps at a push service, by app and push service.
  private var apps: [RateSubject: RateLimit] = [:]
  /// The rates of backends, by the app's name. In force only while the backend is unhealthy.
  private var backends: [String: RateLimit] = [:]
  /// The rates of quotas, by name.
  private(set) var quotas: [String: RateLimit] = [:]
  /// The smallest configured rate of the apps that share a quota, by the name of the quota.
  private let configured: [String: Double]

  /// - Parameter apps: the apps of this worker.
  init(_ apps: [String: AppChannel]) {
    configured = apps.values.flatMap(\.services).reduce(into: [:]) { rates, channel in
      guard let quota = channel.service.quota, let rate = channel.rate else { return }
      rates[quota.name] = min(rates[quota.name] ?? rate, rate)
    }
  }

  /// Returns the rates that limit a campaign: its own rate, the rate of its app's backend, and the rate of its
  /// service's quota. If the service has no quota, the rate of the app takes the place of the quota.
  mutating func limits(of campaign: Campaign, _ app: AppChannel, _ channel: ServiceChannel) -> [RateLimit] {
    var limits: [RateLimit] = []
    if let rate = campaign.delivery.rate { limits.append(RateLimit(.campaign(Self.subject(campaign, rate)), rate)) }
    if var quota = channel.service.quota {
      quota.perSecond = configured[quota.name] ?? quota.perSecond
      let limit = quotas[quota.name] ?? RateLimit(.quota(quota), .perSecond(quota.perSecond))
      quotas[quota.name] = limit
      limits.append(limit)
    } else if let rate = channel.rate {
      let subject = RateSubject.app(campaign.app, service: channel.service.name)
      let limit = apps[subject] ?? RateLimit(subject, .perSecond(rate))
      apps[subject] = limit
      limits.append(limit)
    }
    if let backend = app.backend, campaign.followsBackendHealth {
      let limit = backends[campaign.app] ?? RateLimit(.backend(campaign.app), .perSecond(backend.rate))
      backends[campaign.app] = limit
      limits.append(limit)
    }
    return limits
  }

  /// Returns the id whose token bucket limits a campaign. With a rate per second, the legs of a stage share one bucket.
  /// If the rate follows from a duration or an end, each leg has its own bucket, because each leg sends its own targets
  /// in that time.
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
  mutating func follow(_ statuses: [String: BackendStatus], of known: [String: AppBackend], now: Int) -> Bool {
    var hasChanged = false
    for (app, limit) in backends {
      guard let backend = known[app] else { continue }
      let status = statuses[app].flatMap { $0.isCurrent(now) && $0.isSlowed ? $0 : nil }
      if limit.follow(status, rate: backend.rate) { hasChanged = true }
    }
    return hasChanged
  }
}
