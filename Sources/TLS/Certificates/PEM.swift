internal import COpenSSL

/// Reading and writing of PEM text with OpenSSL's memory BIOs.
enum PEM {
  /// Passes a read-only BIO over `text` to `body`.
  static func reading<Result>(_ text: String, _ body: (OpaquePointer) throws -> Result) throws -> Result {
    var text = text
    return try text.withUTF8 { bytes in
      // BIO_new_mem_buf(3) reads the caller's memory, which must outlive the BIO. Both end with this closure.
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { throw TLSError.last("read PEM") }
      defer { BIO_free(bio) }
      return try body(bio)
    }
  }

  /// Returns the text that `body` writes to a memory BIO.
  static func writing(_ body: (OpaquePointer) -> Int32) throws -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { throw TLSError.last("write PEM") }
    defer { BIO_free(bio) }
    guard body(bio) == 1 else { throw TLSError.last("write PEM") }
    var start: UnsafeMutablePointer<CChar>?
    // The memory belongs to the BIO and is valid until the BIO is freed (BIO_s_mem(3)).
    let count = carillon_bio_memory(bio, &start)
    guard let start, count > 0 else { throw TLSError.last("write PEM") }
    return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Returns all certificates in `text`, each with a reference that the caller must free.
  static func certificates(in text: String) throws -> [OpaquePointer] {
    try reading(text) { bio in
      var found: [OpaquePointer] = []
      // PEM_read_bio_X509(3) returns null at the end of the text and on an error. The end leaves PEM_R_NO_START_LINE in
      // the error queue, which is cleared below.
      while let certificate = PEM_read_bio_X509(bio, nil, refusePassphrase, nil) { found.append(certificate) }
      if found.isEmpty { throw TLSError(operation: "read certificates", reason: "no PEM certificate found") }
      ERR_clear_error()
      return found
    }
  }

  /// Returns the first private key in `text`, with a reference that the caller must free.
  static func privateKey(in text: String) throws -> OpaquePointer {
    try reading(text) { bio in
      guard let key = PEM_read_bio_PrivateKey(bio, nil, refusePassphrase, nil) else {
        throw TLSError.last("read private key")
      }
      return key
    }
  }
}

/// Returns -1 for "no passphrase". Without this callback, OpenSSL would ask for one on the terminal
/// (pem_password_cb(3)).
func refusePassphrase(
  _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }
