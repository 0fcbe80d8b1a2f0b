/// GOAWAY that libcurl reports only in its verbose text: `received GOAWAY, error=0, last_stream=0` (lib/http2.c; 7.88
/// writes `recveived`, some versions add `[HTTP/2] ` before it). libcurl does not report the other contents of the
/// frame.
struct CurlGoAway: Equatable {
  var error: UInt32
  var lastStream: UInt32

  /// Prefix of such a line in some versions of libcurl. The whole line must match, because other lines contain header
  /// values that come from jobs.
  private static let prefix = "[HTTP/2] "
  private static let beginnings = ["received GOAWAY, error=", "recveived GOAWAY, error="]
  private static let middle = ", last_stream="

  /// Creates an instance with these values.
  init(error: UInt32, lastStream: UInt32) {
    self.error = error
    self.lastStream = lastStream
  }

  /// Parses a line of libcurl's verbose text.
  ///
  /// - Returns: `nil` if the line does not report a GOAWAY.
  init?(verbose text: String) {
    var line = text.hasSuffix("\n") ? text.dropLast() : text[...]
    if line.hasPrefix(Self.prefix) { line = line.dropFirst(Self.prefix.count) }
    guard let beginning = Self.beginnings.first(where: { line.hasPrefix($0) }) else { return nil }
    let rest = line.dropFirst(beginning.count)
    guard let middle = rest.firstRange(of: Self.middle), let error = UInt32(rest[..<middle.lowerBound]),
      let lastStream = UInt32(rest[middle.upperBound...])
    else { return nil }
    self.error = error
    self.lastStream = lastStream
  }
}
