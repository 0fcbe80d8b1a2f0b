/// Writes JSON on one line, members in the order they are given: commas and escapes are its business, brackets are the
/// caller's.
public struct JSONWriter: Sendable {
  /// What has been written so far.
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// An empty writer.
  public init() {}

  /// The text written so far.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Hands over what has been written since the last time.
  public mutating func take() -> [UInt8] {
    defer {
      bytes = []
      needsComma = false
    }
    return bytes
  }

  /// Ends a line, for NDJSON.
  public mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  /// The name of a member; its value comes next.
  public mutating func name(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// A string; `nil` writes `null`.
  public mutating func value(_ text: String?) {
    guard let text else { return null() }
    separate()
    quote(text)
    needsComma = true
  }

  /// A number; `nil` writes `null`.
  public mutating func value(_ number: Int?) {
    guard let number else { return null() }
    literal("\(number)")
  }

  /// A number; `null` for an infinite one and for what is no number, which JSON lacks.
  public mutating func value(_ number: Double) {
    // Swift writes the fewest digits that read back as the same number, in a form that RFC 8259 section 6 has.
    number.isFinite ? literal("\(number)") : null()
  }

  public mutating func value(_ bool: Bool) { literal(bool ? "true" : "false") }

  public mutating func null() { literal("null") }

  /// An object with one member, a string.
  public static func object(_ name: String, _ text: String) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member(name, text)
    json.endObject()
    return json.text
  }

  /// JSON that is already written.
  public mutating func raw(_ json: some Sequence<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// A member with a string; `nil` writes `null`.
  public mutating func member(_ name: String, _ text: String?) {
    self.name(name)
    value(text)
  }

  /// A member with a number; `nil` writes `null`.
  public mutating func member(_ name: String, _ number: Int?) {
    self.name(name)
    value(number)
  }

  /// A member with a number; `null` for one that JSON lacks.
  public mutating func member(_ name: String, _ number: Double) {
    self.name(name)
    value(number)
  }

  public mutating func member(_ name: String, _ bool: Bool) {
    self.name(name)
    value(bool)
  }

  private mutating func literal(_ text: String) {
    separate()
    bytes.append(contentsOf: text.utf8)
    needsComma = true
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }

  /// A text as it stands in a JSON string, without the quotes around it.
  static func escaped(_ text: String) -> [UInt8] {
    var json = JSONWriter()
    json.value(text)
    return Array(json.bytes.dropFirst().dropLast())
  }

  /// RFC 8259, 7: quote, backslash and what is below 0x20 must be escaped, nothing else.
  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case UInt8(ascii: "\n"): bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
      case 0..<0x20:
        bytes.append(contentsOf: Array("\\u00".utf8))
        bytes.append(Hex.digits[Int(byte >> 4)])
        bytes.append(Hex.digits[Int(byte & 15)])
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
