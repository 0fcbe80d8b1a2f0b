/// An error in settings, credentials or arguments of a push service: what is wrong, where, and what to do next.
public struct ServiceError: Error, Sendable, Equatable {
  /// The kind of the error.
  public enum Code: Sendable {
    /// The arguments contradict each other or the service.
    case usage
    /// The configuration, or a file that it names, is wrong.
    case configuration
  }

  /// The kind of the error.
  public let code: Code
  /// What is wrong, and where.
  public let message: String
  /// What to do next.
  public let hint: String?

  /// Memberwise.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    (self.code, self.message, self.hint) = (code, message, hint)
  }
}
