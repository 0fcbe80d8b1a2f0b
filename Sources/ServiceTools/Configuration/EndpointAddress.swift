internal import PushCore

/// Address of an HTTPS server.
public struct EndpointAddress: Sendable, Hashable {
  /// Host name, or IP address without brackets.
  public var host: String
  /// Port, 1 to 65535.
  public var port: Int

  /// Creates an instance with these values.
  public init(host: String, port: Int) { (self.host, self.port) = (host, port) }

  /// Parses `https://host`, `https://host:port` and `https://[v6]:port`.
  public init?(url: String) {
    let scheme = "https://"
    guard url.hasPrefix(scheme) else { return nil }
    var rest = url.dropFirst(scheme.count)
    if rest.hasSuffix("/") { rest.removeLast() }
    var port = 443
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else { return nil }
      port = number
      rest = rest[..<colon]
    }
    if rest.hasPrefix("["), rest.hasSuffix("]") { rest = rest.dropFirst().dropLast() }
    let isHost = rest.utf8.allSatisfy { PlainName.isLetter($0) || $0 == UInt8(ascii: ":") }
    guard !rest.isEmpty, isHost else { return nil }
    self.init(host: String(rest), port: port)
  }

  /// URL of the server: `https://host:port`.
  public var url: String { "https://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
