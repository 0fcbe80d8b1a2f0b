/// Alert with which a TLS peer refuses a certificate (RFC 8446 section 6).
public enum TLSAlert: UInt8, Sendable, Equatable, CaseIterable {
  case badCertificate = 42
  case unsupportedCertificate = 43
  case certificateRevoked = 44
  case certificateExpired = 45
  case certificateUnknown = 46
  case unknownAuthority = 48
  case accessDenied = 49
  case certificateRequired = 116

  /// Name in RFC 8446.
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
}
