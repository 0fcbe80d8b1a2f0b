/// What a ``TCPProxy`` does to every connection instead of passing its bytes on.
public enum ProxyFault: Equatable, Sendable {
  /// Nothing: bytes pass.
  case none
  /// Neither side is read: bytes wait with the kernel, and go on when the fault is over. A network that is away.
  case stall
  /// What comes is read and thrown away, in the directions that are true. A connection that lost bytes is reset when the
  /// fault is over. With `replies` alone, requests have their effect and nobody learns of it.
  case swallow(requests: Bool, replies: Bool)
  /// The target's side is closed, the client's stays open and nothing comes of what it sends. The connection is reset
  /// when the fault is over.
  case halfOpen
}

/// The two directions through a ``TCPProxy``.
public enum ProxyDirection: Equatable, Sendable {
  /// From the client to the target.
  case requests
  /// From the target to the client.
  case replies
}

/// How a ``TCPProxy`` ends a connection, toward both sides.
public enum ProxyEnding: Equatable, Sendable {
  /// As a crash does (RST).
  case reset
  /// As an orderly close does (FIN).
  case finish
}

/// What a ``TCPProxy`` has done since it was started: proof that a fault fired.
public struct ProxyCounters: Equatable, Sendable {
  /// Connections taken.
  public var accepted = 0
  /// Connections open now.
  public var open = 0
  /// Bytes passed on.
  public var requestBytes = 0
  /// Bytes passed back.
  public var replyBytes = 0
  /// Bytes of requests thrown away.
  public var swallowedRequestBytes = 0
  /// Bytes of replies thrown away.
  public var swallowedReplyBytes = 0
  /// Times that bytes came and were not read because of ``ProxyFault/stall``: once for each direction of a connection.
  public var stalls = 0
  /// Pieces that were held back for a delay.
  public var delayed = 0
  /// Connections that lost their target and were kept open.
  public var halfOpened = 0
  /// Connections cut, by a trap or on demand.
  public var cuts = 0
}
