internal import COpenSSL

/// Contents of a peer's certificate that OpenSSL has verified.
public struct PeerCertificate: Equatable, Sendable {
  /// `CN` of the subject.
  public let commonName: String?
  /// `UID` of the subject (0.9.2342.19200300.100.1.1).
  public let userID: String?
  /// DER value of every extension, by dotted object identifier.
  public let extensions: [String: [UInt8]]

  init(_ certificate: OpaquePointer) {
    let subject = X509_get_subject_name(certificate)
    commonName = Self.text(NID_commonName, in: subject)
    userID = Self.text(NID_userId, in: subject)
    var extensions: [String: [UInt8]] = [:]
    for index in 0..<X509_get_ext_count(certificate) {
      // The certificate owns the result of X509_get_ext(3) and its contents.
      let item = X509_get_ext(certificate, index)
      guard let value = X509_EXTENSION_get_data(item), let bytes = ASN1_STRING_get0_data(value) else { continue }
      let name = Self.dotted(X509_EXTENSION_get_object(item))
      extensions[name] = Array(UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(value))))
    }
    self.extensions = extensions
  }

  static func text(_ field: Int32, in subject: OpaquePointer?) -> String? {
    let index = X509_NAME_get_index_by_NID(subject, field, -1)
    guard index >= 0, let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)) else { return nil }
    var bytes: UnsafeMutablePointer<UInt8>?
    // ASN1_STRING_to_UTF8(3) allocates the returned bytes.
    let count = ASN1_STRING_to_UTF8(&bytes, value)
    guard count >= 0, let bytes else { return nil }
    defer { CRYPTO_free(bytes, #file, #line) }
    return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
  }

  private static func dotted(_ object: OpaquePointer?) -> String {
    // OBJ_obj2txt(3): the argument 1 selects dotted numbers. The longest identifiers here have about thirty characters,
    // and the text always ends with a zero.
    var buffer = [CChar](repeating: 0, count: 128)
    OBJ_obj2txt(&buffer, Int32(buffer.count), object, 1)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
