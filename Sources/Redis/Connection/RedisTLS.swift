/// How TLS to a Redis is set up: names of files, which are read again for every connection, so that a new certificate
/// needs no restart.
///
/// Whether TLS is spoken at all is ``RedisURL/isTLS``.
public struct RedisTLS: Hashable, Sendable {
  /// A PEM file with the certificates to believe; `nil` for the system's.
  public var trustRoots: String?
  /// A PEM file with this client's certificate, then its intermediates; `nil` to show none. It comes with ``key``.
  public var certificate: String?
  /// A PEM file with the private key of ``certificate``, without a passphrase; everybody else must be kept from reading it.
  public var key: String?
  /// The name or address that the server's certificate must carry; `nil` for the host that is connected to.
  public var serverName: String?

  /// - Parameters:
  ///   - trustRoots: a PEM file; `nil` for the system's roots.
  ///   - certificate: a PEM file; given together with `key`, or not at all.
  ///   - key: a PEM file.
  ///   - serverName: what the server's certificate must carry; `nil` for the host that is connected to.
  public init(
    trustRoots: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
  ) {
    self.trustRoots = trustRoots
    self.certificate = certificate
    self.key = key
    self.serverName = serverName
  }
}
