/// Writer of JSON on one line, with members in the given order. The writer adds commas and escapes; the caller opens
/// and closes the brackets.
public struct JSONWriter: Sendable {
  /// Bytes that were written since the last ``take()``.
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// Creates an empty writer.
  public init() {}

  /// Text that was written since the last ``take()``.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Returns the bytes that were written since the last call.
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

  /// Writes the name of a member; its value must follow.
  public mutating func name(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a string; `nil` becomes `null`.
  public mutating func value(_ text: String?) {
    guard let text else { return null() }
    separate()
    quote(text)
    needsComma = true
  }

  /// Writes a number; `nil` becomes `null`.
  public mutating func value(_ number: Int?) {
    guard let number else { return null() }
    literal("\(number)")
  }

  /// Writes a number; an infinite number or NaN becomes `null`, because JSON has no such numbers.
  public mutating func value(_ number: Double) {
    // Swift's notation of a number is valid JSON (RFC 8259, section 6), with as few digits as possible.
    number.isFinite ? literal("\(number)") : null()
  }

  public mutating func value(_ bool: Bool) { literal(bool ? "true" : "false") }

  public mutating func null() { literal("null") }

  /// Returns the text of an object.
  ///
  /// - Parameter members: writes the members.
  public static func object(_ members: (inout JSONWriter) throws -> Void) rethrows -> String {
    var json = JSONWriter()
    try json.object(members)
    return json.text
  }

  /// Returns the text of an object with one member, a string.
  public static func object(_ name: String, _ text: String) -> String { object { $0.member(name, text) } }

  /// Writes an object.
  ///
  /// - Parameter members: writes the members.
  public mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
    beginObject()
    try members(&self)
    endObject()
  }

  /// Writes a member with an object.
  public mutating func object(_ name: String, _ members: (inout JSONWriter) throws -> Void) rethrows {
    self.name(name)
    try object(members)
  }

  /// Writes a member with an array.
  ///
  /// - Parameter write: writes one element.
  public mutating func array<Element>(
    _ name: String, _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    self.name(name)
    beginArray()
    for element in elements { try write(&self, element) }
    endArray()
  }

  /// Writes a member with an array of strings.
  public mutating func array(_ name: String, _ texts: some Sequence<String>) {
    array(name, texts) { $0.value($1) }
  }

  /// Writes a member with an array of objects.
  ///
  /// - Parameter members: writes the members of one object.
  public mutating func objects<Element>(
    _ name: String, _ elements: some Sequence<Element>, _ members: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    try array(name, elements) { json, element in try json.object { try members(&$0, element) } }
  }

  /// Writes JSON text unchanged.
  public mutating func raw(_ json: some Sequence<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
    needsComma = true
  }

  /// Writes a member with a string; `nil` becomes `null`.
  public mutating func member(_ name: String, _ text: String?) {
    self.name(name)
    value(text)
  }

  /// Writes a member with a number; `nil` becomes `null`.
  public mutating func member(_ name: String, _ number: Int?) {
    self.name(name)
    value(number)
  }

  /// Writes a member with a number; an infinite number or NaN becomes `null`.
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

  /// Returns a text with the escapes of a JSON string, without the quotes around it.
  static func escaped(_ text: String) -> [UInt8] {
    var json = JSONWriter()
    json.value(text)
    return Array(json.bytes.dropFirst().dropLast())
  }

  /// Writes a string. RFC 8259, section 7, requires escapes for the quote, the backslash and all bytes below 0x20, and
  /// for nothing else.
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
