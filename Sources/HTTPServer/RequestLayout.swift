/// Compares the head of a request with what libmicrohttpd says is in it.
///
/// Before version 1.0 libmicrohttpd takes a NUL for the end of a name, a value or the whole head, takes a bare LF for the end
/// of a line, and joins folded lines, all without a word. It parses in place and puts a NUL over every byte that separates.
/// So where the pieces it reports don't fill the head exactly, with one separator between the words of the first line and two
/// behind each line, something was hidden. A NUL right before a bare LF looks like CR LF; both end the line.
enum RequestLayout {
  /// A text of the head.
  struct Piece {
    /// Bytes from the beginning of the method.
    var start: Int
    var count: Int

    var end: Int { start + count }
  }

  /// Whether nothing is hidden between the pieces.
  ///
  /// - Parameter head: from the method to the empty line, both included.
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

  /// Where the next line begins; `nil` without an end of a line there.
  private static func endOfLine(after place: Int, in head: UnsafeRawBufferPointer) -> Int? {
    guard place >= 0, place + 2 <= head.count, head[place] == 0, head[place + 1] == 0 else { return nil }
    return place + 2
  }
}
