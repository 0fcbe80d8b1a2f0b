internal import CNghttp2

/// A session that can't go on, or a submission that it refuses.
public struct HTTP2Error: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted.
  public var operation: String
  /// nghttp2's own words, or ours.
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

  /// - Throws: an error of nghttp2's for any status but 0.
  static func check(_ operation: String, _ status: Int32) throws {
    if status != 0 { throw HTTP2Error(operation, code: Int(status)) }
  }

  public var description: String { "\(operation): \(reason)" }
}
