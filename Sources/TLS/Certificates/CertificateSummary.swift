internal import COpenSSL

/// What of a certificate of a chain is worth showing to people.
public struct CertificateSummary: Equatable, Sendable {
  /// `CN` of the subject, or all of the subject where it has none.
  public var name: String
  /// Who vouches for it, in the same way.
  public var issuer: String
  /// When it begins and ceases to be valid, in UNIX seconds.
  public var validity: ClosedRange<Int64>

  /// Memberwise.
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

  /// - Parameter name: belongs to the certificate.
  private static func text(_ name: OpaquePointer?) -> String {
    if let common = PeerCertificate.text(NID_commonName, in: name) { return common }
    // X509_NAME_oneline(3): terminates within the length it is given, escapes what is not printable.
    var buffer = [CChar](repeating: 0, count: 256)
    X509_NAME_oneline(name, &buffer, Int32(buffer.count))
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension TLSStream {
  /// The certificates that the other side showed, its own first; known once the handshake is done, or has failed for them.
  public var peerChain: [CertificateSummary] {
    // SSL_get_peer_cert_chain(3): belongs to the connection; on the client's side it begins with the server's own.
    guard let chain = SSL_get_peer_cert_chain(handle) else { return [] }
    return (0..<OPENSSL_sk_num(chain)).compactMap { index in
      OPENSSL_sk_value(chain, index).flatMap { CertificateSummary(OpaquePointer($0)) }
    }
  }
}

/// The library behind this module.
public enum TLSLibrary {
  /// Its name and version, such as `OpenSSL 3.0.17 1 Jul 2025`, as it is when the program runs.
  public static var version: String {
    // OpenSSL_version(3): a static string.
    String(cString: OpenSSL_version(OPENSSL_VERSION))
  }
}
