/// URL of a token endpoint, split for ``PushTransport/HTTPExchange``.
struct TokenEndpoint: Equatable, Sendable {
  /// `https://host:port`.
  let origin: String
  /// Path and query; begins with a slash.
  let path: String

  /// - Parameter url: begins with `https://`. `http://` is accepted only for this machine, because the answer contains
  ///   a secret.
  /// - Returns: `nil` for any other text.
  init?(_ url: String) {
    let bytes = Array(url.utf8)
    // A blank or a control character would corrupt the request line.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "@") }) else {
      return nil
    }
    let scheme = url.hasPrefix("https://") ? "https://" : "http://"
    guard url.hasPrefix(scheme) else { return nil }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty, scheme == "https://" || Self.isLocal(authority) else { return nil }
    let path = rest.dropFirst(authority.count)
    origin = scheme + authority
    self.path = path.first == "/" ? String(path) : "/" + path
  }

  private static func isLocal(_ authority: Substring) -> Bool {
    ["127.0.0.1", "localhost", "[::1]"].contains { authority == $0 || authority.hasPrefix($0 + ":") }
  }
}
