internal import CNghttp2

/// An nghttp2 session and its memory, from creation to end.
final class SessionCore {
  /// The session of nghttp2.
  let handle: OpaquePointer
  private let blocks = SessionMemory()

  /// - Parameters:
  ///   - make: `nghttp2_session_client_new3` or `nghttp2_session_server_new3`.
  ///   - install: Sets the callbacks.
  ///   - configure: Sets unusual options.
  /// - Throws: ``HTTP2Error`` if memory is short.
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
      // The session has its own copies of both objects (nghttp2_session_server_new3(3)).
      nghttp2_session_callbacks_del(callbacks)
      nghttp2_option_del(option)
    }
    try HTTP2Error.check("make a session", nghttp2_session_callbacks_new(&callbacks))
    try HTTP2Error.check("make a session", nghttp2_option_new(&option))
    install(callbacks)
    // Without this option, nghttp2 stores closed streams for the priority tree of RFC 7540, which this module does not
    // use.
    nghttp2_option_set_no_closed_streams(option, 1)
    configure(option)
    var functions = blocks.functions()
    try HTTP2Error.check("make a session", make(&session, callbacks, nil, option, &functions))
    guard let session else { throw HTTP2Error("make a session", code: Int(NGHTTP2_ERR_NOMEM.rawValue)) }
    handle = session
  }

  deinit { nghttp2_session_del(handle) }

  /// Sets the owner, which gets the callbacks. Callbacks run only during the owner's methods, so the session needs no
  /// counted reference to the owner.
  func setOwner(_ owner: AnyObject) {
    nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(owner).toOpaque())
  }
}
