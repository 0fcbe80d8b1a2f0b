/// How long a push waits before it is sent again, and how often.
public struct RetryPolicy: Sendable, Equatable {
  /// Milliseconds after a 5xx. Apple's word is 15 minutes ("Handling notification responses from APNs").
  public var serverError: Int
  /// Milliseconds after the first 429 of a device token; doubles with every further attempt.
  public var tooManyRequests: Int
  /// Attempts that a push gets, the first included; at least 1.
  public var attempts: Int

  /// The longest wait, so that doubling and a peer's `Retry-After` stay within an hour: longer than Apple's own
  /// 15 minutes, shorter than what most expirations allow.
  public static let longest = 3_600_000

  /// Memberwise, with the defaults of the configuration.
  public init(serverError: Int = 900_000, tooManyRequests: Int = 2_000, attempts: Int = 5) {
    self.serverError = serverError
    self.tooManyRequests = tooManyRequests
    self.attempts = attempts
  }

  /// Milliseconds to wait after a server error: ``serverError`` and up to a tenth more.
  ///
  /// - Parameter jitter: random, 0 to 1; without it the whole fleet would come back in the same moment.
  public func afterServerError(jitter: Double) -> Int {
    Self.bounded(Double(serverError) * (1 + jitter / 10))
  }

  /// Milliseconds to wait after the `attempt`-th (from 1) was too many for its device: doubling, and up to half more.
  public func afterTooManyRequests(attempt: Int, jitter: Double) -> Int {
    // 2^20 s is beyond `longest` for any sensible first delay, and the shift can't overflow.
    Self.bounded(Double(tooManyRequests) * Double(1 << max(0, min(attempt - 1, 20))) * (1 + jitter / 2))
  }

  private static func bounded(_ milliseconds: Double) -> Int { Int(min(milliseconds, Double(longest))) }
}
