/// Splits a stream of bytes into lines.
struct LineSplitter {
  private var rest: [UInt8] = []

  /// - Returns: the lines that `bytes` complete, without their line breaks.
  mutating func feed(_ bytes: some Sequence<UInt8>) -> [String] {
    var lines: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        lines.append(String(decoding: rest, as: UTF8.self))
        rest.removeAll(keepingCapacity: true)
      } else {
        rest.append(byte)
      }
    }
    return lines
  }

  /// Returns the last line if it has no line break.
  mutating func finish() -> String? {
    defer { rest = [] }
    return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
  }
}
