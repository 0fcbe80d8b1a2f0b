/// A reason to refuse a request because of its head. The server then closes the connection, because it can't know where
/// the next request starts.
struct RequestFault: Error, Equatable {
  var status = 400
  var reason: String

  init(_ reason: String, status: Int = 400) {
    self.status = status
    self.reason = reason
  }
}

/// The rules for the head of a request that a server behind a proxy must enforce, so that the server and the proxy see
/// the same requests: RFC 9112 sections 2.2, 3.2, 5.1, 5.2 and 6, RFC 9110 sections 5.5, 7.2 and 8.6. Pure.
enum RequestFraming {
  typealias Field = (name: [UInt8], value: [UInt8])

  /// Headers that a request may have only once. If there were two values, a proxy could use one and the server the
  /// other.
  private static let singletons = [
    "authorization", "content-encoding", "content-length", "content-type", "host", "transfer-encoding",
  ]

  /// Throws if the head of a request breaks one of the rules.
  ///
  /// - Parameters:
  ///   - method: The method as received.
  ///   - version: The version as received, such as `HTTP/1.1`.
  ///   - fields: The headers as received. Values may have spaces at their ends.
  static func check(method: [UInt8], version: String, _ fields: [Field]) throws(RequestFault) {
    guard isToken(method) else { throw RequestFault("the method is not a token") }
    var values: [String: [UInt8]] = [:]
    for (name, value) in fields {
      guard isToken(name) else {
        throw RequestFault("the name of a header is not a token: it is empty, or has a blank or another separator")
      }
      guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") }) else {
        throw RequestFault("the value of a header has a control character")
      }
      let known = String(decoding: name, as: UTF8.self).lowercased()
      guard singletons.contains(known) else { continue }
      guard values.updateValue(value, forKey: known) == nil else {
        throw RequestFault("the header \(known) appears more than once")
      }
    }
    if let host = values["host"] {
      guard isHost(trimmed(host)) else { throw RequestFault("the header host is malformed") }
    } else if version != "HTTP/1.0" {
      throw RequestFault("the header host is missing")
    }
    try checkLength(version, values["content-length"], values["transfer-encoding"])
  }

  private static func checkLength(
    _ version: String, _ length: [UInt8]?, _ encoding: [UInt8]?
  ) throws(RequestFault) {
    if let length {
      // A number of 18 digits always fits into 64 bits.
      guard (1...18).contains(length.count), length.allSatisfy(isDigit) else {
        throw RequestFault("the header content-length is not a number of bytes")
      }
    }
    guard let encoding else { return }
    guard length == nil else { throw RequestFault("the request has both content-length and transfer-encoding") }
    guard version != "HTTP/1.0" else { throw RequestFault("HTTP/1.0 has no transfer-encoding") }
    // No spaces may follow the value, because libmicrohttpd recognises only the exact text `chunked`.
    let word = String(decoding: encoding, as: UTF8.self).lowercased()
    guard word == "chunked" else {
      throw word.hasSuffix("chunked")
        ? RequestFault("the transfer-encoding is not supported; use chunked", status: 501)
        : RequestFault("the transfer-encoding does not end with chunked")
    }
  }

  /// Returns whether a text has only characters of a host with an optional port (RFC 3986 section 3.2.2). An empty text
  /// is valid.
  static func isHost(_ text: some Collection<UInt8>) -> Bool {
    text.allSatisfy { isDigit($0) || isLetter($0) || "-._~!$&'()*+;=:%[]".utf8.contains($0) }
  }

  /// Returns a value without the spaces at both ends.
  static func trimmed(_ value: [UInt8]) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let start = value.firstIndex { !isBlank($0) } ?? value.endIndex
    let end = value.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
    return value[start..<end]
  }

  /// Returns whether a text is a token (RFC 9110 section 5.6.2).
  private static func isToken(_ text: [UInt8]) -> Bool {
    !text.isEmpty && text.allSatisfy { isDigit($0) || isLetter($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
}
