/// Fields of one CSV record, as ranges of the bytes that contain it.
struct CSVFields: Sendable {
  private var ranges: [Range<Int>] = []
  /// Whether each field contains a doubled quote.
  private var doubled: [Bool] = []

  var count: Int { ranges.count }

  /// Returns the text of a field; `nil` if it is not UTF-8.
  func text(_ index: Int, in bytes: [UInt8]) -> String? {
    guard doubled[index] else { return String(validating: bytes[ranges[index]], as: UTF8.self) }
    var plain: [UInt8] = []
    var wasQuote = false
    for byte in bytes[ranges[index]] {
      wasQuote = byte == UInt8(ascii: "\"") && !wasQuote
      // Only the second of two quotes in a row is part of the text.
      if !wasQuote { plain.append(byte) }
    }
    return String(validating: plain, as: UTF8.self)
  }

  /// Returns whether a field has quotes.
  func isQuoted(_ index: Int, in bytes: [UInt8]) -> Bool {
    let start = ranges[index].lowerBound
    // The range of a quoted field begins after its opening quote. Any other field follows a comma or a line break, or
    // is at the start of the file.
    return start > 0 && bytes[start - 1] == UInt8(ascii: "\"")
  }

  /// Finds the fields of the record at the beginning of `range`, according to RFC 4180.
  mutating func scan(_ bytes: [UInt8], in range: Range<Int>, isFinal: Bool) -> RecordStep {
    ranges.removeAll(keepingCapacity: true)
    doubled.removeAll(keepingCapacity: true)
    // The buffer is used only within this call.
    return bytes.withUnsafeBufferPointer { buffer in
      scan(UnsafeBufferPointer(rebasing: buffer[..<range.upperBound]), from: range.lowerBound, isFinal: isFinal)
    }
  }

  private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isFinal: Bool) -> RecordStep {
    var position = start
    var lines = 0
    while true {
      if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
        switch scanQuoted(bytes, at: &position, lines: &lines, isFinal: isFinal) {
        case nil: break
        case let step?: return step
        }
      } else {
        let field = position
        while position < bytes.count, !isSpecial(bytes[position]) { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
          return .malformed("a quote inside a field that doesn't begin with a quote")
        }
        append(field..<position, doubled: false)
      }
      guard position < bytes.count else {
        return isFinal ? .record(content: start..<position, next: position, lines: lines) : .needsMore
      }
      switch bytes[position] {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "\n"): return .record(content: start..<position, next: position + 1, lines: lines + 1)
      default:
        // The byte is a carriage return. Its line feed may be the first byte of the next chunk.
        guard position + 1 < bytes.count || isFinal else { return .needsMore }
        let isPair = position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "\n")
        return .record(content: start..<position, next: position + (isPair ? 2 : 1), lines: lines + 1)
      }
    }
  }

  /// Scans a quoted field. Returns `nil` if a comma, a line break or the end of the file follows the field.
  private mutating func scanQuoted(
    _ bytes: UnsafeBufferPointer<UInt8>, at position: inout Int, lines: inout Int, isFinal: Bool
  ) -> RecordStep? {
    let field = position + 1
    var hasDoubled = false
    position = field
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        if position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\"") {
          hasDoubled = true
          position += 2
          continue
        }
        guard position + 1 < bytes.count || isFinal else { return .needsMore }
        append(field..<position, doubled: hasDoubled)
        position += 1
        if position < bytes.count, !isSpecial(bytes[position]) || bytes[position] == UInt8(ascii: "\"") {
          return .malformed("text after a closing quote")
        }
        return nil
      case UInt8(ascii: "\n"): lines += 1
      case UInt8(ascii: "\r") where position + 1 < bytes.count && bytes[position + 1] != UInt8(ascii: "\n"): lines += 1
      default: break
      }
      position += 1
    }
    return isFinal ? .malformed("a quote is not closed") : .needsMore
  }

  private mutating func append(_ range: Range<Int>, doubled: Bool) {
    ranges.append(range)
    self.doubled.append(doubled)
  }

  private func isSpecial(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\"")
  }
}
