/// One stream of a session.
public struct HTTP2Stream: Equatable, Hashable, Sendable {
  /// The identifier on the wire. A session never uses it twice.
  public let id: Int32
  /// A small number that no other open stream of the session has, for tables of the caller. The session reuses the
  /// number after ``HTTP2SessionHandler/closed(_:error:)``.
  public let slot: Int

  /// Creates a stream for a session that is not an ``HTTP2Session``, such as an HTTP/1.1 session.
  public init(id: Int32, slot: Int) {
    self.id = id
    self.slot = slot
  }
}

/// Receives the events of an ``HTTP2Session``, during ``HTTP2Session/receive(_:handler:)`` and
/// ``HTTP2Session/nextOutput(handler:)``.
///
/// During these events, the handler may submit requests, answers and frames to the session, but must not call `receive`
/// or `nextOutput`.
public protocol HTTP2SessionHandler: AnyObject {
  /// A complete header block has arrived: a request, a response (also an interim one), or trailers.
  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream)
  /// A piece of a body has arrived; `bytes` is valid during the call.
  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream)
  /// The peer has ended its half of the stream.
  func ended(_ stream: HTTP2Stream)
  /// The stream is gone. The error is ``HTTP2ErrorCode/noError`` if both halves ended; otherwise it is the code of the
  /// reset.
  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode)
  /// A stream of the peer was refused, because it exceeded the announced limit. No other event follows for it.
  func refused(streamID: Int32)
  /// The peer has changed its settings. The session has applied them.
  func receivedSettings()
  /// The peer has sent a PING. The session answers it unless its options prevent that.
  func receivedPing()
  /// The peer accepts no streams above `lastStreamID`, and has processed none of them.
  func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer)
}

extension HTTP2SessionHandler {
  public func refused(streamID: Int32) {}
  public func receivedSettings() {}
  public func receivedPing() {}
  public func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer) {}
}
