import CommandSupport
import PushCore
import ServiceTools

/// Findings about the rates of apps that share a quota of a push service. Pure.
enum QuotaRules {
  /// Returns a finding for each quota whose apps have different rates. Only the smallest rate has an effect.
  static func findings(_ apps: [String: CarillonConfiguration.App]) -> [DoctorFinding] {
    var shares: [String: [(key: String, rate: Double)]] = [:]
    for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
      for service in app.services {
        guard let rate = service.rate, let quota = service.settings.service.quota else { continue }
        shares[quota.name, default: []].append(("apps.\(name).\(service.tools.service.name).rate", rate))
      }
    }
    return shares.sorted { $0.key < $1.key }.compactMap { quota, shares in
      guard Set(shares.map(\.rate)).count > 1, let least = shares.map(\.rate).min() else { return nil }
      let rates = shares.map { "\($0.key) is \(CampaignRate.format($0.rate))" }.joined(separator: ", ")
      return .advice(
        .configuration, quota,
        "the apps share one quota and have different rates; the lowest, \(CampaignRate.format(least)) per second, applies: "
          + rates, hint: "give all of them the same rate, or set it for one of them only")
    }
  }
}
