import Foundation
import TLS

/// New TLS files for a Redis and its clients.
public final class RedisCertificates: Sendable {
  /// The authority of the server's certificate, for clients.
  public let trustRoots: String
  /// A client certificate that the server accepts.
  public let clientCertificate: String
  /// The key of ``clientCertificate``.
  public let clientKey: String
  /// Whether the server requires client certificates.
  public let asksClients: Bool

  /// The server's own certificate.
  public let serverCertificate: String
  let serverKey: String
  /// The authorities that servers trust: the authority of the clients' certificates and that of the servers'
  /// certificates.
  let serverRoots: String
  private let clientAuthority: String
  private let folder: ScratchFolder

  /// - Parameters:
  ///   - names: names in the server's certificate.
  ///   - asksClients: whether the server requires client certificates.
  public init(names: [String] = ["localhost", "127.0.0.1"], asksClients: Bool = false) throws {
    self.asksClients = asksClients
    folder = try ScratchFolder("certificates")
    trustRoots = folder.path("roots.pem")
    serverCertificate = folder.path("server.pem")
    serverKey = folder.path("server.key")
    let authority = try ClientCertificateAuthority()
    let client = try authority.issue(commonName: "worker", userID: "worker")
    clientAuthority = authority.authorityPEM
    serverRoots = folder.path("servers.pem")
    clientCertificate = try folder.write("client.pem", client.certificateChainPEM)
    clientKey = try folder.writeSecret("client.key", client.privateKeyPEM)
    try renew(names: names)
  }

  /// Replaces the server's certificate by one of another authority. The clients' file then contains the old and the new
  /// authority, so clients that read it trust the server before and after the server reads its own files.
  public func renew(names: [String] = ["localhost", "127.0.0.1"]) throws {
    let server = try SelfSignedIdentity(names: names)
    let before = (try? String(contentsOfFile: trustRoots, encoding: .utf8)) ?? ""
    try folder.write("roots.pem", server.authorityPEM + before)
    try folder.write("servers.pem", clientAuthority + server.authorityPEM)
    try folder.write("server.pem", server.identity.certificateChainPEM)
    try folder.writeSecret("server.key", server.identity.privateKeyPEM)
  }

  /// Returns the options of a server that uses only TLS on a port.
  func serverArguments(port: UInt16) -> [String] {
    [
      "--port", "0", "--tls-port", String(port), "--tls-cert-file", serverCertificate, "--tls-key-file", serverKey,
      "--tls-ca-cert-file", serverRoots, "--tls-auth-clients", asksClients ? "yes" : "no",
    ]
  }

  /// The options of `redis-cli` for TLS.
  var clientArguments: [String] {
    ["--tls", "--cacert", trustRoots, "--cert", clientCertificate, "--key", clientKey]
  }
}
