/// The parsed target of a request, which is its path and query (RFC 9112 section 3.2).
struct RequestTarget {
  /// The path, split at slashes and then decoded; `["*"]` for the target `*`.
  var path: [String]
  /// The query, decoded, in the order of its arrival.
  var query: [(name: String, value: String)] = []

  /// Maximum number of names in a query. Every route uses fewer than ten.
  static let maximumNames = 64

  /// Parses a target.
  ///
  /// - Parameter text: The target as received: a path, a whole URL, or `*`.
  init(_ text: [UInt8]) throws(RequestFault) {
    guard text.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
      throw RequestFault("the request target has a blank or a control character")
    }
    if text == [UInt8(ascii: "*")] {
      path = ["*"]
      return
    }
    let origin = try Self.origin(text)
    let mark = origin.firstIndex(of: UInt8(ascii: "?")) ?? origin.endIndex
    guard let path = PercentText.path(origin[..<mark]) else {
      throw RequestFault("the path is not percent-encoded UTF-8")
    }
    self.path = path
    let pairs = origin[mark...].dropFirst().split(separator: UInt8(ascii: "&"), maxSplits: Self.maximumNames)
    guard pairs.count <= Self.maximumNames else {
      throw RequestFault("the query has more than \(Self.maximumNames) names")
    }
    for pair in pairs {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      guard let name = PercentText.decode(pair[..<equals], isForm: true),
        let value = PercentText.decode(pair[equals...].dropFirst(), isForm: true)
      else { throw RequestFault("the query is not percent-encoded UTF-8") }
      query.append((name, value))
    }
  }

  /// Returns the path and the query of a target as one text. The target may be a whole URL; its host replaces the
  /// header `Host` (RFC 9112 section 3.2.2). The host is not returned, because this server treats all hosts alike.
  private static func origin(_ text: [UInt8]) throws(RequestFault) -> ArraySlice<UInt8> {
    guard text.first != UInt8(ascii: "/") else { return text[...] }
    let lowered = text.prefix(8).map { $0 | 0x20 }
    for scheme in ["http://", "https://"] where lowered.starts(with: scheme.utf8.map { $0 | 0x20 }) {
      let rest = text.dropFirst(scheme.utf8.count)
      let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
      guard RequestFraming.isHost(rest[..<end]), end > rest.startIndex else {
        throw RequestFault("the host of the request target is malformed")
      }
      return rest[end...].first == UInt8(ascii: "/") ? rest[end...] : [UInt8(ascii: "/")] + rest[end...]
    }
    throw RequestFault("the request target is neither a path nor a URL with http or https")
  }
}
