/// A fault that a ``TCPProxy`` applies to every connection.
public enum ProxyFault: Equatable, Sendable {
  /// No fault: bytes pass.
  case none
  /// Neither side is read. Bytes wait in the kernel and are forwarded after the fault, as after a network interruption.
  case stall
  /// Received bytes are dropped in the selected directions. A connection that lost bytes is reset after the fault. If
  /// only replies are dropped, requests take effect but get no answer.
  case drop(requests: Bool, replies: Bool)
  /// The connection to the target is closed. The client's connection stays open, but its bytes are dropped. It is reset
  /// after the fault.
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
  /// Number of directions of connections in which bytes arrived and were not read because of ``ProxyFault/stall``.
  public var stalls = 0
  /// Pieces that were delayed.
  public var delayed = 0
  /// Connections that lost their target and stayed open.
  public var halfOpened = 0
  /// Connections cut by a trap or on demand.
  public var cuts = 0
}
