/// What a client asks for.
public struct HTTPRequest: Sendable {
  /// As it came: `GET`.
  public var method: String
  /// The path, decoded piece by piece: `/a%2Fb/c` is `["a/b", "c"]`, `/` is empty.
  public var path: [String]
  /// The query, decoded, in the order in which it came.
  public var query: [(name: String, value: String)]
  /// The headers, in the order in which they came.
  public var headers: [(name: String, value: String)]
  /// Empty until all of it has come.
  public var body: [UInt8] = []

  /// Memberwise, without a body.
  public init(
    method: String, path: [String], query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }

  /// The value of a header, whatever the case of its name (RFC 9110 section 5.1).
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Percent-encoding (RFC 3986 section 2.1).
enum PercentText {
  /// - Parameter isForm: whether a plus is a blank, as in a query that a form has made.
  /// - Returns: `nil` where it is none, is no UTF-8, or has a character below a blank.
  static func decode(_ text: ArraySlice<UInt8>, isForm: Bool = false) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      var byte = byte
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
        byte = high << 4 | low
      } else if isForm, byte == UInt8(ascii: "+") {
        byte = UInt8(ascii: " ")
      }
      guard byte >= 0x20, byte != 0x7f else { return nil }
      bytes.append(byte)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The pieces of a path; `nil` where one can't be decoded.
  static func path(_ path: ArraySlice<UInt8>) -> [String]? {
    guard path.first == UInt8(ascii: "/") else { return nil }
    guard path.count > 1 else { return [] }
    var pieces: [String] = []
    for piece in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let piece = decode(piece) else { return nil }
      pieces.append(piece)
    }
    return pieces
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
