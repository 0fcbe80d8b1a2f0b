/// Delays between the attempts of a push, and the number of attempts.
public struct RetryPolicy: Sendable, Equatable {
  /// Milliseconds after the first 5xx of a push. A 5xx often comes from a single server. The push is therefore tried
  /// once over another connection before Apple's delay applies. Other senders also retry within seconds. Never longer
  /// than ``serverError``.
  public var firstServerError: Int
  /// Milliseconds after any further 5xx. Apple recommends 15 minutes ("Handling notification responses from APNs").
  public var serverError: Int
  /// Milliseconds after the first 429 of a device token; doubles with every further attempt.
  public var tooManyRequests: Int
  /// Number of attempts of a push, including the first; at least 1.
  public var attempts: Int
  /// Maximum delay in milliseconds, regardless of doubling and a peer's `Retry-After`.
  public var longest: Int
  /// Largest share, 0 to 1, by which jitter lengthens a delay. Without it, a whole fleet would retry at the same
  /// moment.
  public var jitter: Double

  /// Creates an instance with the defaults of the configuration. The longest delay of one hour is longer than Apple's
  /// 15 minutes and shorter than most expirations.
  public init(
    firstServerError: Int = 5_000, serverError: Int = 900_000, tooManyRequests: Int = 2_000, attempts: Int = 5,
    longest: Int = 3_600_000, jitter: Double = 0.1
  ) {
    self.firstServerError = firstServerError
    self.serverError = serverError
    self.tooManyRequests = tooManyRequests
    self.attempts = attempts
    self.longest = longest
    self.jitter = jitter
  }

  /// Returns the milliseconds to wait after a push's first server error.
  ///
  /// - Parameters:
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - chance: random, 0 to 1.
  public func afterFirstServerError(asked: Int = 0, chance: Double) -> Int {
    wait(min(firstServerError, serverError), asked, chance)
  }

  /// Returns the milliseconds to wait after a server error.
  ///
  /// - Parameters:
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - chance: random, 0 to 1.
  public func afterServerError(asked: Int = 0, chance: Double) -> Int {
    wait(serverError, asked, chance)
  }

  /// Returns the milliseconds to wait after an attempt that was one too many for its device (429). The delay doubles
  /// with each attempt.
  ///
  /// - Parameters:
  ///   - attempt: its number, from 1.
  ///   - asked: the delay of the peer's `Retry-After`; the wait is never shorter.
  ///   - chance: random, 0 to 1.
  public func afterTooManyRequests(attempt: Int, asked: Int = 0, chance: Double) -> Int {
    // The shift ends at 20: 2^20 first delays exceed `longest`, and the product can't overflow, because both are at
    // most a day.
    wait(tooManyRequests << max(0, min(attempt - 1, 20)), asked, chance)
  }

  private func wait(_ planned: Int, _ asked: Int, _ chance: Double) -> Int {
    // If `longest` caps the delay, jitter shortens it instead, so that a fleet does not retry at the same moment.
    let latest = min(Double(max(planned, asked)) * (1 + jitter), Double(longest))
    let earliest = latest / (1 + jitter)
    return max(Int((earliest + chance * (latest - earliest)).rounded()), min(asked, longest))
  }
}
