internal import Synchronization

/// How many pushes each device token gets; 429 `TooManyRequests` is about one token, never about the sender. Shared by
/// all event loops.
final class TokenRates: Sendable {
  private struct Bucket {
    var left: Double
    var at: UInt64
  }

  /// Tokens remembered; beyond it all are forgotten. A bench that limits single tokens pushes to few of them.
  private static let mostTokens = 1_000_000
  private let buckets = Mutex<[[UInt8]: Bucket]>([:])

  /// Whether one more push may go to a token.
  ///
  /// - Parameters:
  ///   - token: in lower-case hex.
  ///   - burst: pushes that a token may get at once.
  ///   - refill: milliseconds in which it may get one more.
  ///   - now: milliseconds by any monotonic clock.
  func take(_ token: [UInt8], burst: Int, refill: Int, now: UInt64) -> Bool {
    buckets.withLock { buckets in
      if buckets.count >= Self.mostTokens { buckets.removeAll() }
      var bucket = buckets[token] ?? Bucket(left: Double(burst), at: now)
      bucket.left = min(Double(burst), bucket.left + Double(now - bucket.at) / Double(max(refill, 1)))
      bucket.at = now
      let isAllowed = bucket.left >= 1
      if isAllowed { bucket.left -= 1 }
      buckets[token] = bucket
      return isAllowed
    }
  }

  func removeAll() { buckets.withLock { $0.removeAll() } }
}
