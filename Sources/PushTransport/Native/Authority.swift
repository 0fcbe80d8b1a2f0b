/// Host and port of a URL, which the native engine needs separately.
struct Authority: Equatable {
  /// Name or address, without the brackets of IPv6.
  var host: String
  var port: UInt16

  /// - Parameters:
  ///   - url: `scheme://host[:port]`, with an IPv6 address in brackets; text after a slash is ignored.
  ///   - defaultPort: the port if the URL has none.
  /// - Returns: `nil` if the URL has another scheme or is malformed.
  init?(url: String, scheme: String, defaultPort: UInt16) {
    guard url.hasPrefix("\(scheme)://") else { return nil }
    let rest = url.dropFirst(scheme.count + 3).prefix { $0 != "/" }
    let hasBrackets = rest.hasPrefix("[")
    guard let end = hasBrackets ? rest.firstIndex(of: "]") : rest.lastIndex(of: ":") ?? rest.endIndex else {
      return nil
    }
    host = String(hasBrackets ? rest[rest.index(after: rest.startIndex)..<end] : rest[..<end])
    let tail = hasBrackets ? rest[rest.index(after: end)...] : rest[end...]
    guard !host.isEmpty else { return nil }
    if tail.isEmpty {
      port = defaultPort
    } else {
      guard tail.first == ":", let number = UInt16(tail.dropFirst()) else { return nil }
      port = number
    }
  }

  /// Text for `CONNECT`.
  var withPort: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// Text for `:authority`, without the default port (RFC 9110 section 4.2.2).
  var text: String { port == 443 ? (host.contains(":") ? "[\(host)]" : host) : withPort }
}
