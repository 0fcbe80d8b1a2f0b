internal import CCurl
internal import TLS

/// Client certificate in memory that libcurl reads, for all easy handles of a connection.
///
/// libcurl gets a pointer, not a copy (CURL_BLOB_NOCOPY), because every stream has its own handle and a chain has some
/// kB. The object must outlive these handles.
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
  /// - Returns: `false` if libcurl lacks memory, or if its TLS library does not support certificates in memory.
  func apply(to easy: UnsafeMutableRawPointer) -> Bool {
    let codes = [
      carillon_easy_set_string(easy, CURLOPT_SSLCERTTYPE, "PEM"),
      carillon_easy_set_blob(easy, CURLOPT_SSLCERT_BLOB, certificates.baseAddress, certificates.count),
      carillon_easy_set_string(easy, CURLOPT_SSLKEYTYPE, "PEM"),
      carillon_easy_set_blob(easy, CURLOPT_SSLKEY_BLOB, key.baseAddress, key.count),
      // Disables session resumption, because a resumed session would use the certificate of its first handshake.
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
