import Foundation
import TLS

/// The files by which a Redis and its clients speak TLS, made on the spot.
public final class RedisCertificates: Sendable {
  /// What clients must believe: the authority of the server's certificate.
  public let trustRoots: String
  /// A certificate of a client that the server believes.
  public let clientCertificate: String
  /// The key of ``clientCertificate``.
  public let clientKey: String
  /// Whether the server lets nobody in who shows no certificate.
  public let asksClients: Bool

  /// The server's own certificate.
  public let serverCertificate: String
  let serverKey: String
  /// What servers believe: clients' certificates, and each other's.
  let serverRoots: String
  private let clientAuthority: String
  private let folder: ScratchFolder

  /// - Parameters:
  ///   - names: what the server's certificate is for.
  ///   - asksClients: whether the server lets nobody in who shows no certificate.
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

  /// Writes another certificate for the server, of another authority, over the one there is. Clients that read their files
  /// from now on believe both, until the server has read its own.
  public func renew(names: [String] = ["localhost", "127.0.0.1"]) throws {
    let server = try SelfSignedIdentity(names: names)
    let before = (try? String(contentsOfFile: trustRoots, encoding: .utf8)) ?? ""
    try folder.write("roots.pem", server.authorityPEM + before)
    try folder.write("servers.pem", clientAuthority + server.authorityPEM)
    try folder.write("server.pem", server.identity.certificateChainPEM)
    try folder.writeSecret("server.key", server.identity.privateKeyPEM)
  }

  /// What makes a server speak TLS on a port, and nothing else.
  func serverArguments(port: UInt16) -> [String] {
    [
      "--port", "0", "--tls-port", String(port), "--tls-cert-file", serverCertificate, "--tls-key-file", serverKey,
      "--tls-ca-cert-file", serverRoots, "--tls-auth-clients", asksClients ? "yes" : "no",
    ]
  }

  /// What makes `redis-cli` speak TLS.
  var clientArguments: [String] {
    ["--tls", "--cacert", trustRoots, "--cert", clientCertificate, "--key", clientKey]
  }
}
