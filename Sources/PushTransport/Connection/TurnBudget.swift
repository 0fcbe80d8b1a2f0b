/// How much of what a server sends is read in one turn of an engine whose transport reads until nothing is left. Pure.
///
/// libcurl 7.88.1 goes on reading as long as the socket has data and the transfer gets none of it (`cf_h2_recv` in
/// lib/http2.c), so a server that sends faster than frames are read would keep the engine's thread for ever.
struct TurnBudget {
  private var records = 0
  private var bytes = 0

  /// TLS records: an answer takes a few, and at most some thousand pushes are under way on a connection. Reading as many
  /// small ones takes some 50 ms.
  static let mostRecords = 16_384
  /// Bytes in them: 16 kB for each of a thousand answers, where real ones have some hundred bytes. Full of the smallest
  /// frames, so many take some 100 ms.
  static let mostBytes = 16_777_216

  /// Why a connection is given up that exceeds it.
  static let text =
    "the service sends data without end and answers nothing, so the connection was closed: check the app's endpoint and any "
    + "proxy on the way there"

  /// Another turn begins.
  mutating func restart() { self = TurnBudget() }

  /// Takes note of a record.
  ///
  /// - Returns: whether the turn may go on.
  mutating func take(bytes count: Int) -> Bool {
    records += 1
    bytes += count
    return records <= Self.mostRecords && bytes <= Self.mostBytes
  }
}
