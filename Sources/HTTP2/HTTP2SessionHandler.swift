/// One stream of a session.
public struct HTTP2Stream: Equatable, Hashable, Sendable {
  /// The identifier on the wire; never used twice in a session.
  public let id: Int32
  /// A small number that no other open stream of the session has, for tables beside it; used again after
  /// ``HTTP2SessionHandler/closed(_:error:)``.
  public let slot: Int
}

/// What happens in an ``HTTP2Session``, told during ``HTTP2Session/receive(_:handler:)`` and
/// ``HTTP2Session/nextOutput(handler:)``.
///
/// The handler may submit to the session from within these calls, but must not call `receive` or `nextOutput`.
public protocol HTTP2SessionHandler: AnyObject {
  /// A whole header block came: a request, a response (also an informational one), or trailers.
  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream)
  /// A piece of body came; `bytes` is valid during the call.
  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream)
  /// The peer has ended its half of the stream.
  func ended(_ stream: HTTP2Stream)
  /// The stream is gone: orderly when both halves ended (``HTTP2ErrorCode/noError``), else reset by one side.
  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode)
  /// A stream of the peer was refused because it was over the announced limit; nothing else is told of it.
  func refused(streamID: Int32)
  /// The peer changed its settings; ask the session for them.
  func receivedSettings()
  /// The peer wants a sign of life; the session gives it unless its options say otherwise.
  func receivedPing()
  /// The peer takes no streams above `lastStreamID`, and has not processed any.
  func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer)
}

extension HTTP2SessionHandler {
  public func refused(streamID: Int32) {}
  public func receivedSettings() {}
  public func receivedPing() {}
  public func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer) {}
}
