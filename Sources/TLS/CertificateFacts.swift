internal import COpenSSL

/// What a certificate says of itself, as far as somebody asks.
public struct CertificateFacts: Sendable, Equatable {
  /// `CN` of the subject.
  public var commonName: String?
  /// `UID` of the subject (0.9.2342.19200300.100.1.1).
  public var userID: String?
  /// When it begins and ceases to be valid, in UNIX seconds.
  public var validity: ClosedRange<Int64>
  /// The DER of each extension's value, by its object identifier in dotted numbers.
  public var extensions: [String: [UInt8]]
  /// SHA-256 over its DER: what tells it from any other.
  public var fingerprint: [UInt8]

  /// Reads the first certificate of a PEM text.
  ///
  /// - Throws: ``TLSError`` when there is none.
  public init(pem: String) throws {
    let certificates = try PEM.certificates(in: pem)
    defer { certificates.forEach { X509_free($0) } }
    let certificate = certificates[0]
    let subject = X509_get_subject_name(certificate)
    commonName = Self.entry(NID_commonName, of: subject)
    userID = Self.entry(NID_userId, of: subject)
    let from = Self.seconds(X509_get0_notBefore(certificate))
    let until = Self.seconds(X509_get0_notAfter(certificate))
    guard let from, let until, from <= until else {
      throw TLSError(operation: "read the certificate", reason: "it has no period of validity")
    }
    validity = from...until
    extensions = [:]
    for index in 0..<X509_get_ext_count(certificate) {
      let entry = X509_get_ext(certificate, index)
      // X509_EXTENSION_get_data(3) lends the value.
      guard let value = X509_EXTENSION_get_data(entry), let name = Self.name(X509_EXTENSION_get_object(entry)) else {
        continue
      }
      extensions[name] = Self.bytes(value)
    }
    var digest = [UInt8](repeating: 0, count: 32)
    // X509_digest(3): writes as many bytes as the digest has, 32 for SHA-256.
    guard X509_digest(certificate, EVP_sha256(), &digest, nil) == 1 else { throw TLSError.last("read the certificate") }
    fingerprint = digest
  }

  private static func entry(_ kind: Int32, of name: OpaquePointer?) -> String? {
    // X509_NAME_get_index_by_NID(3): the first of the kind, or -1.
    let index = X509_NAME_get_index_by_NID(name, kind, -1)
    guard index >= 0 else { return nil }
    var text: UnsafeMutablePointer<UInt8>?
    // ASN1_STRING_to_UTF8(3): allocates; whatever encoding the certificate has.
    let count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)))
    defer { carillon_openssl_free(text) }
    guard let text, count >= 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    // ASN1_TIME_diff(3): days and seconds from the first to the second, both with the same sign.
    guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
    defer { ASN1_TIME_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(seconds)
  }

  private static func name(_ object: OpaquePointer?) -> String? {
    var text = [CChar](repeating: 0, count: 128)
    // OBJ_obj2txt(3): with 1 always numbers; returns the length it needs, and terminates within the one given.
    let count = OBJ_obj2txt(&text, Int32(text.count), object, 1)
    guard count > 0, count < text.count else { return nil }
    return String(decoding: text.prefix(Int(count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func bytes(_ string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
    // ASN1_STRING_get0_data(3) lends the bytes.
    Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
  }
}
