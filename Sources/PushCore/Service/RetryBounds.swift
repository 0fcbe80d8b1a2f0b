/// Bounds of a push service for retries. They take precedence over the configured delays (``RetryPolicy``). Durations
/// are in milliseconds.
///
/// The defaults bound nothing. APNs uses the defaults.
public struct RetryBounds: Sendable, Equatable {
  /// Minimum delay of every retry after an answer, even if a `Retry-After` asks for less.
  public var minimumDelay = 0
  /// Minimum delay after a 429 without `Retry-After`.
  public var minimumAfterTooManyRequests = 0
  /// Minimum delay after an attempt without an answer, whose push may have been delivered. With 0, the push is sent
  /// again immediately if it was the first attempt.
  public var minimumAfterDoubt = 0
  /// Maximum delay, even if a `Retry-After` asks for more; `nil` for no bound except ``RetryPolicy/longest``.
  public var maximumDelay: Int?
  /// Factor by which the delay after a server error grows with each attempt, from ``RetryPolicy/firstServerError`` up
  /// to ``RetryPolicy/serverError``. `nil`: all delays after the first one are ``RetryPolicy/serverError``.
  public var serverErrorFactor: Int?
  /// Maximum time from the first attempt to the last. It replaces ``RetryPolicy/attempts``. `nil`: the number of
  /// attempts is the limit.
  ///
  /// The time is the sum of the delays, each rounded to a sixtieth of the maximum, because the ledger does not contain
  /// the time of the first attempt (``RetryPolicy/counted(after:)``). Time in which a push waits for a connection or
  /// for its rate does not count.
  public var maximumTime: Int?

  /// Creates bounds that bound nothing.
  public init() {}
}
