/// Checks that libmicrohttpd has reported every byte of the head of a request.
///
/// Before version 1.0, libmicrohttpd silently accepts a NUL as the end of a name, a value or the whole head. It also
/// accepts a bare LF as the end of a line, and joins folded lines. A proxy could therefore see another request than
/// this server. libmicrohttpd parses in place, and overwrites every separator byte with a NUL. The reported pieces must
/// therefore fill the head exactly, with one separator between the words of the first line and two after each line.
/// Otherwise the head contains bytes that were not reported. A NUL immediately before a bare LF can't be distinguished
/// from CR LF, but both end the line.
enum RequestLayout {
  /// The position of a reported text in the head.
  struct Piece {
    /// Offset in bytes from the start of the method.
    var start: Int
    var count: Int

    var end: Int { start + count }
  }

  /// Returns whether the pieces fill the head exactly.
  ///
  /// - Parameter head: The bytes from the method to the empty line, both included.
  static func isExact(
    _ head: UnsafeRawBufferPointer, method: Piece, target: Piece, version: Piece, fields: [(name: Piece, value: Piece)]
  ) -> Bool {
    guard method.start == 0, target.start == method.end + 1, version.start == target.end + 1,
      var place = endOfLine(after: version.end, in: head)
    else { return false }
    for (name, value) in fields {
      let gap = name.end + 1..<max(name.end + 1, value.start)
      guard name.start == place, gap.upperBound == value.start, gap.upperBound <= head.count,
        gap.allSatisfy({ head[$0] == UInt8(ascii: " ") || head[$0] == UInt8(ascii: "\t") }),
        let next = endOfLine(after: value.end, in: head)
      else { return false }
      place = next
    }
    return endOfLine(after: place, in: head) == head.count
  }

  /// Returns the start of the next line; `nil` if no line ends there.
  private static func endOfLine(after place: Int, in head: UnsafeRawBufferPointer) -> Int? {
    guard place >= 0, place + 2 <= head.count, head[place] == 0, head[place + 1] == 0 else { return nil }
    return place + 2
  }
}
