/// An alert by which a TLS peer refuses a certificate (RFC 8446 section 6).
public enum TLSAlert: UInt8, Sendable, Equatable, CaseIterable {
  case badCertificate = 42
  case unsupportedCertificate = 43
  case certificateRevoked = 44
  case certificateExpired = 45
  case certificateUnknown = 46
  case unknownAuthority = 48
  case accessDenied = 49
  case certificateRequired = 116

  /// The RFC's name.
  public var name: String {
    switch self {
    case .badCertificate: "bad_certificate"
    case .unsupportedCertificate: "unsupported_certificate"
    case .certificateRevoked: "certificate_revoked"
    case .certificateExpired: "certificate_expired"
    case .certificateUnknown: "certificate_unknown"
    case .unknownAuthority: "unknown_ca"
    case .accessDenied: "access_denied"
    case .certificateRequired: "certificate_required"
    }
  }

  /// What it says about the certificate, and what to do.
  var advice: String {
    switch self {
    case .certificateExpired: "the certificate has expired; renew it on developer.apple.com"
    case .certificateRevoked: "the certificate was revoked; make a new one on developer.apple.com"
    case .unknownAuthority: "whoever signed the certificate is not known there; it must be one of Apple's"
    default: "the certificate is not taken; check that it is a push certificate of Apple's"
    }
  }

  /// Finds the alert in what libcurl says of a failed handshake or read.
  ///
  /// libcurl passes on OpenSSL's error as `error:0A000415:SSL routines::…` (ERR_error_string_n(3)): the last three digits
  /// are the reason, and reasons above 1000 are alerts of the peer (`SSL_AD_REASON_OFFSET` in openssl/ssl.h). The exception
  /// is an expired certificate in a handshake of TLS 1.2: libcurl takes that alert for the server's certificate, but finds
  /// nothing wrong with that and has no more to say than this (lib/vtls/openssl.c, `ossl_connect_step2`).
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
