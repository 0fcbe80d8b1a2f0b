import CommandSupport
import TextInput

/// The lines of a file that is read in chunks; what it holds is one chunk and one line.
struct LineReader: ~Copyable {
  /// One line, without its end.
  struct Line {
    /// From 1.
    var number: Int
    /// `nil` when it is too long, or not UTF-8.
    var text: String?
  }

  private let file: InputFile
  private let maximumLength: Int
  private var pending: [UInt8] = []
  private var number = 0
  /// Inside a line that was too long.
  private var isSkipping = false
  private var isAtEnd = false

  /// - Parameter maximumLength: in bytes; longer lines are bad ones.
  init(_ file: InputFile, maximumLength: Int) {
    self.file = file
    self.maximumLength = maximumLength
  }

  /// The next lines: as many as a chunk completes, none at the end.
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
    // One more for the carriage return of files from Windows, and a byte order mark.
    isSkipping = pending.count > maximumLength + 1 + ByteOrderMark.bytes.count
  }

  private mutating func end(_ lines: inout [Line]) {
    number += 1
    // A pipe may give the mark in pieces: only the line is whole.
    if number == 1 { pending = ByteOrderMark.dropped(from: pending) }
    if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
    let isGood = !isSkipping && pending.count <= maximumLength
    lines.append(Line(number: number, text: isGood ? String(validating: pending, as: UTF8.self) : nil))
    pending.removeAll(keepingCapacity: true)
    isSkipping = false
  }
}
