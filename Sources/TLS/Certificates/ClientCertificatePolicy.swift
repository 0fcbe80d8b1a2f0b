internal import COpenSSL
private import Synchronization

/// Policy of a server for client certificates. Clients without a certificate are accepted.
///
/// A certificate of another authority, or outside its period of validity, ends the handshake with the matching alert
/// (RFC 8446 section 6.2). With TLS 1.3, the client reads the alert after its own handshake is done. Sessions are never
/// resumed, because a server does not ask for a certificate in a resumed session.
public final class ClientCertificatePolicy: Sendable {
  /// Refusal of every certificate, regardless of its contents.
  public enum Refusal: Sendable {
    /// Alert `certificate_expired`.
    case expired
    /// Alert `certificate_revoked`.
    case revoked
    /// Alert `unknown_ca`.
    case unknownAuthority
  }

  /// Authority whose certificates are trusted, as PEM.
  public let authorityPEM: String
  private let current = Mutex<Refusal?>(nil)

  /// - Parameter authorityPEM: the authority whose certificates are trusted.
  public init(authorityPEM: String) { self.authorityPEM = authorityPEM }

  /// Refuses every certificate from the next handshake on. With `nil`, the contents of each certificate decide again.
  public func refuse(_ refusal: Refusal?) { current.withLock { $0 = refusal } }

  /// Error of the verification (X509_STORE_CTX_get_error(3)) that OpenSSL converts to the alert of the refusal; `nil`
  /// without a refusal.
  fileprivate var error: Int32? {
    switch current.withLock({ $0 }) {
    case nil: nil
    case .expired: X509_V_ERR_CERT_HAS_EXPIRED
    case .revoked: X509_V_ERR_CERT_REVOKED
    case .unknownAuthority: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT
    }
  }

  /// Makes `context` ask clients for certificates. The owner of the context must keep a reference to this object,
  /// because OpenSSL keeps none.
  func install(in context: OpaquePointer) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    carillon_ssl_never_resume(context)
    // The argument is passed unchanged to each call (SSL_CTX_set_cert_verify_callback(3)).
    SSL_CTX_set_cert_verify_callback(context, verifyPeer, Unmanaged.passUnretained(self).toOpaque())
  }
}

private func verifyPeer(_ store: OpaquePointer?, argument: UnsafeMutableRawPointer?) -> Int32 {
  guard let argument else { return 0 }
  let policy = Unmanaged<ClientCertificatePolicy>.fromOpaque(argument).takeUnretainedValue()
  if let error = policy.error {
    X509_STORE_CTX_set_error(store, error)
    return 0
  }
  return X509_verify_cert(store) == 1 ? 1 : 0
}
