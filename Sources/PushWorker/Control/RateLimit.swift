import CampaignStore
import PushCore

/// A rate that pushes of this worker are held against: a campaign's own, or that of its app. Confined to the worker's loop.
final class RateLimit {
  let subject: RateSubject
  /// Pushes a second, of the whole fleet.
  let perSecond: Double
  var lease = RateLease()
  /// Whether there was less to send at the last look than is enough to have in hand.
  private var isShort = false

  init(_ subject: RateSubject, perSecond: Double) {
    self.subject = subject
    self.perSecond = perSecond
  }

  /// For people: what holds a campaign up.
  var reason: String {
    let rate = CampaignRate.format(perSecond)
    return switch subject {
    case .campaign: "rate: it may have \(rate) pushes a second, by its job"
    case .app(let name): "rate: all campaigns of app \(name) may have \(rate) pushes a second, by apps.\(name).rate"
    }
  }

  /// Whether there is less to send from now on than is enough to have in hand.
  func runsShort(of wanted: Int) -> Bool {
    defer { isShort = wanted < ahead }
    return wanted < ahead && !isShort
  }

  /// Targets that are enough to have in hand: what the whole fleet may send while further slices are prepared.
  var ahead: Int { max(2, Int((2 * perSecond).rounded(.up))) }
}

/// The limits of a campaign; most have none.
extension [RateLimit] {
  /// Pushes that may be sent now; `.max` for no limit.
  var allowance: Int { reduce(.max) { Swift.min($0, $1.lease.allowance) } }

  /// The smallest number of targets that are enough to have in hand; `nil` for no limit.
  var ahead: Int? { lazy.map(\.ahead).min() }

  /// What holds pushes up when nothing else does, and since when; the last to have begun, as until then another did.
  var obstacle: (reason: String, since: UInt64)? {
    lazy.compactMap { limit in limit.lease.limitedSince.map { (reason: limit.reason, since: $0) } }
      .max { $0.since < $1.since }
  }
}
