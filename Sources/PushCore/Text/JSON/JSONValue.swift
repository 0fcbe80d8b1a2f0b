/// Value of a JSON text with its range in the text. An error can refer to the range, and the value can be copied byte
/// for byte.
public struct JSONValue: Sendable {
  /// Kind of a value.
  public enum Kind: Sendable {
    case object([Member])
    case array([JSONValue])
    case string(String)
    /// Number as written. The caller converts the digits.
    case number(String)
    case bool(Bool)
    case null
  }

  /// Member of an object.
  public struct Member: Sendable {
    public let name: String
    /// Range of the name in the text, including the quotes.
    public let nameRange: Range<Int>
    public let value: JSONValue
  }

  /// Kind and content of the value.
  public let kind: Kind
  /// Range of the value in the text.
  public let range: Range<Int>

  /// Parses a whole text in UTF-8. The parser accepts exactly RFC 8259, except that a name must not repeat in an
  /// object.
  ///
  /// - Parameters:
  ///   - bytes: the text; a byte order mark at its start is skipped, as RFC 8259, section 8.1, allows.
  ///   - maximumDepth: the maximum nesting of objects and arrays.
  ///   - allowsRepeats: whether a name may repeat in an object. Use `true` in a caller that reports repeated names
  ///     itself.
  public init(parsing bytes: [UInt8], maximumDepth: Int, allowsRepeats: Bool = false) throws(JSONSyntaxError) {
    var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth, allowsRepeats: allowsRepeats)
    self = try parser.parseDocument()
  }

  init(kind: Kind, range: Range<Int>) {
    self.kind = kind
    self.range = range
  }

  /// Name of the kind, for error messages.
  public var kindName: String {
    switch kind {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .number: "a number"
    case .bool: "a boolean"
    case .null: "null"
    }
  }

  /// Returns a copy of the text without the white space between tokens. All other bytes stay the same.
  ///
  /// - Parameter json: a valid JSON text, or the ``range`` of a value in one.
  public static func minified(_ json: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(json.count)
    var inString = false
    var escaped = false
    for byte in json {
      if inString {
        if escaped {
          escaped = false
        } else if byte == UInt8(ascii: "\\") {
          escaped = true
        } else if byte == UInt8(ascii: "\"") {
          inString = false
        }
      } else if byte == UInt8(ascii: "\"") {
        inString = true
      } else if JSONParser.isBlank(byte) {
        continue
      }
      result.append(byte)
    }
    return result
  }
}

extension [JSONValue.Member] {
  /// Returns the value of the member with this name; `nil` if there is no such member, or if its value is `null`.
  public func value(_ name: String) -> JSONValue? {
    guard let value = first(where: { $0.name == name })?.value else { return nil }
    if case .null = value.kind { return nil }
    return value
  }
}
