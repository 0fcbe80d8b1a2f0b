internal import COpenSSL

/// A server certificate for this machine, signed by an authority that exists for that purpose only.
///
/// Made at run time with fresh P-256 keys; the authority's key is forgotten at once, so nothing else can be signed with
/// it. For the simulator and for tests.
public struct SelfSignedIdentity: Sendable {
  /// The certificate that a client must trust, as PEM.
  public let authorityPEM: String
  /// The server's certificate and key.
  public let identity: TLSIdentity

  /// Long enough for a simulator that a test bench keeps up; browsers and Apple refuse more than 398 days.
  private static let lifetime = 397 * 86_400

  /// - Parameter names: subject alternative names, host names and literal addresses.
  /// - Throws: ``TLSError`` when OpenSSL can't make a key or refuses a name.
  public init(names: [String] = ["localhost", "127.0.0.1", "::1"]) throws {
    let authorityKey = try Self.newKey()
    defer { EVP_PKEY_free(authorityKey) }
    let serverKey = try Self.newKey()
    defer { EVP_PKEY_free(serverKey) }

    let authority = try Self.certificate(
      subject: "Carillon throw-away authority", key: authorityKey, issuer: nil, signedWith: authorityKey,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
    defer { X509_free(authority) }
    let isAddress = { (name: String) in name.contains(":") || name.allSatisfy { $0.isNumber || $0 == "." } }
    let alternatives = names.map { (isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
    let server = try Self.certificate(
      subject: names.first ?? "localhost", key: serverKey, issuer: authority, signedWith: authorityKey,
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

  private static func newKey() throws -> OpaquePointer {
    guard let key = carillon_new_p256_key() else { throw TLSError.last("make a P-256 key") }
    return key
  }

  private static func certificate(
    subject: String, key: OpaquePointer, issuer: OpaquePointer?, signedWith signingKey: OpaquePointer,
    extensions: [(Int32, String)]
  ) throws -> OpaquePointer {
    guard let certificate = X509_new() else { throw TLSError.last("make a certificate") }
    do {
      // The names returned by X509_get_subject_name(3) belong to their certificate; X509_set_issuer_name copies.
      let name = X509_get_subject_name(certificate)
      guard X509_set_version(certificate, version3) == 1,
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max))) == 1,
        // A client whose clock runs behind must not find the certificate in its future.
        X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil,
        X509_gmtime_adj(X509_getm_notAfter(certificate), lifetime) != nil,
        X509_NAME_add_entry_by_txt(name, "CN", utf8, subject, -1, -1, 0) == 1,
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate)) == 1,
        X509_set_pubkey(certificate, key) == 1
      else { throw TLSError.last("fill a certificate") }
      for (kind, value) in extensions {
        try add(kind, value, to: certificate, issuer: issuer ?? certificate)
      }
      guard X509_sign(certificate, signingKey, EVP_sha256()) > 0 else { throw TLSError.last("sign a certificate") }
      return certificate
    } catch {
      X509_free(certificate)
      throw error
    }
  }

  private static func add(
    _ kind: Int32, _ value: String, to certificate: OpaquePointer, issuer: OpaquePointer
  ) throws {
    var context = X509V3_CTX()
    // X509V3_set_ctx(3): issuer and subject are what `hash` and `keyid` refer to.
    X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
    guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
      throw TLSError.last("make the extension \(value)")
    }
    defer { X509_EXTENSION_free(made) }
    // X509_add_ext(3) adds a copy.
    guard X509_add_ext(certificate, made, -1) == 1 else { throw TLSError.last("add the extension \(value)") }
  }

  /// `X509_VERSION_3`, whose cast Swift can't import.
  private static let version3 = 2

  /// `MBSTRING_UTF8`, a macro over another one.
  private static let utf8: Int32 = 0x1000
}
