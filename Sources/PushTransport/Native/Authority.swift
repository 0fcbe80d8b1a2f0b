/// Host and port of a URL, as the native engine needs them apart.
struct Authority: Equatable {
  /// A name or an address, without the brackets of IPv6.
  var host: String
  var port: UInt16

  /// - Parameters:
  ///   - url: `scheme://host[:port]`, an IPv6 address in brackets; what follows a slash doesn't matter.
  ///   - defaultPort: without one in the URL.
  /// - Returns: `nil` when it is of another scheme or malformed.
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

  /// As `CONNECT` wants it.
  var withPort: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  /// As `:authority` wants it: without the port that goes without saying (RFC 9110 section 4.2.2).
  var text: String { port == 443 ? (host.contains(":") ? "[\(host)]" : host) : withPort }
}
