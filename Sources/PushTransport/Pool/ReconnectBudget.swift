/// Limits for opening connections: with a minimum spacing and jitter, with longer pauses after failures, and few
/// openings for little success.
///
/// APNs may interpret rapid connecting as an attack and block the sender (Apple, "Sending notification requests to
/// APNs"). All connections of a pool share one budget. Pure: time and chance are arguments.
public struct ReconnectBudget: Sendable, Equatable {
  /// Settings of a budget, in nanoseconds.
  public struct Limits: Sendable, Equatable {
    /// Time between two openings, before jitter. An answer on the newest connection ends it early.
    public var spacing: UInt64
    /// Pause after the first failure; doubles with each further one.
    public var firstBackoff: UInt64
    /// Maximum pause after failures.
    public var longestBackoff: UInt64
    /// Number of openings that may follow each other as fast as answers allow.
    public var burst: Int
    /// Time until one more opening is allowed after a burst.
    public var refill: UInt64

    /// Memberwise, with defaults: openings some seconds apart, as Apple's engineers recommend, and at most twelve per
    /// minute in the long run. So a server that ends each connection early does not get too many of them.
    public init(
      spacing: UInt64 = 2_000_000_000, firstBackoff: UInt64 = 1_000_000_000, longestBackoff: UInt64 = 60_000_000_000,
      burst: Int = 8, refill: UInt64 = 5_000_000_000
    ) {
      self.spacing = spacing
      self.firstBackoff = firstBackoff
      self.longestBackoff = longestBackoff
      self.burst = burst
      self.refill = refill
    }
  }

  /// Decision about opening a connection.
  public enum Decision: Sendable, Equatable {
    case open
    /// Ask again after this number of nanoseconds.
    case wait(UInt64)
  }

  /// Number of accepted pushes that earn one opening. If a server or proxy ends every connection in order after some
  /// hundred requests, a new one is opened each time. If it ends them earlier, openings become rare.
  static let acceptedPerOpening = 250

  /// Settings in force.
  public let limits: Limits
  /// Number of failures since the last answer.
  public private(set) var failures = 0
  /// Number of accepted pushes that have not earned an opening yet.
  private var achieved = 0
  private var nextOpening: UInt64 = 0
  private var tokens: Int
  private var refilledAt: UInt64

  /// - Parameters:
  ///   - limits: the settings.
  ///   - now: monotonic nanoseconds, as in every other call.
  public init(limits: Limits = Limits(), now: UInt64) {
    self.limits = limits
    tokens = limits.burst
    refilledAt = now
  }

  /// Requests one opening; `.open` uses it up.
  ///
  /// - Parameters:
  ///   - jitter: random, 0 to 1.
  ///   - isMinor: whether the request must leave half of a burst to others. Used for the connection that rejections may
  ///     end often.
  public mutating func request(now: UInt64, jitter: Double, isMinor: Bool = false) -> Decision {
    refill(now)
    if now < nextOpening { return .wait(nextOpening - now) }
    if tokens <= (isMinor ? limits.burst / 2 : 0) { return .wait(refilledAt + limits.refill - now) }
    if tokens == limits.burst { refilledAt = now }
    tokens -= 1
    nextOpening = now + Self.scaled(limits.spacing, 0.5 + jitter)
    return .open
  }

  /// Records that the service accepted a push on a new connection. The next opening need not wait for the spacing.
  public mutating func established(now: UInt64) {
    failures = 0
    nextOpening = min(nextOpening, now)
  }

  /// Records that a connection has ended after a number of accepted pushes, which may earn the opening of its
  /// successor.
  public mutating func ended(accepted: Int) {
    achieved += accepted
    tokens = min(limits.burst, tokens + achieved / Self.acceptedPerOpening)
    achieved %= Self.acceptedPerOpening
  }

  /// Records that a connection could not be opened, or broke.
  ///
  /// - Parameter jitter: random, 0 to 1; half of the pause is random, so that a fleet does not return at the same
  ///   moment.
  public mutating func failed(now: UInt64, jitter: Double) {
    let doublings = min(failures, 16)
    let pause = min(limits.firstBackoff << UInt64(doublings), limits.longestBackoff)
    failures += 1
    nextOpening = max(nextOpening, now + Self.scaled(pause, 0.5 + jitter / 2))
  }

  private mutating func refill(_ now: UInt64) {
    guard tokens < limits.burst, now > refilledAt, limits.refill > 0 else { return }
    let earned = (now - refilledAt) / limits.refill
    tokens = min(limits.burst, tokens + Int(min(earned, UInt64(limits.burst))))
    refilledAt += earned * limits.refill
  }

  private static func scaled(_ time: UInt64, _ factor: Double) -> UInt64 { UInt64(Double(time) * factor) }
}
