/// The request of a client.
public struct HTTPRequest: Sendable {
  /// The method as received, such as `GET`.
  public var method: String
  /// The path, split at slashes and then decoded: `/a%2Fb/c` is `["a/b", "c"]`, `/` is empty.
  public var path: [String]
  /// The query, decoded, in the order of its arrival.
  public var query: [(name: String, value: String)]
  /// The headers, in the order of their arrival.
  public var headers: [(name: String, value: String)]
  /// The body; empty until all of it has arrived.
  public var body: [UInt8] = []

  /// Creates a request without a body.
  public init(
    method: String, path: [String], query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
  }

  /// Returns the value of a header. The case of its name does not matter (RFC 9110 section 5.1).
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Percent-encoding (RFC 3986 section 2.1).
enum PercentText {
  /// Decodes a text.
  ///
  /// - Parameter isForm: Whether a plus is a space, as in the query of a form.
  /// - Returns: `nil` if the encoding is invalid, the text is not UTF-8, or it contains a control character.
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

  /// Returns the pieces of a path; `nil` if one of them can't be decoded.
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
