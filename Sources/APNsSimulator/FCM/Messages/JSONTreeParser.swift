/// A strict parser of JSON (RFC 8259) into a ``JSONTree``.
struct JSONTreeParser {
  private struct Malformed: Error {}

  /// Maximum depth of nested values. Google's parser has the same limit.
  private static let deepest = 100

  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  /// Returns the value; `nil` if the text is not one JSON value in UTF-8.
  static func parse(_ text: [UInt8]) -> JSONTree? {
    text.withUnsafeBytes { bytes in
      var parser = JSONTreeParser(bytes: bytes)
      guard let value = try? parser.value(depth: 0) else { return nil }
      parser.skipBlanks()
      return parser.place == bytes.count ? value : nil
    }
  }

  private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipBlanks() {
    while let byte = peek, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D { place += 1 }
  }

  private mutating func expect(_ byte: UInt8) throws {
    guard peek == byte else { throw Malformed() }
    place += 1
  }

  private mutating func value(depth: Int) throws -> JSONTree {
    guard depth < Self.deepest else { throw Malformed() }
    skipBlanks()
    switch peek {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSONTree) throws -> JSONTree {
    guard bytes.dropping(place).begins(with: word) else { throw Malformed() }
    place += word.utf8CodeUnitCount
    return value
  }

  private mutating func object(depth: Int) throws -> JSONTree {
    try expect(UInt8(ascii: "{"))
    var members: [JSONTree.Member] = []
    skipBlanks()
    if peek == UInt8(ascii: "}") {
      place += 1
      return .object([])
    }
    while true {
      skipBlanks()
      let name = try string()
      skipBlanks()
      try expect(UInt8(ascii: ":"))
      members.append(.init(name: name, value: try value(depth: depth + 1)))
      skipBlanks()
      if peek == UInt8(ascii: ",") {
        place += 1
      } else {
        try expect(UInt8(ascii: "}"))
        return .object(members)
      }
    }
  }

  private mutating func array(depth: Int) throws -> JSONTree {
    try expect(UInt8(ascii: "["))
    var values: [JSONTree] = []
    skipBlanks()
    if peek == UInt8(ascii: "]") {
      place += 1
      return .array([])
    }
    while true {
      values.append(try value(depth: depth + 1))
      skipBlanks()
      if peek == UInt8(ascii: ",") {
        place += 1
      } else {
        try expect(UInt8(ascii: "]"))
        return .array(values)
      }
    }
  }

  private mutating func number() throws -> String {
    let start = place
    if peek == UInt8(ascii: "-") { place += 1 }
    let first = place
    let whole = digits()
    guard whole > 0, whole == 1 || bytes[first] != UInt8(ascii: "0") else { throw Malformed() }
    if peek == UInt8(ascii: ".") {
      place += 1
      guard digits() > 0 else { throw Malformed() }
    }
    if let byte = peek, byte | 0x20 == UInt8(ascii: "e") {
      place += 1
      if let sign = peek, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { place += 1 }
      guard digits() > 0 else { throw Malformed() }
    }
    return String(decoding: bytes[start..<place], as: UTF8.self)
  }

  private mutating func digits() -> Int {
    let start = place
    while let byte = peek, (0x30...0x39).contains(byte) { place += 1 }
    return place - start
  }

  private mutating func string() throws -> String {
    try expect(UInt8(ascii: "\""))
    let start = place
    while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { place += 1 }
    var text = try Self.decoded(bytes[start..<place])
    while let byte = peek, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw Malformed() }
      if byte == UInt8(ascii: "\\") {
        text.unicodeScalars.append(try escape())
      } else {
        let start = place
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { place += 1 }
        text += try Self.decoded(bytes[start..<place])
      }
    }
    try expect(UInt8(ascii: "\""))
    return text
  }

  private static func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed() }
    return text
  }

  private mutating func escape() throws -> Unicode.Scalar {
    place += 1
    guard let byte = peek else { throw Malformed() }
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hex()
      guard (0xD800...0xDBFF).contains(unit) else { return try Self.scalar(unit) }
      try expect(UInt8(ascii: "\\"))
      try expect(UInt8(ascii: "u"))
      let low = try hex()
      guard (0xDC00...0xDFFF).contains(low) else { throw Malformed() }
      return try Self.scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    default: throw Malformed()
    }
  }

  private static func scalar(_ value: UInt32) throws -> Unicode.Scalar {
    guard let scalar = Unicode.Scalar(value) else { throw Malformed() }
    return scalar
  }

  private mutating func hex() throws -> UInt32 {
    guard place + 4 <= bytes.count else { throw Malformed() }
    var value: UInt32 = 0
    for byte in bytes[place..<(place + 4)] {
      let digit = Hex.value(byte)
      guard digit <= 0x0F else { throw Malformed() }
      value = value << 4 | UInt32(digit)
    }
    place += 4
    return value
  }
}
