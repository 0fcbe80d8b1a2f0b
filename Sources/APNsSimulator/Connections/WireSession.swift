internal import HTTP2

/// The HTTP end of one connection: bytes in, bytes out. A role answers streams and does not need to know the version of
/// HTTP.
protocol WireSession: AnyObject {
  /// Processes bytes from the peer and reports their events to `handler`.
  func receive(_ bytes: UnsafeRawBufferPointer, handler: any HTTP2SessionHandler) throws
  /// Returns the next bytes for the peer, at most one frame of 16,384 bytes; `nil` if there are none now.
  func nextOutput(handler: any HTTP2SessionHandler) throws -> UnsafeRawBufferPointer?
  /// Whether nothing is left to read or write.
  var isFinished: Bool { get }
  /// The highest stream of the peer that the handler got.
  var lastProcessedStreamID: Int32 { get }
  /// Answers a stream. Returns `false` if the stream is gone.
  @discardableResult
  func respond(to stream: HTTP2Stream, _ fields: borrowing HeaderFields, body: [UInt8]?) throws -> Bool
  /// Ends a stream without an answer.
  func reset(_ stream: HTTP2Stream, error: HTTP2ErrorCode) throws
  /// Accepts no more streams from the peer. Streams up to `lastStreamID` continue to their end.
  func goAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: [UInt8]) throws
}

extension HTTP2Session: WireSession {}
