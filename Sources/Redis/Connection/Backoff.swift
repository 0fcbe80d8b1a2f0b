/// How long to wait before trying again: exponential with full jitter, so that a fleet does not come back at once.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
public struct Backoff: Sendable {
  /// The longest wait before the first repetition.
  public var base: Duration
  /// The longest wait ever.
  public var cap: Duration

  /// - Parameters:
  ///   - base: the longest wait before the first repetition.
  ///   - cap: the longest wait ever; at least `base`.
  public init(base: Duration = .milliseconds(50), cap: Duration = .seconds(5)) {
    self.base = base
    self.cap = max(base, cap)
  }

  /// The longest wait before repetition number `attempt`, which counts from 0: `base · 2^attempt`, at most `cap`.
  public func ceiling(attempt: Int) -> Duration {
    // Doubling step by step ends at the cap before anything can overflow.
    var ceiling = base
    for _ in 0..<attempt where ceiling < cap { ceiling *= 2 }
    return min(ceiling, cap)
  }

  /// A wait between zero and the ceiling, each as likely.
  public func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    let nanoseconds = ceiling(attempt: attempt).wholeNanoseconds
    return .nanoseconds(Int64.random(in: 0...Int64(clamping: nanoseconds), using: &generator))
  }
}

extension Duration {
  /// In nanoseconds; 0 for negative durations, and no more than 292 years.
  var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let limit = Int64.max / 1_000_000_000 - 1
    return UInt64(min(seconds, limit)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
