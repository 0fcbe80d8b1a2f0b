import CommandSupport
import TextInput

/// A reader of lines. It reads the file in chunks and holds at most one chunk and one line.
struct LineReader: ~Copyable {
  /// One line without its line break.
  struct Line {
    /// The line's number, from 1.
    var number: Int
    /// The line's text; `nil` if the line is too long or not UTF-8.
    var text: String?
  }

  private let file: InputFile
  private let maximumLength: Int
  private var pending: [UInt8] = []
  private var number = 0
  /// Whether the reader is inside a line that is too long.
  private var isSkipping = false
  private var isAtEnd = false

  /// - Parameter maximumLength: the maximum length of a line in bytes. A longer line has no text.
  init(_ file: InputFile, maximumLength: Int) {
    self.file = file
    self.maximumLength = maximumLength
  }

  /// Returns the lines that the next chunk completes; none at the end of the file.
  mutating func read() throws(FileError) -> [Line] {
    var lines: [Line] = []
    while lines.isEmpty, !isAtEnd {
      let chunk = try file.read()
      isAtEnd = chunk.isEmpty
      take(chunk[...], &lines)
      if isAtEnd, !pending.isEmpty || isSkipping { end(&lines) }
    }
    return lines
  }

  private mutating func take(_ chunk: ArraySlice<UInt8>, _ lines: inout [Line]) {
    var rest = chunk
    while let feed = rest.firstIndex(of: UInt8(ascii: "\n")) {
      keep(rest[..<feed])
      end(&lines)
      rest = rest[(feed + 1)...]
    }
    keep(rest)
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    guard !isSkipping else { return }
    pending += bytes
    // In addition, allow one byte for the carriage return in files from Windows, and the bytes of a byte order mark.
    isSkipping = pending.count > maximumLength + 1 + ByteOrderMark.bytes.count
  }

  private mutating func end(_ lines: inout [Line]) {
    number += 1
    // A pipe may deliver the byte order mark in parts, so it is removed only when the first line is complete.
    if number == 1 { pending = ByteOrderMark.dropped(from: pending) }
    if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
    let isGood = !isSkipping && pending.count <= maximumLength
    lines.append(Line(number: number, text: isGood ? String(validating: pending, as: UTF8.self) : nil))
    pending.removeAll(keepingCapacity: true)
    isSkipping = false
  }
}
