internal import CNghttp2

/// The parameters of a SETTINGS frame (RFC 9113 section 6.5.2); `nil` leaves one unsaid.
public struct HTTP2Settings: Equatable, Sendable {
  /// Bytes of HPACK table the peer may use.
  public var headerTableSize: UInt32?
  /// Whether the peer may push; a client says `false`.
  public var enablePush: Bool?
  /// Streams the peer may have open at once.
  public var maxConcurrentStreams: UInt32?
  /// Bytes of flow-control credit that each stream starts with.
  public var initialWindowSize: UInt32?
  /// Bytes of payload in the largest frame the peer may send.
  public var maxFrameSize: UInt32?
  /// Bytes of the largest header list that is welcome.
  public var maxHeaderListSize: UInt32?

  /// Says nothing.
  public init() {}

  func entries() -> [nghttp2_settings_entry] {
    let all: [(nghttp2_settings_id, UInt32?)] = [
      (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, headerTableSize),
      (NGHTTP2_SETTINGS_ENABLE_PUSH, enablePush.map { $0 ? 1 : 0 }),
      (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams),
      (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, initialWindowSize),
      (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, maxFrameSize),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, maxHeaderListSize),
    ]
    return all.compactMap { id, value in
      value.map { nghttp2_settings_entry(settings_id: Int32(bitPattern: id.rawValue), value: $0) }
    }
  }
}
