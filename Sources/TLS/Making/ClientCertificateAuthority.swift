internal import COpenSSL

/// Authority that issues client certificates, made at run time for simulators and tests.
public struct ClientCertificateAuthority: Sendable {
  /// Certificate that a server must trust, as PEM.
  public let authorityPEM: String
  /// Private key of the authority as PEM, with which a program can issue more certificates later.
  public let privateKeyPEM: String

  /// Creates an authority with a new key.
  ///
  /// - Throws: ``TLSError`` if OpenSSL can't make a key.
  public init() throws {
    let key = try CertificateMaker.newKey()
    defer { EVP_PKEY_free(key) }
    let certificate = try CertificateMaker.certificate(
      subject: [("CN", "Carillon throw-away client authority")], key: key, issuer: nil, signedWith: key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
    defer { X509_free(certificate) }
    authorityPEM = try PEM.writing { PEM_write_bio_X509($0, certificate) }
    privateKeyPEM = try PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  /// Returns a certificate with a new key.
  ///
  /// - Parameters:
  ///   - commonName: `CN` of the subject.
  ///   - userID: `UID` of the subject.
  ///   - extensions: DER values by dotted object identifier.
  ///   - validity: begin and end in seconds from now; both may be in the past.
  /// - Throws: ``TLSError`` for an invalid identifier.
  public func issue(
    commonName: String, userID: String, extensions: [(String, [UInt8])] = [],
    validity: Range<Int> = -86_400..<365 * 86_400
  ) throws -> TLSIdentity {
    let authorityKey = try PEM.privateKey(in: privateKeyPEM)
    defer { EVP_PKEY_free(authorityKey) }
    let authorities = try PEM.certificates(in: authorityPEM)
    defer { authorities.forEach { X509_free($0) } }
    let key = try CertificateMaker.newKey()
    defer { EVP_PKEY_free(key) }
    let certificate = try CertificateMaker.certificate(
      subject: [("UID", userID), ("CN", commonName)], key: key, issuer: authorities[0], signedWith: authorityKey,
      validity: validity,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "clientAuth"), (NID_authority_key_identifier, "keyid"),
      ], others: extensions)
    defer { X509_free(certificate) }
    return TLSIdentity(
      certificateChainPEM: try PEM.writing { PEM_write_bio_X509($0, certificate) },
      privateKeyPEM: try PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) })
  }
}
