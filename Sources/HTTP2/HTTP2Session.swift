internal import CNghttp2

/// One end of an HTTP/2 connection: bytes in, bytes out, no sockets.
///
/// Not thread-safe; confine it to one queue. It keeps no reference to its handler, which is passed along with each call
/// that may have something to tell.
///
/// After ``receive(_:handler:)`` or any submission, take ``nextOutput(handler:)`` until it is `nil`. When
/// ``isFinished`` the connection can be closed.
public final class HTTP2Session {
  /// Which end this is.
  public enum Role: Sendable {
    case client
    case server
  }

  /// nghttp2 ends a connection whose peer resets more than 33 streams a second; libcurl 7.88 sends RST_STREAM after
  /// nearly every finished stream. As good as no limit.
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

  /// Whether the peer's first SETTINGS have come.
  public internal(set) var hasReceivedSettings = false

  /// - Parameters:
  ///   - role: which end this is.
  ///   - settings: go out first, behind the preface.
  ///   - connectionWindow: bytes of body that may be under way on all streams together; never below the 65,535 that
  ///     every connection starts with (RFC 9113 section 6.9.2).
  ///   - options: what it does otherwise than most.
  /// - Throws: ``HTTP2Error`` when a setting is out of range.
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

  /// Takes what came from the peer.
  ///
  /// - Throws: ``HTTP2Error`` when the peer isn't speaking HTTP/2; the connection must be closed. A peer that breaks the
  ///   rules in a lesser way gets a GOAWAY from the session itself and ``isFinished`` becomes true.
  public func receive(_ bytes: UnsafeRawBufferPointer, handler: any HTTP2SessionHandler) throws {
    self.handler = handler
    defer { self.handler = nil }
    // nghttp2_session_mem_recv(3) takes all of it: no callback here pauses.
    let status = nghttp2_session_mem_recv(handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if status < 0 { throw HTTP2Error("receive", code: status) }
  }

  /// The next bytes for the peer, a frame at most, valid until the next call on this session; `nil` when there are none just now.
  public func nextOutput(handler: any HTTP2SessionHandler) throws -> UnsafeRawBufferPointer? {
    self.handler = handler
    defer { self.handler = nil }
    var bytes: UnsafePointer<UInt8>?
    // nghttp2_session_mem_send(3): the memory belongs to the session until the next call.
    let count = nghttp2_session_mem_send(handle, &bytes)
    if count < 0 { throw HTTP2Error("send", code: count) }
    return count == 0 ? nil : UnsafeRawBufferPointer(start: bytes, count: count)
  }

  /// Whether nothing more is to be read or written: after GOAWAY, when the last stream has ended.
  public var isFinished: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

  // MARK: Streams

  /// Opens a stream. Client only.
  ///
  /// Above the peer's limit nghttp2 itself holds the stream back until another has ended; a sender that wants to know
  /// what is on the wire keeps under ``peerMaxConcurrentStreams``.
  ///
  /// - Parameters:
  ///   - fields: pseudo-headers first, names in lower case.
  ///   - body: `nil` ends the stream with the header block.
  /// - Throws: ``HTTP2Error`` when stream identifiers are used up.
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

  /// Answers a stream. Server only.
  ///
  /// - Parameters:
  ///   - stream: as the handler was told of it.
  ///   - fields: `:status` first, names in lower case.
  ///   - body: `nil` ends the stream with the header block.
  /// - Returns: `false` when the stream is gone, which is no error: the peer may reset it at any time.
  @discardableResult
  public func respond(
    to stream: HTTP2Stream, _ fields: borrowing HeaderFields, body: [UInt8]? = nil
  ) throws -> Bool {
    guard slots.holds(stream) else { return false }
    // What comes behind a body needs one to come behind.
    let body = options.sendsTrailers ? body ?? [] : body
    slots.setBody(body, of: stream.slot)
    let status = withProvider(slot: stream.slot, body: body) { provider in
      submitting(fields) { nv, count in nghttp2_submit_response(handle, stream.id, nv, count, provider) }
    }
    try HTTP2Error.check("answer a stream", status)
    return true
  }

  /// Sends an interim answer, which another will follow (RFC 9110 section 15.2). Server only. Nothing happens when the
  /// stream is gone.
  ///
  /// - Parameter fields: `:status` of 100 to 199 first, but 101 (RFC 9113 section 8.6).
  public func inform(_ stream: HTTP2Stream, _ fields: borrowing HeaderFields) throws {
    guard slots.holds(stream) else { return }
    let status = submitting(fields) { nv, count in
      nghttp2_submit_headers(handle, Self.noFlags, stream.id, nil, nv, count, nil)
    }
    try HTTP2Error.check("send an interim answer", status < 0 ? status : 0)
  }

  /// Ends a stream at once with RST_STREAM. Nothing happens when it is gone already.
  public func reset(_ stream: HTTP2Stream, error: HTTP2ErrorCode) throws {
    guard slots.holds(stream) else { return }
    try reset(streamID: stream.id, error: error)
  }

  /// Sends RST_STREAM for a stream that may be gone already, as servers were seen to do.
  public func reset(streamID: Int32, error: HTTP2ErrorCode) throws {
    try HTTP2Error.check(
      "reset a stream", nghttp2_submit_rst_stream(handle, Self.noFlags, streamID, error.rawValue))
  }

  // MARK: Connection

  /// Announces settings; they bind the peer when it has acknowledged them.
  public func submit(_ settings: HTTP2Settings) throws {
    let entries = settings.entries()
    try HTTP2Error.check("submit settings", nghttp2_submit_settings(handle, Self.noFlags, entries, entries.count))
  }

  /// Takes no more streams from the peer; those up to `lastStreamID` go on to their end.
  ///
  /// - Parameters:
  ///   - lastStreamID: the highest stream that was or may be processed; ``lastProcessedStreamID`` for a clean end.
  ///   - error: why.
  ///   - debugData: for people; APNs puts JSON there.
  public func goAway(lastStreamID: Int32, error: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) throws {
    // nghttp2_submit_goaway(3) copies the data.
    let status = nghttp2_submit_goaway(
      handle, Self.noFlags, lastStreamID, error.rawValue, debugData, debugData.count)
    try HTTP2Error.check("submit GOAWAY", status)
  }

  /// Asks the peer for a sign of life.
  public func ping() throws { try HTTP2Error.check("submit PING", nghttp2_submit_ping(handle, Self.noFlags, nil)) }

  /// The highest stream of the peer that was told to the handler.
  public var lastProcessedStreamID: Int32 { nghttp2_session_get_last_proc_stream_id(handle) }

  /// How many streams the peer takes at once; 100 is assumed until its first SETTINGS.
  public var peerMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  // MARK: Within the module

  /// The stream as the handler knows it, or `nil` for one that it was never told of.
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

  /// A stream that nghttp2 doesn't know (yet): its request is still in the queue.
  func queuedStream(_ id: Int32) -> HTTP2Stream? { slots.find(id) }

  /// The next piece of a body, and what nghttp2 is to know of it.
  func takeBody(slot: Int, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, flags: nghttp2_data_flag) {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(options.largestData))
    let taken = slots.takeBody(slot, into: room)
    guard taken.isLast else { return (taken.count, NGHTTP2_DATA_FLAG_NONE) }
    guard options.sendsTrailers, role == .server else { return (taken.count, NGHTTP2_DATA_FLAG_EOF) }
    var trailers = HeaderFields()
    trailers.add("server-timing", "total")
    let stream = slots.id(of: slot)
    // nghttp2_submit_trailer(3): may be called from here, and the stream ends with the trailer section instead.
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
