/// A configuration that can't be used: what is wrong, where it was written, and what to do.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
  /// The key, such as `apps.news.topic`; empty when it is the file as a whole.
  package var key: String
  /// What is wrong with it.
  package var message: String
  /// The file and line, or the environment variable; `nil` for what is missing.
  package var origin: String?
  /// What to do about it.
  package var hint: String?

  package var description: String {
    (key.isEmpty ? "" : key + ": ") + message + (origin.map { ", in " + $0 } ?? "")
  }
}
