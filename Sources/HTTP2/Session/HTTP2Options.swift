/// Options for unusual behaviour of a session. A test server uses them to test its clients.
public struct HTTP2Options: Equatable, Sendable {
  /// Whether the session acknowledges the peer's PINGs, as RFC 9113 section 6.7 requires.
  public var answersPings = true
  /// Whether the peer gets new credit for received bodies (WINDOW_UPDATE, RFC 9113 section 6.9).
  public var grantsWindow = true
  /// Maximum number of body bytes in a DATA frame that this end sends; at least 1.
  public var largestData = Int.max
  /// Whether this end sends a trailer section after every body (RFC 9113 section 8.1).
  public var sendsTrailers = false

  /// Creates options for the usual behaviour.
  public init() {}
}
