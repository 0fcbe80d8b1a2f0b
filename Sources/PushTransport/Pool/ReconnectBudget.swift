/// When connections may be opened: spaced, jittered, ever more slowly while they fail, and never many for little.
///
/// APNs may take rapid connecting for an attack and block the sender (Apple, "Sending notification requests to APNs").
/// One budget serves all connections of a pool. Pure: time and chance are arguments.
public struct ReconnectBudget: Sendable, Equatable {
  /// The numbers of a budget, in nanoseconds.
  public struct Limits: Sendable, Equatable {
    /// Between two openings, before jitter; an answer on the newest connection ends it early.
    public var spacing: UInt64
    /// After the first failure; doubles with each further one.
    public var firstBackoff: UInt64
    /// The longest pause after failures.
    public var longestBackoff: UInt64
    /// Openings that may follow each other as fast as answers allow.
    public var burst: Int
    /// How long until one opening more is allowed after a burst.
    public var refill: UInt64

    /// Defaults: some seconds apart as Apple's engineers advise, and in the long run no more than twelve a minute,
    /// so that even a server that ends each connection early is not flooded with them.
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

  /// Whether a connection may be opened.
  public enum Decision: Sendable, Equatable {
    case open
    /// Ask again in this many nanoseconds.
    case wait(UInt64)
  }

  /// So many accepted pushes earn one opening: a server, or a proxy, that ends every connection in order after some
  /// hundred requests is to be followed; one that ends them early is to be left in peace.
  static let acceptedPerOpening = 250

  /// The numbers in force.
  public let limits: Limits
  /// Failures since the last answer.
  public private(set) var failures = 0
  /// Accepted pushes that have not earned an opening yet.
  private var achieved = 0
  private var nextOpening: UInt64 = 0
  private var tokens: Int
  private var refilledAt: UInt64

  /// - Parameters:
  ///   - limits: the numbers.
  ///   - now: monotonic nanoseconds, as in every other call.
  public init(limits: Limits = Limits(), now: UInt64) {
    self.limits = limits
    tokens = limits.burst
    refilledAt = now
  }

  /// Asks for one opening; `.open` spends it.
  ///
  /// - Parameters:
  ///   - jitter: random, 0 to 1.
  ///   - isMinor: whether it must leave half of a burst to others: of a connection that rejections may end often.
  public mutating func request(now: UInt64, jitter: Double, isMinor: Bool = false) -> Decision {
    refill(now)
    if now < nextOpening { return .wait(nextOpening - now) }
    if tokens <= (isMinor ? limits.burst / 2 : 0) { return .wait(refilledAt + limits.refill - now) }
    if tokens == limits.burst { refilledAt = now }
    tokens -= 1
    nextOpening = now + Self.scaled(limits.spacing, 0.5 + jitter)
    return .open
  }

  /// The service accepted a push on a new connection: the next one need not wait for the spacing.
  public mutating func established(now: UInt64) {
    failures = 0
    nextOpening = min(nextOpening, now)
  }

  /// A connection has ended, after so many accepted pushes: they pay for its successor.
  public mutating func ended(accepted: Int) {
    achieved += accepted
    tokens = min(limits.burst, tokens + achieved / Self.acceptedPerOpening)
    achieved %= Self.acceptedPerOpening
  }

  /// A connection could not be opened, or broke.
  ///
  /// - Parameter jitter: random, 0 to 1; half of the pause is chance, so that a fleet doesn't return in one moment.
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
