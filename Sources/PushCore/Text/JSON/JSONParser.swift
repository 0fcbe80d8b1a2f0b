import TextInput

/// Strict recursive descent parser for JSON bytes. The nesting depth is limited, which also limits the stack.
struct JSONParser {
  private let bytes: [UInt8]
  private let maximumDepth: Int
  private let allowsRepeats: Bool
  private var position = 0
  private var depth = 0

  init(bytes: [UInt8], maximumDepth: Int, allowsRepeats: Bool) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
    self.allowsRepeats = allowsRepeats
  }

  /// Returns whether a byte is white space of RFC 8259.
  static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  mutating func parseDocument() throws(JSONSyntaxError) -> JSONValue {
    if bytes.starts(with: ByteOrderMark.bytes) { position = ByteOrderMark.bytes.count }
    skipBlanks()
    guard position < bytes.count else { throw error("expected a JSON value, found nothing") }
    let value = try parseValue()
    skipBlanks()
    guard position == bytes.count else { throw error("expected the end of the text, found \(found)") }
    return value
  }

  private mutating func parseValue() throws(JSONSyntaxError) -> JSONValue {
    let start = position
    let kind: JSONValue.Kind
    guard let first = peek() else { throw error("expected a JSON value, found the end") }
    switch first {
    case UInt8(ascii: "{"):
      try descend()
      kind = .object(try parseMembers())
      depth -= 1
    case UInt8(ascii: "["):
      try descend()
      kind = .array(try parseElements())
      depth -= 1
    case UInt8(ascii: "\""): kind = .string(try parseString())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): kind = .number(try parseNumber())
    case UInt8(ascii: "t"): kind = try parseWord("true", .bool(true))
    case UInt8(ascii: "f"): kind = try parseWord("false", .bool(false))
    case UInt8(ascii: "n"): kind = try parseWord("null", .null)
    default: throw error("expected a JSON value, found \(found)")
    }
    return JSONValue(kind: kind, range: start..<position)
  }

  /// Moves past an opening bracket. After an error, the depth is not reduced, because the parser stops.
  private mutating func descend() throws(JSONSyntaxError) {
    guard depth < maximumDepth else { throw error("nested more than \(maximumDepth) deep") }
    depth += 1
    position += 1
  }

  private mutating func parseMembers() throws(JSONSyntaxError) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    var names: Set<String> = []
    skipBlanks()
    if take(UInt8(ascii: "}")) { return members }
    while true {
      skipBlanks()
      let start = position
      guard peek() == UInt8(ascii: "\"") else { throw error("expected a member name in quotes, found \(found)") }
      let name = try parseString()
      let nameRange = start..<position
      guard names.insert(name).inserted || allowsRepeats else {
        throw error("\(Excerpt.quoted(name)) appears twice in one object", at: start)
      }
      skipBlanks()
      guard take(UInt8(ascii: ":")) else { throw error("expected ':', found \(found)") }
      skipBlanks()
      members.append(JSONValue.Member(name: name, nameRange: nameRange, value: try parseValue()))
      skipBlanks()
      if take(UInt8(ascii: "}")) { return members }
      guard take(UInt8(ascii: ",")) else { throw error("expected ',' or '}', found \(found)") }
    }
  }

  private mutating func parseElements() throws(JSONSyntaxError) -> [JSONValue] {
    var elements: [JSONValue] = []
    skipBlanks()
    if take(UInt8(ascii: "]")) { return elements }
    while true {
      skipBlanks()
      elements.append(try parseValue())
      skipBlanks()
      if take(UInt8(ascii: "]")) { return elements }
      guard take(UInt8(ascii: ",")) else { throw error("expected ',' or ']', found \(found)") }
    }
  }

  private mutating func parseWord(
    _ word: StaticString, _ kind: JSONValue.Kind
  ) throws(JSONSyntaxError) -> JSONValue.Kind {
    let start = position
    let matches = word.withUTF8Buffer { letters in letters.elementsEqual(bytes[position...].prefix(letters.count)) }
    guard matches else { throw error("expected '\(word)' or another value; put a text in quotes", at: start) }
    position += word.utf8CodeUnitCount
    return kind
  }

  private mutating func parseNumber() throws(JSONSyntaxError) -> String {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try takeDigits() }
    if take(UInt8(ascii: ".")) { try takeDigits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try takeDigits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func takeDigits() throws(JSONSyntaxError) {
    let start = position
    while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    guard position > start else { throw error("expected a digit, found \(found)") }
  }

  private mutating func parseString() throws(JSONSyntaxError) -> String {
    let start = position
    position += 1
    let plain = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return try decode(plain..<position, stringAt: start)
      case UInt8(ascii: "\\"):
        return try parseEscapedString(from: plain, stringAt: start)
      case 0..<0x20:
        throw error("a control character in a string must be written as an escape")
      default:
        position += 1
      }
    }
    throw error("a string is not closed", at: start)
  }

  /// Parses the rest of a string from its first escape on; the text before the escape is `bytes[plain..<position]`.
  private mutating func parseEscapedString(from plain: Int, stringAt start: Int) throws(JSONSyntaxError) -> String {
    var text = try decode(plain..<position, stringAt: start)
    while position < bytes.count {
      let run = position
      while position < bytes.count, bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\""),
        bytes[position] != UInt8(ascii: "\\")
      {
        position += 1
      }
      text += try decode(run..<position, stringAt: start)
      guard position < bytes.count else { break }
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return text
      case UInt8(ascii: "\\"):
        text.unicodeScalars.append(try parseEscape())
      default:
        throw error("a control character in a string must be written as an escape")
      }
    }
    throw error("a string is not closed", at: start)
  }

  private mutating func parseEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
    let start = position
    position += 1
    guard position < bytes.count else { throw error("a string is not closed", at: start) }
    let letter = bytes[position]
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try parseUnicodeEscape(at: start)
    default: throw error("an unknown escape", at: start)
    }
  }

  /// Parses the rest of `\uXXXX`, and the following `\uXXXX` if the first one is a high surrogate.
  private mutating func parseUnicodeEscape(at start: Int) throws(JSONSyntaxError) -> Unicode.Scalar {
    let first = try parseHexQuad()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw error("half of a surrogate pair", at: start)
    }
    let second = try parseHexQuad()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    else { throw error("half of a surrogate pair", at: start) }
    return scalar
  }

  private mutating func parseHexQuad() throws(JSONSyntaxError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = peek(), let digit = Hex.value(of: byte) else {
        throw error("expected four hex digits, found \(found)")
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  private func decode(_ range: Range<Int>, stringAt start: Int) throws(JSONSyntaxError) -> String {
    guard let text = String(validating: bytes[range], as: UTF8.self) else {
      throw error("a string that is not UTF-8", at: start)
    }
    return text
  }

  private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while position < bytes.count, Self.isBlank(bytes[position]) { position += 1 }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  /// Description of the text at the position, for error messages.
  private var found: String {
    guard let byte = peek() else { return "the end" }
    return (0x21...0x7E).contains(byte) ? "'\(Unicode.Scalar(byte))'" : "byte 0x" + String(byte, radix: 16)
  }

  private func error(_ message: String, at offset: Int? = nil) -> JSONSyntaxError {
    JSONSyntaxError(TextPosition(of: offset ?? position, in: bytes), message: message)
  }
}
