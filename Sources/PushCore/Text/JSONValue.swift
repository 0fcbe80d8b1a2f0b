/// One value of a JSON text, and where in the text it stands: errors can point at it, and it can be copied byte for byte.
public struct JSONValue: Sendable {
  /// What it is.
  public enum Kind: Sendable {
    case object([Member])
    case array([JSONValue])
    case string(String)
    /// A number as it is written: what becomes of its digits is for whoever uses it.
    case number(String)
    case bool(Bool)
    case null
  }

  /// A member of an object, in the order of the text.
  public struct Member: Sendable {
    public let name: String
    /// Where the name stands in the text, quotes included.
    public let nameRange: Range<Int>
    public let value: JSONValue
  }

  /// What it is.
  public let kind: Kind
  /// Its bytes in the text.
  public let range: Range<Int>

  /// Parses a whole text: RFC 8259 in UTF-8, no more and no less, save that names may not repeat in an object.
  ///
  /// - Parameters:
  ///   - bytes: the text; a byte order mark at its start is skipped, as RFC 8259, section 8.1, allows.
  ///   - maximumDepth: how many objects and arrays may stand in each other.
  ///   - allowsRepeats: whether a name may repeat in an object, as it may in RFC 8259; for whoever reports it otherwise.
  public init(parsing bytes: [UInt8], maximumDepth: Int, allowsRepeats: Bool = false) throws(JSONSyntaxError) {
    var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth, allowsRepeats: allowsRepeats)
    self = try parser.parseDocument()
  }

  init(kind: Kind, range: Range<Int>) {
    self.kind = kind
    self.range = range
  }

  /// The kind as messages name it.
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

  /// A copy of the text without the white space between tokens, otherwise byte for byte.
  ///
  /// - Parameter json: a valid JSON text or a value's ``range`` of one.
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
  /// The value of this name; `nil` for none, and for `null`, which is as good as none.
  public func value(_ name: String) -> JSONValue? {
    guard let value = first(where: { $0.name == name })?.value else { return nil }
    if case .null = value.kind { return nil }
    return value
  }
}
