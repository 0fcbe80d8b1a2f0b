import Glibc

/// A failed socket or name-service call.
public struct SocketError: Error, Sendable, CustomStringConvertible {
  /// What was attempted, with the address or host it concerned.
  public var operation: String
  /// The system's own words for the failure.
  public var reason: String

  /// - Parameters:
  ///   - operation: what was attempted.
  ///   - reason: why it failed.
  public init(operation: String, reason: String) {
    self.operation = operation
    self.reason = reason
  }

  /// The error that `errno` tells of; call it right after the failed call.
  static func last(_ operation: String) -> SocketError { coded(operation, errno) }

  static func coded(_ operation: String, _ code: Int32) -> SocketError {
    SocketError(operation: operation, reason: String(cString: strerror(code)))
  }

  public var description: String { "\(operation): \(reason)" }
}
