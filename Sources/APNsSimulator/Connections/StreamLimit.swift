internal import HTTP2

/// The stream limit of one connection: the maximum number of concurrent streams that the simulator announces
/// (SETTINGS_MAX_CONCURRENT_STREAMS). A connection with provider tokens begins with one stream. The first accepted push
/// raises the limit; an expired provider token lowers it again, as observed at APNs.
///
/// The type stores a change, and the connection announces it before its next write. It is not announced immediately,
/// because nghttp2 applies settings when they are submitted: streams in the same read as the first push were opened
/// before the client could know the limit.
struct StreamLimit {
  /// SETTINGS_MAX_HEADER_LIST_SIZE as observed at APNs.
  static let headerListSize: UInt32 = 8000

  private let reduced: UInt32
  private let full: UInt32
  private var wanted: UInt32
  private var announced: UInt32
  /// Whether an expired provider token arrived since the last acceptance.
  private(set) var hasExpired = false

  /// - Parameters:
  ///   - initial: the limit at the start of the connection.
  ///   - reduced: the limit after an expired token.
  ///   - full: the limit after an accepted push.
  init(initial: UInt32, reduced: UInt32, full: UInt32) {
    self.reduced = min(reduced, full)
    self.full = full
    wanted = initial
    announced = initial
  }

  /// Returns the SETTINGS that open a connection. Without knobs, they have the values observed at APNs.
  func settings(by knobs: SimulatorKnobs) -> HTTP2Settings {
    var settings = HTTP2Settings()
    settings.headerTableSize = 4096
    settings.maxConcurrentStreams = announced
    settings.initialWindowSize = knobs.streamWindow
    settings.maxFrameSize = knobs.maxFrameSize
    settings.maxHeaderListSize = Self.headerListSize
    return settings
  }

  /// Records an accepted push.
  mutating func accepted() {
    hasExpired = false
    wanted = max(wanted, full)
  }

  /// Records a rejected push that lowers the limit.
  mutating func rejected() { wanted = reduced }

  /// Records a push with an expired provider token.
  ///
  /// - Returns: whether it is the first one since the last acceptance.
  mutating func expired() -> Bool {
    wanted = reduced
    defer { hasExpired = true }
    return !hasExpired && reduced < full
  }

  /// Returns the SETTINGS to send if the limit has changed since the last announcement.
  ///
  /// - Parameter imposed: a limit that replaces all others; 0 for none.
  mutating func announcement(imposed: UInt32) -> HTTP2Settings? {
    let limit = imposed > 0 ? imposed : wanted
    guard limit != announced else { return nil }
    announced = limit
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = limit
    return settings
  }
}
