/// Limits for opening connections: a minimum time between openings, jitter, and longer pauses after failures.
/// Connections on which the service accepted few pushes allow only few new openings.
///
/// APNs may interpret rapid connecting as an attack and block the sender (Apple, "Sending notification requests to
/// APNs"). All connections of a pool share one budget. The type does no I/O; time and random numbers are arguments.
public struct ReconnectBudget: Sendable, Equatable {
  /// Settings of a budget, in nanoseconds.
  public struct Limits: Sendable, Equatable {
    /// Time between two openings, before jitter. An accepted push on the newest connection ends the wait early.
    public var spacing: UInt64
    /// Pause after the first failure. The pause doubles with each further failure.
    public var firstBackoff: UInt64
    /// Maximum pause after failures.
    public var longestBackoff: UInt64
    /// Number of openings that may follow each other without a wait for `refill`.
    public var burst: Int
    /// Time until one more opening is allowed after a burst.
    public var refill: UInt64

    /// Creates limits. By default, openings are some seconds apart, as Apple's engineers recommend, and in the long run
    /// there are at most twelve per minute. This also limits openings to a server that ends each connection early.
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

  /// Number of accepted pushes that allow one further opening. Some servers and proxies close every connection after a
  /// few hundred requests; with this number, each closed connection is replaced. If a server closes connections
  /// earlier, openings become rare.
  static let acceptedPerOpening = 250

  /// Settings.
  public let limits: Limits
  /// Number of failures since the last answer.
  public private(set) var failures = 0
  /// Number of accepted pushes that were not exchanged for a further opening yet, see ``acceptedPerOpening``.
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

  /// Requests one opening. The decision `.open` reduces the budget by one.
  ///
  /// - Parameters:
  ///   - jitter: random, 0 to 1.
  ///   - isMinor: whether the request may use only half of a burst. This is for the connection for unproven pushes,
  ///     which the service may close often.
  public mutating func request(now: UInt64, jitter: Double, isMinor: Bool = false) -> Decision {
    refill(now)
    if now < nextOpening { return .wait(nextOpening - now) }
    if tokens <= (isMinor ? limits.burst / 2 : 0) { return .wait(refilledAt + limits.refill - now) }
    if tokens == limits.burst { refilledAt = now }
    tokens -= 1
    nextOpening = now + Self.scaled(limits.spacing, 0.5 + jitter)
    return .open
  }

  /// Records that the service accepted a push on a new connection. The next opening does not wait for `spacing`.
  public mutating func established(now: UInt64) {
    failures = 0
    nextOpening = min(nextOpening, now)
  }

  /// Records that a connection has ended after a number of accepted pushes. The budget allows one more opening for
  /// every ``acceptedPerOpening`` of them.
  public mutating func ended(accepted: Int) {
    achieved += accepted
    tokens = min(limits.burst, tokens + achieved / Self.acceptedPerOpening)
    achieved %= Self.acceptedPerOpening
  }

  /// Records that a connection could not be opened, or broke.
  ///
  /// - Parameter jitter: random, 0 to 1; half of the pause is random, so that the workers of a fleet do not reconnect
  ///   at the same moment.
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
