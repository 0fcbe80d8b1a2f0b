internal import CNghttp2

/// Error of a session that can't continue, or of a submission that the session refuses.
public struct HTTP2Error: Error, Equatable, Sendable, CustomStringConvertible {
  /// The attempted operation.
  public var operation: String
  /// The reason, from nghttp2 or from this module.
  public var reason: String

  init(_ operation: String, _ reason: String) {
    self.operation = operation
    self.reason = reason
  }

  init(_ operation: String, code: Int) {
    self.operation = operation
    // nghttp2_strerror(3) returns a static string for every code.
    reason = String(cString: nghttp2_strerror(Int32(clamping: code)))
  }

  /// Checks the status that a function of nghttp2 has returned.
  ///
  /// - Throws: An error of nghttp2 for any status except 0.
  static func check(_ operation: String, _ status: Int32) throws {
    if status != 0 { throw HTTP2Error(operation, code: Int(status)) }
  }

  public var description: String { "\(operation): \(reason)" }
}
