internal import CCurl

/// Error code of libcurl with text for the log.
struct CurlError: Error, Sendable, CustomStringConvertible {
  /// The `CURLcode`.
  let code: UInt32
  /// Text that libcurl wrote to CURLOPT_ERRORBUFFER. It is more exact than the code's own text.
  let detail: String?

  init(_ code: CURLcode, detail: String? = nil) {
    self.code = code.rawValue
    self.detail = detail
  }

  /// Whether the error is a timeout.
  var isTimeout: Bool { code == CURLE_OPERATION_TIMEDOUT.rawValue }

  var description: String {
    // curl_easy_strerror(3) returns a static string for any code.
    let text = String(cString: curl_easy_strerror(CURLcode(code)))
    guard let detail, detail != text else { return "\(text) (libcurl \(code))" }
    return "\(text): \(detail) (libcurl \(code))"
  }
}
