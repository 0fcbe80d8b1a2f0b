/// How many pushes may be on their way on one connection at once. Pure: time is an argument.
///
/// Starts at one, as APNs asks of a connection with a provider token (Apple, "Establishing a token-based connection to
/// APNs"), and doubles per round trip until something speaks against it; from there on it grows by a sixteenth.
/// What speaks against it makes it smaller at most once per round trip: pushes that were under way before the last cut
/// tell nothing new. A round is as many answers as the window is wide.
public struct CongestionWindow: Sendable, Equatable {
  /// What an answer, or its absence, says about the connection.
  public enum Signal: Sendable, Equatable {
    /// 200.
    case accepted
    /// A rejection that concerns the push alone.
    case rejected
    /// 429: one concerns a single device, many mean that APNs has had enough.
    case throttled
    /// 5xx: the server is in trouble.
    case busy
    /// No answer: refused, reset, timed out.
    case failed
  }

  /// The width never exceeds this.
  public let maximum: Int
  /// Pushes that may be on their way now.
  public private(set) var limit = 1
  /// Up to here the window doubles per round.
  private var threshold: Int
  private var lastCut: UInt64?
  private var acceptedInRound = 0
  /// Share of 429 among recent answers.
  private var throttledShare = 0.0
  private var latency = LatencyGauge()

  /// Of recent answers, how many 429 are a storm; a few in a hundred are devices that got too much.
  private static let stormShare = 0.25
  /// One answer's weight in the share: a storm shows after some twenty answers.
  private static let shareWeight = 1.0 / 64

  /// A new connection doubles at least up to here, however the last one ended.
  private static let leastThreshold = 16

  /// - Parameter maximum: at least 1.
  public init(maximum: Int) {
    self.maximum = max(1, maximum)
    threshold = self.maximum
  }

  /// Takes note of what became of one push.
  ///
  /// - Parameters:
  ///   - startedAt: when it was handed to the connection, in monotonic nanoseconds.
  ///   - now: when its end was seen.
  public mutating func note(_ signal: Signal, startedAt: UInt64, now: UInt64) {
    if signal != .failed { throttledShare += ((signal == .throttled ? 1 : 0) - throttledShare) * Self.shareWeight }
    switch signal {
    case .accepted:
      if latency.record(now &- startedAt, width: limit) == .rising { return cut(to: limit * 3 / 4, startedAt, now) }
      grow()
    case .rejected: break
    case .throttled:
      guard throttledShare > Self.stormShare else { return }
      throttledShare = 0
      cut(to: limit / 2, startedAt, now)
    case .busy, .failed: cut(to: limit / 2, startedAt, now)
    }
  }

  /// A new connection: one push again until it is accepted, then quickly back to what the last one carried.
  public mutating func reset() {
    threshold = limit > 1 ? limit : max(threshold, Self.leastThreshold)
    limit = 1
    lastCut = nil
    acceptedInRound = 0
    throttledShare = 0
    latency = LatencyGauge()
  }

  private mutating func grow() {
    guard limit < maximum, latency.trend == .flat else { return }
    if limit < threshold {
      limit += 1
      return
    }
    acceptedInRound += 1
    guard acceptedInRound >= limit else { return }
    acceptedInRound = 0
    limit = min(limit + max(1, limit / 16), maximum)
  }

  private mutating func cut(to smaller: Int, _ startedAt: UInt64, _ now: UInt64) {
    if let lastCut, startedAt <= lastCut { return }
    lastCut = now
    limit = max(1, smaller)
    threshold = limit
    acceptedInRound = 0
  }
}

/// Whether answers take longer than they did when the connection was least loaded. Pure.
///
/// Coarse on purpose: it keeps a connection from drowning, and leaves the finer gradient to be put in its place.
struct LatencyGauge: Sendable, Equatable {
  enum Trend: Sendable, Equatable {
    case flat
    /// Noticeably longer: no reason to grow.
    case raised
    /// So much longer that pushes only wait for each other.
    case rising
  }

  /// What the mean of a round may exceed the best round by, in nanoseconds: scheduling and batching alone do that much.
  private static let tolerance: UInt64 = 50_000_000
  private static let alarm: UInt64 = 250_000_000

  private(set) var trend = Trend.flat
  private var best: UInt64?
  private var sum: UInt64 = 0
  private var count = 0
  private var size = 0

  /// Adds one latency in nanoseconds; at the end of a round, gives the new trend.
  ///
  /// - Parameter width: of the window now; its value at the beginning of a round is the size of that round.
  mutating func record(_ latency: UInt64, width: Int) -> Trend? {
    if count == 0 { size = width }
    sum += latency
    count += 1
    guard count >= size else { return nil }
    let mean = sum / UInt64(count)
    sum = 0
    count = 0
    // The best ages by a hundredth a round, so that a longer way to APNs is taken for granted after a while.
    let best = min(mean, best.map { $0 + $0 / 100 } ?? mean)
    self.best = best
    trend = mean > 4 * best + Self.alarm ? .rising : mean > 2 * best + Self.tolerance ? .raised : .flat
    return trend
  }
}
