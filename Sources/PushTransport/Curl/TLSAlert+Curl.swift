internal import PushCore

extension TLSAlert {
  /// Finds the alert in libcurl's text about a failed handshake or read.
  ///
  /// libcurl passes on OpenSSL's error as `error:0A000415:SSL routines::…` (ERR_error_string_n(3)). The last three
  /// digits are the reason; reasons above 1000 are alerts of the peer (`SSL_AD_REASON_OFFSET` in openssl/ssl.h). The
  /// exception is an expired certificate in a handshake of TLS 1.2. libcurl assumes that this alert concerns the
  /// server's certificate, finds no error in it, and reports only this text (lib/vtls/openssl.c, `ossl_connect_step2`).
  init?(libcurl text: String) {
    if text == "SSL certificate verification failed" {
      self = .certificateExpired
      return
    }
    let marker = "error:0A"
    guard let start = text.firstRange(of: marker) else { return nil }
    let digits = text[start.upperBound...].prefix(6)
    guard digits.count == 6, let code = UInt32(digits, radix: 16), (1000...1255).contains(code) else { return nil }
    self.init(rawValue: UInt8(code - 1000))
  }
}
