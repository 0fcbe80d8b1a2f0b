/// Error in the settings, the credentials or the arguments of a push service, with its place and a hint.
public struct ServiceError: Error, Sendable, Equatable {
  /// Kind of an error.
  public enum Code: Sendable {
    /// The arguments contradict each other, or the service does not support them.
    case usage
    /// The configuration, or a file that it names, is wrong.
    case configuration
  }

  /// Kind of the error.
  public let code: Code
  /// The problem and its place.
  public let message: String
  /// The next step for the reader of the error.
  public let hint: String?

  /// Creates an instance with these values.
  public init(_ code: Code, _ message: String, hint: String? = nil) {
    (self.code, self.message, self.hint) = (code, message, hint)
  }
}
