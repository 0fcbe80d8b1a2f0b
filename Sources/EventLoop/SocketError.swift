import Glibc

/// Failure of a socket call or a name lookup.
public struct SocketError: Error, Sendable, CustomStringConvertible {
  /// Operation that failed, with its address or host.
  public var operation: String
  /// System's description of the failure.
  public var reason: String
  /// `errno` of the failed system call; 0 for another failure.
  public var code: Int32

  /// Whether another program uses the address.
  public var isOfTakenAddress: Bool { code == EADDRINUSE }

  /// - Parameters:
  ///   - operation: the operation that failed.
  ///   - reason: the reason of the failure.
  ///   - code: the `errno`, if there is one.
  public init(operation: String, reason: String, code: Int32 = 0) {
    self.operation = operation
    self.reason = reason
    self.code = code
  }

  /// Returns the error for `errno`; call it immediately after the failed call.
  static func last(_ operation: String) -> SocketError { coded(operation, errno) }

  static func coded(_ operation: String, _ code: Int32) -> SocketError {
    SocketError(operation: operation, reason: String(cString: strerror(code)), code: code)
  }

  public var description: String { "\(operation): \(reason)" }
}
