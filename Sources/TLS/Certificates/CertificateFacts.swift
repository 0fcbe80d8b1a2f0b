internal import COpenSSL

/// The values of a certificate that Carillon needs.
public struct CertificateFacts: Sendable, Equatable {
  /// `CN` of the subject.
  public var commonName: String?
  /// `UID` of the subject (0.9.2342.19200300.100.1.1).
  public var userID: String?
  /// Period of validity in UNIX seconds.
  public var validity: ClosedRange<Int64>
  /// DER of each extension's value, by its object identifier in dotted numbers.
  public var extensions: [String: [UInt8]]

  /// Reads the first certificate of a PEM text.
  ///
  /// - Throws: ``TLSError`` if there is none.
  public init(pem: String) throws {
    let certificates = try PEM.certificates(in: pem)
    defer { certificates.forEach { X509_free($0) } }
    let certificate = certificates[0]
    let content = PeerCertificate(certificate)
    commonName = content.commonName
    userID = content.userID
    extensions = content.extensions
    guard let validity = Self.validity(of: certificate) else {
      throw TLSError(operation: "read the certificate", reason: "it has no period of validity")
    }
    self.validity = validity
  }

  /// Returns a certificate's period of validity in UNIX seconds; `nil` if it is invalid.
  static func validity(of certificate: OpaquePointer) -> ClosedRange<Int64>? {
    let from = seconds(X509_get0_notBefore(certificate))
    let until = seconds(X509_get0_notAfter(certificate))
    guard let from, let until, from <= until else { return nil }
    return from...until
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    // ASN1_TIME_diff(3) returns days and seconds from the first time to the second, both with the same sign.
    guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
    defer { ASN1_TIME_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(seconds)
  }
}
