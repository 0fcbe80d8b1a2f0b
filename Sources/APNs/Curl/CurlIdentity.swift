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

/// The GOAWAY that libcurl tells of in its verbose text and nowhere else: `received GOAWAY, error=0, last_stream=0`
/// (lib/http2.c; 7.88 writes `recveived`). What the frame says beyond that it doesn't tell.
struct CurlGoAway: Equatable {
  var error: UInt32
  var lastStream: UInt32

  /// Memberwise.
  init(error: UInt32, lastStream: UInt32) {
    self.error = error
    self.lastStream = lastStream
  }

  /// - Returns: `nil` when the text is of something else.
  init?(verbose text: String) {
    guard text.contains("GOAWAY"), let error = Self.number(after: "error=", in: text),
      let lastStream = Self.number(after: "last_stream=", in: text)
    else { return nil }
    self.error = error
    self.lastStream = lastStream
  }

  private static func number(after marker: String, in text: String) -> UInt32? {
    guard let start = text.firstRange(of: marker) else { return nil }
    return UInt32(text[start.upperBound...].prefix { $0.isNumber })
  }
}

extension APNsEndpoint.Proxy {
  /// Sets the options of a handle.
  func apply(to easy: UnsafeMutableRawPointer) -> [CURLcode] {
    let codes = [carillon_easy_set_string(easy, CURLOPT_PROXY, url)]
    guard let login else { return codes }
    return codes + [
      carillon_easy_set_string(easy, CURLOPT_PROXYUSERNAME, login.user),
      carillon_easy_set_string(easy, CURLOPT_PROXYPASSWORD, login.password), carillon_easy_set_proxy_auth(easy),
    ]
  }
}
