internal import COpenSSL
private import Synchronization

/// What a server thinks of the certificates that clients show; clients without one are let in.
///
/// A certificate of another authority or beyond its dates ends the handshake with the alert that says so
/// (RFC 8446 section 6.2); under TLS 1.3 the client reads it after it believes the handshake done. Sessions are never
/// resumed: a resumed one would not ask again.
public final class ClientCertificatePolicy: Sendable {
  /// Why every certificate is refused, whatever it says.
  public enum Refusal: Sendable {
    /// Alert `certificate_expired`.
    case expired
    /// Alert `certificate_revoked`.
    case revoked
    /// Alert `unknown_ca`.
    case unknownAuthority
  }

  /// Whose certificates are believed, as PEM.
  public let authorityPEM: String
  private let current = Mutex<Refusal?>(nil)

  /// - Parameter authorityPEM: whose certificates are believed.
  public init(authorityPEM: String) { self.authorityPEM = authorityPEM }

  /// Refuses every certificate from the next handshake on; `nil` judges by what each says.
  public func refuse(_ refusal: Refusal?) { current.withLock { $0 = refusal } }

  /// The error of X509_STORE_CTX_get_error(3) that OpenSSL makes the wanted alert of.
  fileprivate var error: Int32? {
    switch current.withLock({ $0 }) {
    case nil: nil
    case .expired: X509_V_ERR_CERT_HAS_EXPIRED
    case .revoked: X509_V_ERR_CERT_REVOKED
    case .unknownAuthority: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT
    }
  }

  /// Has `context` ask for certificates. The context must keep this object: OpenSSL does not.
  func install(in context: OpaquePointer) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    carillon_ssl_never_resume(context)
    // The argument is passed as it is with each call (SSL_CTX_set_cert_verify_callback(3)).
    SSL_CTX_set_cert_verify_callback(context, judge, Unmanaged.passUnretained(self).toOpaque())
  }
}

private func judge(_ store: OpaquePointer?, argument: UnsafeMutableRawPointer?) -> Int32 {
  guard let argument else { return 0 }
  let policy = Unmanaged<ClientCertificatePolicy>.fromOpaque(argument).takeUnretainedValue()
  if let error = policy.error {
    X509_STORE_CTX_set_error(store, error)
    return 0
  }
  return X509_verify_cert(store) == 1 ? 1 : 0
}
