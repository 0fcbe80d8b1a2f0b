/// A job that can't become a campaign: what is wrong, where, and what to do.
public struct JobError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The field, such as `audience.tokens[3]`; empty when it is the job as a whole.
  public var field: String
  /// What is wrong with it.
  public var message: String
  /// What to do about it; `nil` when the message says it.
  public var hint: String?

  /// Memberwise.
  public init(field: String, message: String, hint: String? = nil) {
    self.field = field
    self.message = message
    self.hint = hint
  }

  /// `field: message`.
  public var reason: String { (field.isEmpty ? "" : field + ": ") + message }

  /// `field: message (hint)`, on one line.
  public var description: String { reason + (hint.map { " (" + $0 + ")" } ?? "") }
}
