internal import COpenSSL

/// Failure of TLS or of a key, with OpenSSL's description.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Operation that failed, with its host or file.
  public var operation: String
  /// OpenSSL's description, or the system's description if the socket failed.
  public var reason: String
  /// Reason why the peer's certificate is not trusted; `nil` for another failure.
  public internal(set) var certificateProblem: CertificateProblem?
  /// Alert with which the peer ended the connection (RFC 8446 section 6); `nil` without one.
  public private(set) var alert: UInt8?

  /// Problem with a certificate.
  public enum CertificateProblem: Equatable, Sendable {
    /// The certificate is for another name or address.
    case otherName
    /// The certificate is not valid yet, or no longer valid.
    case outOfDate
    /// The certificate has no trusted root, or is invalid for another reason.
    case untrusted

    /// - Parameter result: the result of SSL_get_verify_result(3).
    init?(verification result: Int) {
      switch Int32(truncatingIfNeeded: result) {
      case X509_V_OK: return nil
      case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .otherName
      case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: self = .outOfDate
      default: self = .untrusted
      }
    }
  }

  /// - Parameters:
  ///   - operation: the operation that failed.
  ///   - reason: the reason of the failure.
  public init(operation: String, reason: String) {
    self.operation = operation
    self.reason = reason
  }

  public var description: String { "\(operation): \(reason)" }

  /// Returns the error in OpenSSL's queue of this thread, and empties the queue.
  static func last(_ operation: String) -> TLSError {
    // The earliest entry is the cause; later ones are its consequences in higher layers (ERR_get_error(3)).
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return TLSError(operation: operation, reason: "OpenSSL gave no reason") }
    var error = TLSError(operation: operation, reason: text(code))
    // Reasons above SSL_AD_REASON_OFFSET (openssl/ssl.h) are alerts of the peer.
    if ERR_GET_LIB(code) == ERR_LIB_SSL {
      error.alert = UInt8(exactly: ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET)
    }
    return error
  }

  private static func text(_ code: UInt) -> String {
    // ERR_reason_error_string(3) returns a static string, or null for an unknown code.
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    // ERR_error_string_n(3) always writes a zero within the given length.
    var buffer = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(code, &buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
