import Glibc

/// A failed socket or name-service call.
public struct SocketError: Error, Sendable, CustomStringConvertible {
  /// What was attempted, with the address or host it concerned.
  public var operation: String
  /// The system's own words for the failure.
  public var reason: String
  /// The `errno` of the failed call; 0 when the failure was not a system call's.
  public var code: Int32

  /// Whether another program has the address.
  public var isOfTakenAddress: Bool { code == EADDRINUSE }

  /// - Parameters:
  ///   - operation: what was attempted.
  ///   - reason: why it failed.
  ///   - code: the `errno`, when there is one.
  public init(operation: String, reason: String, code: Int32 = 0) {
    self.operation = operation
    self.reason = reason
    self.code = code
  }

  /// The error that `errno` tells of; call it right after the failed call.
  static func last(_ operation: String) -> SocketError { coded(operation, errno) }

  static func coded(_ operation: String, _ code: Int32) -> SocketError {
    SocketError(operation: operation, reason: String(cString: strerror(code)), code: code)
  }

  public var description: String { "\(operation): \(reason)" }
}
