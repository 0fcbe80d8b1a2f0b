internal import COpenSSL

/// Maker of X.509 certificates with new P-256 keys, for simulators and tests.
enum CertificateMaker {
  /// Lifetime of a certificate in seconds, long enough for the simulator of a permanent test system. Browsers and
  /// Apple's systems refuse more than 398 days.
  static let lifetime = 397 * 86_400
  /// Number of seconds before now at which the validity begins. A client with a slow clock must not get a certificate
  /// whose validity begins in the future.
  static let headStart = 86_400

  static func newKey() throws -> OpaquePointer {
    guard let key = carillon_new_p256_key() else { throw TLSError.last("make a P-256 key") }
    return key
  }

  /// Returns a certificate that the caller must free.
  ///
  /// - Parameters:
  ///   - subject: fields by their short names, such as `CN` and `UID`.
  ///   - key: the certificate's key.
  ///   - issuer: the authority's certificate; `nil` for a self-signed one.
  ///   - validity: begin and end in seconds from now.
  ///   - extensions: extensions by their numbers in OpenSSL (NID), with values in the syntax of x509v3_config(5).
  ///   - others: further extensions: DER values by dotted object identifier.
  static func certificate(
    subject: [(String, String)], key: OpaquePointer, issuer: OpaquePointer?, signedWith signingKey: OpaquePointer,
    validity: Range<Int> = -headStart..<lifetime, extensions: [(Int32, String)], others: [(String, [UInt8])] = []
  ) throws -> OpaquePointer {
    guard let certificate = X509_new() else { throw TLSError.last("make a certificate") }
    do {
      // A certificate owns the result of X509_get_subject_name(3); X509_set_issuer_name copies the name.
      let name = X509_get_subject_name(certificate)
      guard X509_set_version(certificate, version3) == 1,
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), UInt64.random(in: 1...UInt64(Int64.max))) == 1,
        X509_gmtime_adj(X509_getm_notBefore(certificate), validity.lowerBound) != nil,
        X509_gmtime_adj(X509_getm_notAfter(certificate), validity.upperBound) != nil,
        subject.allSatisfy({ X509_NAME_add_entry_by_txt(name, $0.0, utf8, $0.1, -1, -1, 0) == 1 }),
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate)) == 1,
        X509_set_pubkey(certificate, key) == 1
      else { throw TLSError.last("fill a certificate") }
      for (kind, value) in extensions {
        try add(kind, value, to: certificate, issuer: issuer ?? certificate)
      }
      for (identifier, value) in others { try add(identifier, value, to: certificate) }
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
    // X509V3_set_ctx(3): `hash` in an extension refers to this subject, and `keyid` to this issuer.
    X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
    guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
      throw TLSError.last("make the extension \(value)")
    }
    defer { X509_EXTENSION_free(made) }
    // X509_add_ext(3) adds a copy.
    guard X509_add_ext(certificate, made, -1) == 1 else { throw TLSError.last("add the extension \(value)") }
  }

  private static func add(_ identifier: String, _ value: [UInt8], to certificate: OpaquePointer) throws {
    // OBJ_txt2obj(3): 1 allows only dotted numbers.
    guard let object = OBJ_txt2obj(identifier, 1) else { throw TLSError.last("name the extension \(identifier)") }
    defer { ASN1_OBJECT_free(object) }
    guard let data = ASN1_STRING_type_new(V_ASN1_OCTET_STRING) else { throw TLSError.last("make an extension") }
    defer { ASN1_STRING_free(data) }
    // ASN1_STRING_set(3) copies the bytes; X509_EXTENSION_create_by_OBJ(3) copies object and data.
    guard ASN1_STRING_set(data, value, Int32(value.count)) == 1,
      let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, data)
    else { throw TLSError.last("make the extension \(identifier)") }
    defer { X509_EXTENSION_free(made) }
    guard X509_add_ext(certificate, made, -1) == 1 else { throw TLSError.last("add the extension \(identifier)") }
  }

  /// `X509_VERSION_3`; Swift can't import its cast.
  private static let version3 = 2

  /// `MBSTRING_UTF8`; Swift can't import a macro that uses another macro.
  private static let utf8: Int32 = 0x1000
}
