internal import COpenSSL

/// A failure of TLS or of a key, in OpenSSL's own words.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted, with the host or file it concerned.
  public var operation: String
  /// OpenSSL's text, or the system's when the socket failed beneath it.
  public var reason: String
  /// Why the other side's certificate was not believed, where that is what failed.
  public internal(set) var certificateProblem: CertificateProblem?
  /// The alert by which the peer ended it (RFC 8446 section 6), when it sent one.
  public private(set) var alert: UInt8?

  /// What is wrong with a certificate.
  public enum CertificateProblem: Equatable, Sendable {
    /// It is for another name or address.
    case otherName
    /// It is not valid yet, or not any more.
    case outOfDate
    /// No root that is trusted vouches for it, or it can't be right for another reason.
    case untrusted

    /// - Parameter result: of SSL_get_verify_result(3).
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
  ///   - operation: what was attempted.
  ///   - reason: why it failed.
  public init(operation: String, reason: String) {
    self.operation = operation
    self.reason = reason
  }

  public var description: String { "\(operation): \(reason)" }

  /// The error that OpenSSL's queue of this thread tells of; empties the queue.
  static func last(_ operation: String) -> TLSError {
    // The earliest entry is the cause, later ones are its consequences higher up (ERR_get_error(3)).
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
    // ERR_reason_error_string(3) returns a static string, or null for a code it doesn't know.
    if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
    // ERR_error_string_n(3) always terminates within the length it is given.
    var buffer = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(code, &buffer, buffer.count)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
