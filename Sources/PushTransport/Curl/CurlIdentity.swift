internal import CCurl
internal import TLS

/// A client certificate in memory that libcurl reads from, for all easy handles of a connection.
///
/// Lent, not copied (CURL_BLOB_NOCOPY): every stream has a handle of its own, and a chain has some kB. Must outlive them.
final class CurlIdentity {
  private let certificates: UnsafeMutableRawBufferPointer
  private let key: UnsafeMutableRawBufferPointer

  init(_ identity: TLSIdentity) {
    certificates = Self.copy(identity.certificateChainPEM)
    key = Self.copy(identity.privateKeyPEM)
  }

  deinit {
    key.initializeMemory(as: UInt8.self, repeating: 0)
    key.deallocate()
    certificates.deallocate()
  }

  /// Sets the options of a handle.
  ///
  /// - Returns: `false` when libcurl lacks memory, or its TLS library certificates from memory.
  func apply(to easy: UnsafeMutableRawPointer) -> Bool {
    let codes = [
      carillon_easy_set_string(easy, CURLOPT_SSLCERTTYPE, "PEM"),
      carillon_easy_set_blob(easy, CURLOPT_SSLCERT_BLOB, certificates.baseAddress, certificates.count),
      carillon_easy_set_string(easy, CURLOPT_SSLKEYTYPE, "PEM"),
      carillon_easy_set_blob(easy, CURLOPT_SSLKEY_BLOB, key.baseAddress, key.count),
      // A resumed session would bring the certificate of the session's first handshake along.
      carillon_easy_set_long(easy, CURLOPT_SSL_SESSIONID_CACHE, 0),
    ]
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  private static func copy(_ text: String) -> UnsafeMutableRawBufferPointer {
    let bytes = Array(text.utf8)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<bytes.count])
  }
}
