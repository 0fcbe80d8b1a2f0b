/// Pauses between attempts: exponential backoff with full jitter, so that not all workers reconnect at the same moment.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
public struct Backoff: Sendable {
  /// Maximum pause before the first retry.
  public var base: Duration
  /// Maximum of all pauses.
  public var cap: Duration

  /// - Parameters:
  ///   - base: the maximum pause before the first retry.
  ///   - cap: the maximum of all pauses; at least `base`.
  public init(base: Duration = .milliseconds(50), cap: Duration = .seconds(5)) {
    self.base = base
    self.cap = max(base, cap)
  }

  /// Returns the maximum pause before retry number `attempt`, which counts from 0: `base · 2^attempt`, at most `cap`.
  public func ceiling(attempt: Int) -> Duration {
    // Step-by-step doubling stops at the cap, so nothing can overflow.
    var ceiling = base
    for _ in 0..<attempt where ceiling < cap { ceiling *= 2 }
    return min(ceiling, cap)
  }

  /// Returns a random pause between zero and the maximum, uniformly distributed.
  public func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    let nanoseconds = ceiling(attempt: attempt).wholeNanoseconds
    return .nanoseconds(Int64.random(in: 0...Int64(clamping: nanoseconds), using: &generator))
  }
}

extension Duration {
  /// Duration in nanoseconds; 0 for negative durations, and at most 292 years.
  var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let limit = Int64.max / 1_000_000_000 - 1
    return UInt64(min(seconds, limit)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
