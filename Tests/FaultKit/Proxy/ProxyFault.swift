/// A fault that a ``TCPProxy`` applies to every connection.
public enum ProxyFault: Equatable, Sendable {
  /// No fault: bytes pass.
  case none
  /// Neither side is read. Bytes wait in the kernel and continue after the fault, like in an unreachable network.
  case stall
  /// Received bytes are dropped in the selected directions. A connection that lost bytes is reset after the fault. With
  /// `replies` alone, requests have their effect without an answer.
  case drop(requests: Bool, replies: Bool)
  /// The target's side is closed, and the client's side stays open without any effect. The connection is reset after
  /// the fault.
  case halfOpen
}

/// The two directions through a ``TCPProxy``.
public enum ProxyDirection: Equatable, Sendable {
  /// From the client to the target.
  case requests
  /// From the target to the client.
  case replies
}

/// The way in which a ``TCPProxy`` ends a connection on both sides.
public enum ProxyEnding: Equatable, Sendable {
  /// Like a crash (RST).
  case reset
  /// Like an orderly close (FIN).
  case finish
}

/// Counts of a ``TCPProxy`` since its start. They prove that a fault fired.
public struct ProxyCounters: Equatable, Sendable {
  /// Accepted connections.
  public var accepted = 0
  /// Currently open connections.
  public var open = 0
  /// Bytes forwarded to the target.
  public var requestBytes = 0
  /// Bytes forwarded to the client.
  public var replyBytes = 0
  /// Dropped bytes of requests.
  public var swallowedRequestBytes = 0
  /// Dropped bytes of replies.
  public var swallowedReplyBytes = 0
  /// Number of times that bytes arrived and were not read because of ``ProxyFault/stall``: once for each direction of a
  /// connection.
  public var stalls = 0
  /// Pieces that were delayed.
  public var delayed = 0
  /// Connections that lost their target and stayed open.
  public var halfOpened = 0
  /// Connections cut by a trap or on demand.
  public var cuts = 0
}
