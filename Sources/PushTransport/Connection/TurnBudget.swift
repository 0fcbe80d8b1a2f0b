/// Limit for the data that a connection through libcurl reads in one turn, because libcurl reads until the socket is
/// empty.
///
/// libcurl 7.88.1 continues to read while the socket has data that belongs to no transfer (`cf_h2_recv` in
/// lib/http2.c). A fast server could therefore block the engine's thread forever.
struct TurnBudget {
  private var records = 0
  private var bytes = 0

  /// Maximum number of TLS records. An answer needs a few records, and at most some thousand pushes are in flight on a
  /// connection. Reading 16,384 small records takes about 50 ms.
  static let maximumRecords = 16_384
  /// Maximum number of bytes in these records: 16 kB for each of a thousand answers; real answers have some hundred
  /// bytes. If the bytes consist of the smallest frames, reading them takes about 100 ms.
  static let maximumBytes = 16_777_216

  /// Reason for closing a connection that exceeds the limit.
  static let text =
    "the service sends data without end and answers nothing, so the connection was closed: check the app's endpoint and any "
    + "proxy on the way there"

  /// Begins another turn.
  mutating func restart() { self = TurnBudget() }

  /// Counts a record.
  ///
  /// - Returns: whether the turn may continue.
  mutating func take(bytes count: Int) -> Bool {
    records += 1
    bytes += count
    return records <= Self.maximumRecords && bytes <= Self.maximumBytes
  }
}
