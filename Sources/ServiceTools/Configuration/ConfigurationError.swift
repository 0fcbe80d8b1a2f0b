/// Error in the configuration, with its place and a hint.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Key, such as `apps.news.apns.topic`; empty for the file as a whole.
  public var key: String
  /// Problem with the key.
  public var message: String
  /// The file and line, or the environment variable; `nil` for a missing key.
  public var origin: String?
  /// The next step for the reader of the error.
  public var hint: String?

  /// Creates an instance with these values.
  public init(key: String, message: String, origin: String?, hint: String? = nil) {
    (self.key, self.message, self.origin, self.hint) = (key, message, origin, hint)
  }

  public var description: String {
    (key.isEmpty ? "" : key + ": ") + message + (origin.map { ", in " + $0 } ?? "")
  }
}
