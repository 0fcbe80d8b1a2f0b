/// Bounds of a push service for retries. The bounds take precedence over the configured delays (``RetryPolicy``).
/// Durations are in milliseconds.
///
/// The defaults set no bounds. APNs uses the defaults.
public struct RetryBounds: Sendable, Equatable {
  /// Minimum delay of every retry after an answer, even if a `Retry-After` asks for less.
  public var minimumDelay = 0
  /// Minimum delay after an answer with status 429 and no `Retry-After` header.
  public var minimumAfterTooManyRequests = 0
  /// Minimum delay after an attempt without an answer. With 0, the push is sent again immediately after its first
  /// attempt.
  public var minimumAfterDoubt = 0
  /// Maximum delay, even if a `Retry-After` asks for more; `nil` for no bound except ``RetryPolicy/longest``.
  public var maximumDelay: Int?
  /// Factor by which the delay after a server error grows with each attempt, from ``RetryPolicy/firstServerError`` up
  /// to ``RetryPolicy/serverError``. If it is `nil`, all delays after the first delay are ``RetryPolicy/serverError``.
  public var serverErrorFactor: Int?
  /// Maximum time from the first attempt to the last. This limit replaces the limit for the number of attempts
  /// (``RetryPolicy/attempts``). `nil` for no limit of the time.
  ///
  /// The ledger does not contain the time of the first attempt, so the time is calculated as the sum of the delays,
  /// each rounded to a sixtieth of the maximum (``RetryPolicy/counted(after:)``). The sum does not include the time in
  /// which a push waits for a connection or for its rate.
  public var maximumTime: Int?

  /// Creates an instance without bounds.
  public init() {}
}
