internal import HTTP2

/// The server's end of one HTTP connection, without a socket: it gets the bytes that arrived and returns the bytes to
/// send. It hides the version of HTTP from the role that answers the streams.
protocol WireSession: AnyObject {
  /// Processes bytes from the peer and reports their events to `handler`.
  func receive(_ bytes: UnsafeRawBufferPointer, handler: any HTTP2SessionHandler) throws
  /// Returns the next bytes for the peer, at most one frame of 16,384 bytes; `nil` if there are none now.
  func nextOutput(handler: any HTTP2SessionHandler) throws -> UnsafeRawBufferPointer?
  /// Whether there is nothing more to read or write.
  var isFinished: Bool { get }
  /// The identifier of the highest stream of the peer that the handler got.
  var lastProcessedStreamID: Int32 { get }
  /// Answers a stream. Returns `false` if the stream is gone.
  @discardableResult
  func respond(to stream: HTTP2Stream, _ fields: borrowing HeaderFields, body: [UInt8]?) throws -> Bool
  /// Ends a stream without an answer.
  func reset(_ stream: HTTP2Stream, error: HTTP2ErrorCode) throws
  /// Accepts no more streams from the peer. Streams up to `lastStreamID` continue to their end.
  func goAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: [UInt8]) throws
}

extension WireSession {
  /// Returns the identifier of the last stream before the `unprocessed` most recent streams of the peer. Identifiers of
  /// a client's streams are odd, so the last n of them span 2n (RFC 9113 section 5.1.1).
  func lastStream(keeping unprocessed: Int) -> Int32 { lastProcessedStreamID - Int32(clamping: 2 * unprocessed) }
}

extension HTTP2Session: WireSession {}
