/// Reads `{"name":"text","name":123}` without copying. Nested values and escapes are not supported; `null` is an empty
/// value.
struct FlatObjectScanner {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0
  private var isFirst = true

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Returns the next pair, or `nil` after the last one.
  mutating func next() throws(DeviceLine.Problem) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
    if isFirst { try expect(UInt8(ascii: "{")) }
    skipBlanks()
    if peek == UInt8(ascii: "}") {
      place += 1
      skipBlanks()
      if peek != nil { throw DeviceLine.Problem("text behind the object") }
      return nil
    }
    if !isFirst { try expect(UInt8(ascii: ",")) }
    isFirst = false
    skipBlanks()
    let name = try text()
    skipBlanks()
    try expect(UInt8(ascii: ":"))
    skipBlanks()
    return (name, peek == UInt8(ascii: "\"") ? try text() : try number())
  }

  private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipBlanks() {
    while let byte = peek, byte == 0x20 || byte == 0x09 { place += 1 }
  }

  private mutating func expect(_ byte: UInt8) throws(DeviceLine.Problem) {
    guard peek == byte else {
      throw DeviceLine.Problem("no JSON object: \(Character(Unicode.Scalar(byte))) expected at byte \(place + 1)")
    }
    place += 1
  }

  private mutating func text() throws(DeviceLine.Problem) -> UnsafeRawBufferPointer {
    try expect(UInt8(ascii: "\""))
    let start = place
    while let byte = peek, byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\") { throw DeviceLine.Problem("escapes are not understood here") }
      place += 1
    }
    let value = UnsafeRawBufferPointer(rebasing: bytes[start..<place])
    try expect(UInt8(ascii: "\""))
    return value
  }

  private mutating func number() throws(DeviceLine.Problem) -> UnsafeRawBufferPointer {
    let start = place
    while let byte = peek, byte != UInt8(ascii: ","), byte != UInt8(ascii: "}"), byte != 0x20 { place += 1 }
    let value = UnsafeRawBufferPointer(rebasing: bytes[start..<place])
    return value.matches("null") ? UnsafeRawBufferPointer(start: nil, count: 0) : value
  }
}
