internal import CNghttp2

/// The parameters of a SETTINGS frame (RFC 9113 section 6.5.2); `nil` omits a parameter.
public struct HTTP2Settings: Equatable, Sendable {
  /// Size in bytes of the HPACK table that the peer may use.
  public var headerTableSize: UInt32?
  /// Whether the peer may use server push. A client sends `false`.
  public var enablePush: Bool?
  /// Number of streams that the peer may have open at the same time.
  public var maxConcurrentStreams: UInt32?
  /// Initial flow-control credit of each stream, in bytes.
  public var initialWindowSize: UInt32?
  /// Maximum payload of a frame that the peer may send, in bytes.
  public var maxFrameSize: UInt32?
  /// Maximum size of a header list from the peer, in bytes.
  public var maxHeaderListSize: UInt32?

  /// Creates settings without any parameter.
  public init() {}

  private var parameters: [(id: UInt16, value: UInt32)] {
    let all: [(UInt16, UInt32?)] = [
      (Parameter.headerTableSize, headerTableSize), (Parameter.enablePush, enablePush.map { $0 ? 1 : 0 }),
      (Parameter.maxConcurrentStreams, maxConcurrentStreams), (Parameter.initialWindowSize, initialWindowSize),
      (Parameter.maxFrameSize, maxFrameSize), (Parameter.maxHeaderListSize, maxHeaderListSize),
    ]
    return all.compactMap { id, value in value.map { (id, $0) } }
  }

  func entries() -> [nghttp2_settings_entry] {
    parameters.map { nghttp2_settings_entry(settings_id: Int32($0.id), value: $0.value) }
  }

  /// The payload of a SETTINGS frame.
  var payload: [UInt8] {
    parameters.flatMap { FrameHeader.bytes($0.id) + FrameHeader.bytes($0.value) }
  }
}

extension HTTP2Settings {
  /// The identifiers of RFC 9113 section 6.5.2.
  enum Parameter {
    static let headerTableSize: UInt16 = 1
    static let enablePush: UInt16 = 2
    static let maxConcurrentStreams: UInt16 = 3
    static let initialWindowSize: UInt16 = 4
    static let maxFrameSize: UInt16 = 5
    static let maxHeaderListSize: UInt16 = 6
  }
}
