internal import HTTP2

/// MAX_CONCURRENT_STREAMS of one connection as it changes (reference 1.4): token connections begin with one stream, get
/// the rest with the first accepted push, and lose it again with an expired provider token.
///
/// Changes are only noted, and announced before the next write: nghttp2 goes by settings as soon as they are submitted,
/// and streams that came in one read with the first push were opened before their client could know.
struct StreamLimit {
  /// SETTINGS_MAX_HEADER_LIST_SIZE as observed (reference 1.3).
  static let headerListSize: UInt32 = 8000

  private let reduced: UInt32
  private let full: UInt32
  private var wanted: UInt32
  private var announced: UInt32
  /// Whether an expired provider token came since the last acceptance.
  private(set) var hasExpired = false

  /// - Parameters:
  ///   - initial: the limit that opens the connection.
  ///   - reduced: what it falls back to.
  ///   - full: what an accepted push raises it to.
  init(initial: UInt32, reduced: UInt32, full: UInt32) {
    self.reduced = min(reduced, full)
    self.full = full
    wanted = initial
    announced = initial
  }

  /// The SETTINGS that open a connection (reference 1.3).
  func settings(by knobs: SimulatorKnobs) -> HTTP2Settings {
    var settings = HTTP2Settings()
    settings.headerTableSize = 4096
    settings.maxConcurrentStreams = announced
    settings.initialWindowSize = knobs.streamWindow
    settings.maxFrameSize = knobs.maxFrameSize
    settings.maxHeaderListSize = Self.headerListSize
    return settings
  }

  /// A push was accepted.
  mutating func accepted() {
    hasExpired = false
    wanted = max(wanted, full)
  }

  /// A push was rejected, and the limit is to fall for it.
  mutating func rejected() { wanted = reduced }

  /// A push came with an expired provider token.
  ///
  /// - Returns: whether it is the first since the last acceptance.
  mutating func expired() -> Bool {
    wanted = reduced
    defer { hasExpired = true }
    return !hasExpired && reduced < full
  }

  /// The SETTINGS to send, if the limit has changed since the last.
  ///
  /// - Parameter imposed: a limit that overrules all others; 0 for none.
  mutating func announcement(imposed: UInt32) -> HTTP2Settings? {
    let limit = imposed > 0 ? imposed : wanted
    guard limit != announced else { return nil }
    announced = limit
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = limit
    return settings
  }
}
