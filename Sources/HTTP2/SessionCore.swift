internal import CNghttp2

/// An nghttp2 session and its memory, from their making to their end.
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
    try HTTP2Error.check("make a session", nghttp2_session_callbacks_new(&callbacks))
    try HTTP2Error.check("make a session", nghttp2_option_new(&option))
    install(callbacks)
    // Closed streams are kept for the priority tree of RFC 7540 otherwise; nobody here uses it.
    nghttp2_option_set_no_closed_streams(option, 1)
    configure(option)
    var functions = blocks.functions()
    try HTTP2Error.check("make a session", make(&session, callbacks, nil, option, &functions))
    guard let session else { throw HTTP2Error("make a session", code: Int(NGHTTP2_ERR_NOMEM.rawValue)) }
    handle = session
  }

  deinit { nghttp2_session_del(handle) }

  /// Says whom callbacks are for. They come only during its methods, so it is alive without a reference being counted.
  func setOwner(_ owner: AnyObject) {
    nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(owner).toOpaque())
  }
}
