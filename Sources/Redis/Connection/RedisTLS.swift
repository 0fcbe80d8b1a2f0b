/// TLS options for Redis. The client reads the files for every connection, so a new certificate needs no restart.
///
/// ``RedisURL/isTLS`` determines whether TLS is used.
public struct RedisTLS: Hashable, Sendable {
  /// PEM file with the trusted root certificates; `nil` for those of the system.
  public var trustRoots: String?
  /// PEM file with this client's certificate and its intermediates; `nil` for none. It requires ``key``.
  public var certificate: String?
  /// PEM file with the private key of ``certificate``, without a passphrase. Other users must have no permission to
  /// read it.
  public var key: String?
  /// Name or address that the server's certificate must contain; `nil` for the host in the URL.
  public var serverName: String?

  /// - Parameters:
  ///   - trustRoots: a PEM file; `nil` for the system's roots.
  ///   - certificate: a PEM file; requires `key`.
  ///   - key: a PEM file.
  ///   - serverName: the name that the server's certificate must contain; `nil` for the host in the URL.
  public init(
    trustRoots: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
  ) {
    self.trustRoots = trustRoots
    self.certificate = certificate
    self.key = key
    self.serverName = serverName
  }
}
