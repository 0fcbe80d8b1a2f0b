internal import COpenSSL

/// Server certificate for this machine, signed by an authority that signs only this certificate. For the simulator and
/// for tests.
///
/// The authority and the certificate are made at run time with new P-256 keys. The authority's key is discarded
/// immediately, so that it can't sign anything else.
public struct SelfSignedIdentity: Sendable {
  /// Certificate that a client must trust, as PEM.
  public let authorityPEM: String
  /// Server's certificate and key.
  public let identity: TLSIdentity

  /// - Parameter names: subject alternative names: host names and literal addresses.
  /// - Throws: ``TLSError`` if OpenSSL can't make a key or refuses a name.
  public init(names: [String] = ["localhost", "127.0.0.1", "::1"]) throws {
    let authorityKey = try CertificateMaker.newKey()
    defer { EVP_PKEY_free(authorityKey) }
    let serverKey = try CertificateMaker.newKey()
    defer { EVP_PKEY_free(serverKey) }

    let authority = try CertificateMaker.certificate(
      subject: [("CN", "Carillon throw-away authority")], key: authorityKey, issuer: nil, signedWith: authorityKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
    defer { X509_free(authority) }
    let isAddress = { (name: String) in name.contains(":") || name.allSatisfy { $0.isNumber || $0 == "." } }
    let alternatives = names.map { (isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
    let server = try CertificateMaker.certificate(
      subject: [("CN", names.first ?? "localhost")], key: serverKey, issuer: authority, signedWith: authorityKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, alternatives),
        (NID_authority_key_identifier, "keyid"),
      ])
    defer { X509_free(server) }

    authorityPEM = try PEM.writing { PEM_write_bio_X509($0, authority) }
    identity = TLSIdentity(
      certificateChainPEM: try PEM.writing { PEM_write_bio_X509($0, server) },
      privateKeyPEM: try PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, serverKey, nil, nil, 0, nil, nil) })
  }
}
