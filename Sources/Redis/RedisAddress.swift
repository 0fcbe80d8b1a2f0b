/// Where a server listens.
public struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
  /// A name, an IPv4 address, or an IPv6 address without its brackets.
  public var host: String
  /// The port.
  public var port: UInt16

  /// Memberwise.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// `host:port`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
