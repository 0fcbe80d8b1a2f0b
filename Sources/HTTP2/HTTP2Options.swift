/// What a session does otherwise than most: for servers that are to be hard to bear.
public struct HTTP2Options: Equatable, Sendable {
  /// Whether the peer's PINGs are acknowledged, as RFC 9113 section 6.7 asks.
  public var answersPings = true
  /// Whether the peer is given credit for bodies that were received (WINDOW_UPDATE, RFC 9113 section 6.9).
  public var grantsWindow = true
  /// Bytes of body at most in one DATA frame that is sent; at least 1.
  public var largestData = Int.max
  /// Whether a trailer section follows every body that is sent (RFC 9113 section 8.1).
  public var sendsTrailers = false

  /// A session like most.
  public init() {}
}
