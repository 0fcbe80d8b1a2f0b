internal import CNghttp2

/// An nghttp2 session with its memory, and what there is to do with it at either end and for any use: both
/// ``HTTP2Session`` and ``RequestSession`` stand on it and add their callbacks and their streams.
///
/// Not thread-safe; confined to the queue of its session.
final class SessionCore {
  /// nghttp2's own.
  let handle: OpaquePointer
  private let blocks = SessionMemory()

  /// - Parameters:
  ///   - make: `nghttp2_session_client_new3` or `nghttp2_session_server_new3`.
  ///   - install: sets the callbacks.
  ///   - configure: sets what is not as most have it.
  /// - Throws: ``HTTP2Error`` when memory is short.
  init(
    _ make: (
      UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?,
      UnsafeMutablePointer<nghttp2_mem>?
    ) -> Int32,
    install: (OpaquePointer?) -> Void, configure: (OpaquePointer?) -> Void = { _ in }
  ) throws {
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    var session: OpaquePointer?
    defer {
      // Both are copied into the session (nghttp2_session_server_new3(3)).
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(option)
    }
    try Self.check("make a session", nghttp2_session_callbacks_new(&callbacks))
    try Self.check("make a session", nghttp2_option_new(&option))
    install(callbacks)
    // Closed streams are kept for the priority tree of RFC 7540 otherwise; nobody here uses it.
    nghttp2_option_set_no_closed_streams(option, 1)
    configure(option)
    var functions = blocks.functions()
    try Self.check("make a session", make(&session, callbacks, nil, option, &functions))
    guard let session else { throw HTTP2Error("make a session", code: Int(NGHTTP2_ERR_NOMEM.rawValue)) }
    handle = session
  }

  deinit { nghttp2_session_del(handle) }

  /// Says whom callbacks are for. They come only during its methods, so it is alive without a reference being counted.
  func setOwner(_ owner: AnyObject) {
    nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(owner).toOpaque())
  }

  /// Announces settings; they bind the peer when it has acknowledged them.
  func submit(_ settings: HTTP2Settings) throws {
    let entries = settings.entries()
    try Self.check("submit settings", nghttp2_submit_settings(handle, Self.noFlags, entries, entries.count))
  }

  /// Asks the peer for a sign of life.
  func ping() throws { try Self.check("submit PING", nghttp2_submit_ping(handle, Self.noFlags, nil)) }

  /// Ends a stream with RST_STREAM.
  func reset(_ stream: Int32, _ error: HTTP2ErrorCode) throws {
    try Self.check("reset a stream", nghttp2_submit_rst_stream(handle, Self.noFlags, stream, error.rawValue))
  }

  /// Takes what came from the peer, all of it: no callback here pauses (nghttp2_session_mem_recv(3)).
  ///
  /// - Throws: ``HTTP2Error`` when the peer isn't speaking HTTP/2; the connection must be closed.
  func receive(_ bytes: UnsafeRawBufferPointer) throws {
    let status = nghttp2_session_mem_recv(handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if status < 0 { throw HTTP2Error("receive", code: status) }
  }

  /// The next bytes for the peer, a frame at most, valid until the next call on the session; `nil` when there are none.
  func nextOutput() throws -> UnsafeRawBufferPointer? {
    var bytes: UnsafePointer<UInt8>?
    // nghttp2_session_mem_send(3): the memory belongs to the session until the next call.
    let count = nghttp2_session_mem_send(handle, &bytes)
    if count < 0 { throw HTTP2Error("send", code: count) }
    return count == 0 ? nil : UnsafeRawBufferPointer(start: bytes, count: count)
  }

  /// Whether nothing more is to be read or written: after GOAWAY, when the last stream has ended.
  var isFinished: Bool { nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0 }

  /// How many streams the peer takes at once; 100 is assumed until its first SETTINGS.
  var peerMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

  /// - Throws: ``HTTP2Error`` for any status but 0.
  static func check(_ operation: String, _ status: Int32) throws {
    if status != 0 { throw HTTP2Error(operation, code: Int(status)) }
  }
}
