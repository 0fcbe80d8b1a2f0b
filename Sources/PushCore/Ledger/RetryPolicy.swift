/// How long a push waits before it is sent again, and how often.
public struct RetryPolicy: Sendable, Equatable {
  /// Milliseconds after the first 5xx of a push: it is tried once more, over another connection, before Apple's word
  /// holds. Many a 5xx is one server's; other senders retry within seconds. Never longer than ``serverError``.
  public var firstServerError: Int
  /// Milliseconds after any further 5xx. Apple's word is 15 minutes ("Handling notification responses from APNs").
  public var serverError: Int
  /// Milliseconds after the first 429 of a device token; doubles with every further attempt.
  public var tooManyRequests: Int
  /// Attempts that a push gets, the first included; at least 1.
  public var attempts: Int
  /// Milliseconds that any wait lasts at most, whatever doubling and a peer's `Retry-After` come to.
  public var longest: Int
  /// The share of a wait by which chance makes it longer, 0 to 1: without it a whole fleet comes back in one moment.
  public var jitter: Double

  /// Memberwise, with the defaults of the configuration. An hour is longer than Apple's own 15 minutes, and shorter than
  /// what most expirations allow.
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

  /// Milliseconds to wait after the first server error that a push meets.
  ///
  /// - Parameters:
  ///   - asked: what the peer's `Retry-After` asks for; it is waited no shorter than that.
  ///   - chance: random, 0 to 1.
  public func afterFirstServerError(asked: Int = 0, chance: Double) -> Int {
    wait(min(firstServerError, serverError), asked, chance)
  }

  /// Milliseconds to wait after a server error.
  ///
  /// - Parameters:
  ///   - asked: what the peer's `Retry-After` asks for; it is waited no shorter than that.
  ///   - chance: random, 0 to 1.
  public func afterServerError(asked: Int = 0, chance: Double) -> Int {
    wait(serverError, asked, chance)
  }

  /// Milliseconds to wait after the `attempt`-th (from 1) was too many for its device: doubling.
  ///
  /// - Parameters:
  ///   - asked: what the peer's `Retry-After` asks for; it is waited no shorter than that.
  ///   - chance: random, 0 to 1.
  public func afterTooManyRequests(attempt: Int, asked: Int = 0, chance: Double) -> Int {
    // 2^20 first waits are beyond `longest`, and the product can't overflow: both are at most a day.
    wait(tooManyRequests << max(0, min(attempt - 1, 20)), asked, chance)
  }

  private func wait(_ planned: Int, _ asked: Int, _ chance: Double) -> Int {
    // Where `longest` cuts the wait short, chance works below it: there too a fleet must not come back at once.
    let latest = min(Double(max(planned, asked)) * (1 + jitter), Double(longest))
    let earliest = latest / (1 + jitter)
    return max(Int((earliest + chance * (latest - earliest)).rounded()), min(asked, longest))
  }
}
