internal import COpenSSL

/// Summary of a certificate in a chain, for people.
public struct CertificateSummary: Equatable, Sendable {
  /// `CN` of the subject, or the whole subject if it has no `CN`.
  public var name: String
  /// Issuer, in the same form.
  public var issuer: String
  /// Period of validity in UNIX seconds.
  public var validity: ClosedRange<Int64>

  /// Creates a summary from its values.
  public init(name: String, issuer: String, validity: ClosedRange<Int64>) {
    self.name = name
    self.issuer = issuer
    self.validity = validity
  }

  init?(_ certificate: OpaquePointer) {
    guard let validity = CertificateFacts.validity(of: certificate) else { return nil }
    self.validity = validity
    name = Self.text(X509_get_subject_name(certificate))
    issuer = Self.text(X509_get_issuer_name(certificate))
  }

  /// Returns the text of a name in a certificate: its `CN`, or the whole name.
  ///
  /// - Parameter name: the name within the certificate. The certificate still owns the name.
  private static func text(_ name: OpaquePointer?) -> String {
    if let common = PeerCertificate.text(NID_commonName, in: name) { return common }
    // X509_NAME_oneline(3) writes a zero within the given length, and escapes unprintable characters.
    var buffer = [CChar](repeating: 0, count: 256)
    X509_NAME_oneline(name, &buffer, Int32(buffer.count))
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension TLSStream {
  /// Certificate chain of the peer, its leaf first. The chain is known after the handshake, also if the handshake
  /// failed because of the chain.
  public var peerChain: [CertificateSummary] {
    // SSL_get_peer_cert_chain(3): the chain belongs to the connection. On the client's side, it begins with the
    // server's own certificate.
    guard let chain = SSL_get_peer_cert_chain(handle) else { return [] }
    return (0..<OPENSSL_sk_num(chain)).compactMap { index in
      OPENSSL_sk_value(chain, index).flatMap { CertificateSummary(OpaquePointer($0)) }
    }
  }
}

/// Library that this module uses.
public enum TLSLibrary {
  /// Name and version of the library at run time, such as `OpenSSL 3.0.17 1 Jul 2025`.
  public static var version: String {
    // OpenSSL_version(3) returns a static string.
    String(cString: OpenSSL_version(OPENSSL_VERSION))
  }
}
