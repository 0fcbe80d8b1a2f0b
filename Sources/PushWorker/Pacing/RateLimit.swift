import CampaignStore
import PushCore

/// A rate that pushes of this worker are held against: a campaign's own, or that of its app. Confined to the worker's loop.
final class RateLimit {
  let subject: RateSubject
  private(set) var rate: CampaignRate
  /// Whether it holds at all: that of a backend only while that is not well.
  private(set) var isInForce = true
  /// Why it does, where that is not so for good.
  private var cause: String?
  var lease = RateLease()
  /// Pushes a second of the whole fleet, as Redis last said; 0 while it has said nothing.
  private(set) var perSecond: Double
  /// Whether there was less to send at the last look than is enough to have in hand.
  private var isShort = false

  init(_ subject: RateSubject, _ rate: CampaignRate) {
    self.subject = subject
    self.rate = rate
    perSecond = if case .perSecond(let number) = rate { number } else { 0 }
    if case .backend = subject { isInForce = false }
  }

  /// Takes note of how a backend is.
  ///
  /// - Parameters:
  ///   - standing: `nil` while it is well, and where nobody knows.
  ///   - full: pushes a second that it bears when it is well.
  /// - Returns: whether anything is otherwise than before.
  func follow(_ standing: BackendStanding?, rate full: Double) -> Bool {
    guard let standing else {
      defer { isInForce = false }
      // What was lent is not asked back: the bucket forgets it.
      if isInForce { lease = RateLease() }
      return isInForce
    }
    cause = standing.reason
    let next = CampaignRate.perSecond(full * standing.share)
    guard !isInForce || next != rate else { return false }
    if !isInForce { lease = RateLease() }
    (isInForce, rate, perSecond) = (true, next, full * standing.share)
    return true
  }

  /// Notes the answer of Redis, or that there was none.
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
    case (.backend(let name), _):
      "rate: the backend of app \(name) is not well (\(cause ?? "it was just asked")), so its campaigns may have "
        + "\(number) pushes a second"
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
  /// Those that hold now.
  private var inForce: LazyFilterSequence<[RateLimit]> { lazy.filter(\.isInForce) }

  /// Pushes that may be sent now; `.max` for no limit.
  var allowance: Int { inForce.reduce(.max) { Swift.min($0, $1.lease.allowance) } }

  /// Pushes that may be sent in the next quarter of a second, by all workers; `.max` for no limit.
  var soon: Int { inForce.reduce(.max) { Swift.min($0, Swift.max(1, Int(($1.perSecond / 4).rounded(.up)))) } }

  /// The smallest number of targets that are enough to have in hand; `nil` for no limit.
  var ahead: Int? { inForce.map(\.ahead).min() }

  /// What holds pushes up when nothing else does, and since when; the last to have begun, as until then another did.
  var obstacle: (reason: String, since: UInt64)? {
    inForce.compactMap { limit in limit.lease.limitedSince.map { (reason: limit.reason, since: $0) } }
      .max { $0.since < $1.since }
  }
}
