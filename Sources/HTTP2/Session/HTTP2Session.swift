internal import CNghttp2

/// One end of an HTTP/2 connection, client or server. The type has no sockets: it gets the bytes that arrived and
/// returns the bytes to send.
///
/// The type is not thread-safe; confine it to one queue. The session stores no reference to its handler: each call that
/// may report events takes the handler as an argument.
///
/// After ``receive(_:handler:)`` or any submission, call ``nextOutput(handler:)`` until it returns `nil`. When
/// ``isFinished`` is true, the connection can be closed.
public final class HTTP2Session {
  /// The end of the connection that a session serves.
  public enum Role: Sendable {
    case client
    case server
  }

  /// Limit for the streams that the peer resets. nghttp2's default ends a connection whose peer resets more than 33
  /// streams per second, but libcurl 7.88 sends RST_STREAM after almost every finished stream. This value is so large
  /// that it has no effect.
  private static let streamResets: UInt64 = 1 << 40
  private static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

  let handle: OpaquePointer
  private let core: SessionCore
  let role: Role
  var handler: (any HTTP2SessionHandler)?
  var incoming = HeaderFields()
  private var outgoing: [nghttp2_nv] = []
  private var slots = StreamSlots()
  private let options: HTTP2Options

  /// Whether the peer's first SETTINGS have arrived.
  public internal(set) var hasReceivedSettings = false

  /// - Parameters:
  ///   - role: The end of the connection.
  ///   - settings: The settings of this end, sent first, after the preface.
  ///   - connectionWindow: Maximum number of body bytes that the peer may have in flight on all streams together. At
  ///     least 65,535, the initial value of every connection (RFC 9113 section 6.9.2).
  ///   - options: Unusual behaviour.
  /// - Throws: ``HTTP2Error`` if a setting is out of range.
  public init(
    role: Role, settings: HTTP2Settings, connectionWindow: Int32 = 65_535, options: HTTP2Options = HTTP2Options()
  ) throws {
    core = try SessionCore(
      role == .server ? nghttp2_session_server_new3 : nghttp2_session_client_new3, install: HTTP2Callbacks.install
    ) { option in
      carillon_nghttp2_set_stream_reset_rate_limit(option, Self.streamResets, Self.streamResets)
      if !options.answersPings { nghttp2_option_set_no_auto_ping_ack(option, 1) }
      if !options.grantsWindow { nghttp2_option_set_no_auto_window_update(option, 1) }
    }
    handle = core.handle
    self.role = role
    self.options = options
    core.setOwner(self)
    try submit(settings)
    if connectionWindow > 65_535 {
      let status = nghttp2_session_set_local_window_size(handle, Self.noFlags, 0, connectionWindow)
      try HTTP2Error.check("set the connection window", status)
    }
  }

  // MARK: Bytes

  /// Processes bytes from the peer.
  ///
  /// - Throws: ``HTTP2Error`` if the peer does not speak HTTP/2. The connection must then be closed. After a smaller
  ///   violation, the session sends a GOAWAY instead, and ``isFinished`` becomes true.
  public func receive(_ bytes: UnsafeRawBufferPointer, handler: any HTTP2SessionHandler) throws {
    self.handler = handler
    defer { self.handler = nil }
    // nghttp2_session_mem_recv(3) processes all bytes, because no callback here pauses.
    let status = nghttp2_session_mem_recv(handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if status < 0 { throw HTTP2Error("receive", code: status) }
  }

  /// Returns the next bytes for the peer, at most one frame; `nil` if there are none now. The bytes are valid until the
  /// next call on this session.
  public func nextOutput(handler: any HTTP2SessionHandler) throws -> UnsafeRawBufferPointer? {
    self.handler = handler
    defer { self.handler = nil }
    var bytes: UnsafePointer<UInt8>?
    // nghttp2_session_mem_send(3): the memory belongs to the session until the next call.
    let count = nghttp2_session_mem_send(handle, &bytes)
    if count < 0 { throw HTTP2Error("send", code: count) }
    return count == 0 ? nil : UnsafeRawBufferPointer(start: bytes, count: count)
  }

  /// Whether there is nothing more to read or write: after a GOAWAY, when the last stream has ended.
  public var isFinished: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

  // MARK: Streams

  /// Opens a stream. Only a client may call this function.
  ///
  /// Above the peer's limit, nghttp2 delays the stream until another one has ended. A sender that needs to know which
  /// streams were sent must stay below ``peerMaxConcurrentStreams``.
  ///
  /// - Parameters:
  ///   - fields: the header fields: pseudo-headers first, with names in lower case.
  ///   - body: `nil` ends the stream with the header block.
  /// - Throws: ``HTTP2Error`` if no stream identifier is left.
  public func request(_ fields: borrowing HeaderFields, body: [UInt8]?) throws -> HTTP2Stream {
    let slot = slots.take(body: body)
    let id = withProvider(slot: slot, body: body) { provider in
      submitting(fields) { nv, count in
        nghttp2_submit_request(handle, nil, nv, count, provider, StreamSlots.userData(slot))
      }
    }
    guard id > 0 else {
      slots.free(slot)
      throw HTTP2Error("open a stream", code: Int(id))
    }
    slots.setID(id, of: slot)
    return HTTP2Stream(id: id, slot: slot)
  }

  /// Answers a stream. Only a server may call this function.
  ///
  /// - Parameters:
  ///   - stream: The stream that the handler got.
  ///   - fields: the header fields: `:status` first, with names in lower case.
  ///   - body: `nil` ends the stream with the header block.
  /// - Returns: `false` if the stream is gone. This is not an error, because the peer may reset it at any time.
  @discardableResult
  public func respond(
    to stream: HTTP2Stream, _ fields: borrowing HeaderFields, body: [UInt8]? = nil
  ) throws -> Bool {
    guard slots.contains(stream) else { return false }
    // Trailers need a body before them.
    let body = options.sendsTrailers ? body ?? [] : body
    slots.setBody(body, of: stream.slot)
    let status = withProvider(slot: stream.slot, body: body) { provider in
      submitting(fields) { nv, count in nghttp2_submit_response(handle, stream.id, nv, count, provider) }
    }
    try HTTP2Error.check("answer a stream", status)
    return true
  }

  /// Sends an interim answer, which another answer follows (RFC 9110 section 15.2). Only a server may call this
  /// function. Does nothing if the stream is gone.
  ///
  /// - Parameter fields: `:status` first, from 100 to 199 except 101 (RFC 9113 section 8.6).
  public func submitInterim(_ stream: HTTP2Stream, _ fields: borrowing HeaderFields) throws {
    guard slots.contains(stream) else { return }
    let status = submitting(fields) { nv, count in
      nghttp2_submit_headers(handle, Self.noFlags, stream.id, nil, nv, count, nil)
    }
    try HTTP2Error.check("send an interim answer", status < 0 ? status : 0)
  }

  /// Ends a stream immediately with RST_STREAM. Does nothing if the stream is gone.
  public func reset(_ stream: HTTP2Stream, error: HTTP2ErrorCode) throws {
    guard slots.contains(stream) else { return }
    try reset(streamID: stream.id, error: error)
  }

  /// Sends RST_STREAM, even for a stream that is already gone. With this, a test server can imitate servers that do so.
  public func reset(streamID: Int32, error: HTTP2ErrorCode) throws {
    try HTTP2Error.check(
      "reset a stream", nghttp2_submit_rst_stream(handle, Self.noFlags, streamID, error.rawValue))
  }

  // MARK: Connection

  /// Announces new settings of this end. The peer must obey them after it has acknowledged them.
  public func submit(_ settings: HTTP2Settings) throws {
    let entries = settings.entries()
    try HTTP2Error.check("submit settings", nghttp2_submit_settings(handle, Self.noFlags, entries, entries.count))
  }

  /// Accepts no more streams from the peer. Streams up to `lastStreamID` continue to their end.
  ///
  /// - Parameters:
  ///   - lastStreamID: The highest stream that was or may be processed; ``lastProcessedStreamID`` for a clean end.
  ///   - error: The reason.
  ///   - debugData: text for operators; APNs sends JSON here.
  public func goAway(lastStreamID: Int32, error: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) throws {
    // nghttp2_submit_goaway(3) copies the data.
    let status = nghttp2_submit_goaway(
      handle, Self.noFlags, lastStreamID, error.rawValue, debugData, debugData.count)
    try HTTP2Error.check("submit GOAWAY", status)
  }

  /// Sends a PING to the peer.
  public func ping() throws { try HTTP2Error.check("submit PING", nghttp2_submit_ping(handle, Self.noFlags, nil)) }

  /// The identifier of the highest stream of the peer that the handler got.
  public var lastProcessedStreamID: Int32 { nghttp2_session_get_last_proc_stream_id(handle) }

  /// Number of streams that the peer allows at the same time; 100 before the peer's first SETTINGS.
  public var peerMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  // MARK: Within the module

  /// Returns the stream as the handler knows it; `nil` if the handler never got it.
  func stream(_ id: Int32) -> HTTP2Stream? {
    let data = nghttp2_session_get_stream_user_data(handle, id)
    return StreamSlots.slot(userData: data).map { HTTP2Stream(id: id, slot: $0) }
  }

  func openSlot(for id: Int32) {
    let slot = slots.take(body: nil)
    slots.setID(id, of: slot)
    nghttp2_session_set_stream_user_data(handle, id, StreamSlots.userData(slot))
  }

  func closeSlot(_ stream: HTTP2Stream) { slots.free(stream.slot) }

  /// Returns a stream that nghttp2 does not know yet, because its request is still in the queue.
  func queuedStream(_ id: Int32) -> HTTP2Stream? { slots.find(id) }

  /// Returns the next piece of a body, with its flags for nghttp2.
  func takeBody(slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, flags: nghttp2_data_flag) {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(options.largestData))
    let taken = slots.takeBody(slot, into: room)
    guard taken.isLast else { return (taken.count, NGHTTP2_DATA_FLAG_NONE) }
    guard options.sendsTrailers, role == .server else { return (taken.count, NGHTTP2_DATA_FLAG_EOF) }
    var trailers = HeaderFields()
    trailers.add("server-timing", "total")
    let stream = slots.id(of: slot)
    // nghttp2_submit_trailer(3) may be called here. The stream then ends with the trailer section.
    let status = submitting(trailers) { nv, count in nghttp2_submit_trailer(handle, stream, nv, count) }
    guard status == 0 else { return (taken.count, NGHTTP2_DATA_FLAG_EOF) }
    let flags = NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
    return (taken.count, nghttp2_data_flag(rawValue: flags))
  }

  private func submitting(
    _ fields: borrowing HeaderFields, _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32
  ) -> Int32 {
    fields.fill(&outgoing)
    return outgoing.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
  }

  private func withProvider(
    slot: Int, body: [UInt8]?, _ submit: (UnsafePointer<nghttp2_data_provider>?) -> Int32
  ) -> Int32 {
    guard body != nil else { return submit(nil) }
    var provider = nghttp2_data_provider()
    provider.source.fd = Int32(slot)
    provider.read_callback = { _, _, buffer, count, flags, source, context in
      HTTP2Callbacks.readBody(into: buffer, count: count, flags: flags, source: source, context: context)
    }
    return submit(&provider)
  }
}
