import CampaignStore
import PushCore

/// A rate that pushes of this worker are held against: a campaign's own, or that of its app. Confined to the worker's loop.
final class RateLimit {
  let subject: RateSubject
  let rate: CampaignRate
  var lease = RateLease()
  /// Pushes a second of the whole fleet, as control last said; 0 while it has said nothing.
  private(set) var perSecond: Double
  /// Whether there was less to send at the last look than is enough to have in hand.
  private var isShort = false

  init(_ subject: RateSubject, _ rate: CampaignRate) {
    self.subject = subject
    self.rate = rate
    perSecond = if case .perSecond(let number) = rate { number } else { 0 }
  }

  /// Takes note of control's answer, or that there was none.
  func take(_ answer: RateAnswer?, now: UInt64) {
    lease.take(answer, now: now)
    if let answer, answer.perSecond > 0 { perSecond = answer.perSecond }
  }

  /// For people: what holds a campaign up.
  var reason: String {
    let number = CampaignRate.format(perSecond)
    return switch (subject, rate) {
    case (.app(let name), _):
      "rate: all campaigns of app \(name) may have \(number) pushes a second, by apps.\(name).rate"
    case (.campaign, .perSecond): "rate: it may have \(number) pushes a second, by its job"
    case (.campaign, .over(let seconds)):
      "rate: its job spreads its pushes over \(DurationText.format(milliseconds: seconds * 1000))"
    case (.campaign, .until(let milliseconds)):
      "rate: its job has time until \(Timestamp.format(milliseconds: milliseconds))"
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

  /// Pushes that may be sent in the next quarter of a second, by all workers; `.max` for no limit.
  var soon: Int { reduce(.max) { Swift.min($0, Swift.max(1, Int(($1.perSecond / 4).rounded(.up)))) } }

  /// The smallest number of targets that are enough to have in hand; `nil` for no limit.
  var ahead: Int? { lazy.map(\.ahead).min() }

  /// What holds pushes up when nothing else does, and since when; the last to have begun, as until then another did.
  var obstacle: (reason: String, since: UInt64)? {
    lazy.compactMap { limit in limit.lease.limitedSince.map { (reason: limit.reason, since: $0) } }
      .max { $0.since < $1.since }
  }
}
