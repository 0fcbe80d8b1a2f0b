import CampaignStore
import PushCore

/// A rate that limits the pushes of all workers, with the permits that this worker holds. The rate belongs to a
/// campaign, an app, the backend of an app, or a quota that apps share. Confined to the worker's loop.
final class RateLimit {
  let subject: RateSubject
  private(set) var rate: CampaignRate
  /// Whether the rate applies. The rate of a backend applies only while the backend is unhealthy.
  private(set) var isInForce = true
  /// The reason for a temporary rate.
  private var cause: String?
  var lease = RateLease()
  /// Pushes per second of the whole fleet: the given rate, or the last value from Redis; 0 while unknown.
  private(set) var perSecond: Double
  /// The pushes that a quota refused.
  private(set) var quotaMonitor = QuotaMonitor()
  /// Whether the last call of ``runsShort(of:)`` found fewer targets than the worker needs to hold.
  private var isShort = false

  init(_ subject: RateSubject, _ rate: CampaignRate) {
    self.subject = subject
    self.rate = rate
    perSecond = if case .perSecond(let number) = rate { number } else { 0 }
    if case .backend = subject { isInForce = false }
  }

  /// Adapts the rate to the health of a backend.
  ///
  /// - Parameters:
  ///   - status: The state of the backend; `nil` if it is healthy or its health is unknown.
  ///   - full: Pushes per second that the healthy backend can handle.
  /// - Returns: Whether the rate has changed.
  func follow(_ status: BackendStatus?, rate full: Double) -> Bool {
    guard let status else {
      defer { isInForce = false }
      // Unused permits are not returned, because the bucket drops them.
      if isInForce { lease = RateLease() }
      return isInForce
    }
    cause = status.reason
    let next = CampaignRate.perSecond(full * status.share)
    guard !isInForce || next != rate else { return false }
    if !isInForce { lease = RateLease() }
    (isInForce, rate, perSecond) = (true, next, full * status.share)
    return true
  }

  /// Records that a push exceeded the quota.
  ///
  /// - Parameter perMinute: limit in pushes per minute that the service named; `nil` if it named none.
  /// - Returns: the report to send to the fleet now; `nil` for none.
  func record(exceeded perMinute: Int?, now: UInt64) -> QuotaReport? {
    quotaMonitor.record(limit: perMinute, sent: lease.total, now: now)
  }

  /// Returns whether a report of this quota is logged now.
  func shouldLogReport(_ now: UInt64) -> Bool { quotaMonitor.shouldLog(now) }

  /// Applies the answer of Redis; `nil` for none.
  func take(_ answer: RateAnswer?, now: UInt64) {
    lease.take(answer, now: now)
    if let answer, answer.perSecond > 0 { perSecond = answer.perSecond }
  }

  /// Text about the rate that delays a campaign, for operators.
  var reason: String {
    let number = CampaignRate.format(perSecond)
    return switch (subject, rate) {
    case (.app(let name, let service), _):
      "rate: all campaigns of app \(name) are limited to \(number) pushes per second by apps.\(name).\(service).rate"
    case (.backend(let name), _):
      "rate: the backend of app \(name) is unhealthy (\(cause ?? "just checked")), so its campaigns are limited to "
        + "\(number) pushes per second"
    case (.quota(let quota), _):
      "rate: the quota \(quota.name) at present limits its apps to \(number) pushes per second together"
    case (.campaign, .perSecond): "rate: its job limits it to \(number) pushes per second"
    case (.campaign, .over(let seconds)):
      "rate: its job spreads its pushes over \(DurationText.format(milliseconds: seconds * 1000))"
    case (.campaign, .until(let milliseconds)):
      "rate: its job spreads its pushes until \(Timestamp.format(milliseconds: milliseconds))"
    }
  }

  /// Returns whether the number of targets to send has just fallen below ``ahead``.
  func runsShort(of wanted: Int) -> Bool {
    defer { isShort = wanted < ahead }
    return wanted < ahead && !isShort
  }

  /// Returns the reason for operators, and the start of the wait, if the service refuses almost every push because of
  /// the quota. Otherwise returns `nil`.
  func refusal(now: UInt64) -> (reason: String, since: UInt64)? {
    guard case .quota(let quota) = subject, let since = quotaMonitor.refusal(sent: lease.total, now: now) else {
      return nil
    }
    return (
      "quota: the push service refuses almost every push, because the quota \(quota.name) is used up; the worker sends "
        + "these pushes again", since
    )
  }

  /// Number of targets that the worker needs to hold: as many as the whole fleet may send in 2 s. In this time, the
  /// worker can prepare further slices.
  var ahead: Int { max(2, Int((2 * perSecond).rounded(.up))) }
}

/// The limits of a campaign; empty for most campaigns.
extension [RateLimit] {
  /// The limits that apply now.
  private var inForce: LazyFilterSequence<[RateLimit]> { lazy.filter(\.isInForce) }

  /// Permits that may be used now; `.max` for no limit.
  var allowance: Int { inForce.reduce(.max) { Swift.min($0, $1.lease.allowance) } }

  /// Pushes that all workers may send in the next quarter of a second; `.max` for no limit.
  var soon: Int { inForce.reduce(.max) { Swift.min($0, Swift.max(1, Int(($1.perSecond / 4).rounded(.up)))) } }

  /// Number of targets that the worker needs to hold: the smallest ``RateLimit/ahead`` of all limits; `nil` for no
  /// limit.
  var ahead: Int? { inForce.map(\.ahead).min() }

  /// Whether a rate delays pushes.
  var delaysPushes: Bool { contains { $0.isInForce && $0.lease.limitedSince != nil } }

  /// The rate that delays pushes, and since when. If several rates delay the pushes, the rate with the latest time
  /// counts.
  var obstacle: (reason: String, since: UInt64)? {
    inForce.compactMap { limit in limit.lease.limitedSince.map { (reason: limit.reason, since: $0) } }
      .max { $0.since < $1.since }
  }
}
