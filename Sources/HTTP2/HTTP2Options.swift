/// Unusual behaviour of a session, for test servers that challenge their clients.
public struct HTTP2Options: Equatable, Sendable {
  /// Whether the session acknowledges the peer's PINGs, as RFC 9113 section 6.7 requires.
  public var answersPings = true
  /// Whether the peer gets new credit for received bodies (WINDOW_UPDATE, RFC 9113 section 6.9).
  public var grantsWindow = true
  /// Maximum bytes of body in one DATA frame that is sent; at least 1.
  public var largestData = Int.max
  /// Whether a trailer section follows every body that is sent (RFC 9113 section 8.1).
  public var sendsTrailers = false

  /// Creates options for the usual behaviour.
  public init() {}
}
