/// Address of a Redis server or a sentinel.
public struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
  /// Name, IPv4 address, or IPv6 address without its brackets.
  public var host: String
  /// The port.
  public var port: UInt16

  /// Creates an address from its parts.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Parses `host:port`, with an IPv6 address in brackets.
  ///
  /// - Returns: `nil` for any other text.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
      return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty else { return nil }
    self.init(host: String(host), port: port)
  }

  /// `host:port`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
