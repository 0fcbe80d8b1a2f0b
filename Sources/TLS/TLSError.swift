internal import COpenSSL

/// A failure of TLS or of a key, in OpenSSL's own words.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted, with the host or file it concerned.
  public var operation: String
  /// OpenSSL's text, or the system's when the socket failed beneath it.
  public var reason: String
  /// The alert by which the peer ended it (RFC 8446 section 6), when it sent one.
  public private(set) var alert: UInt8?

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
