/// An error in the configuration: what is wrong, where it was written, and what to do next.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The key, such as `apps.news.topic`; empty for the file as a whole.
  public var key: String
  /// What is wrong with the key.
  public var message: String
  /// The file and line, or the environment variable; `nil` for a missing key.
  public var origin: String?
  /// What to do next.
  public var hint: String?

  /// Memberwise.
  public init(key: String, message: String, origin: String?, hint: String? = nil) {
    (self.key, self.message, self.origin, self.hint) = (key, message, origin, hint)
  }

  public var description: String {
    (key.isEmpty ? "" : key + ": ") + message + (origin.map { ", in " + $0 } ?? "")
  }
}
