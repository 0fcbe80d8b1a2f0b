internal import Synchronization

/// Limits the rate of pushes to each device token. 429 `TooManyRequests` concerns one token, never the sender. Shared
/// by all event loops.
final class TokenRates: Sendable {
  private struct Bucket {
    var left: Double
    var at: UInt64
  }

  /// Maximum number of stored tokens. At this number, the simulator removes all of them. The number is sufficient,
  /// because a test with this limit uses few tokens.
  private static let maximumTokens = 1_000_000
  private let buckets = Mutex<[[UInt8]: Bucket]>([:])

  /// Returns whether a token may get one more push, and counts it.
  ///
  /// - Parameters:
  ///   - token: in lower-case hex.
  ///   - burst: pushes that a token may get at the same time.
  ///   - refill: milliseconds after which a token may get one more push.
  ///   - now: milliseconds on any monotonic clock.
  func take(_ token: [UInt8], burst: Int, refill: Int, now: UInt64) -> Bool {
    buckets.withLock { buckets in
      if buckets.count >= Self.maximumTokens { buckets.removeAll() }
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
