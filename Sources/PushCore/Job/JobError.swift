/// Error that prevents a job from becoming a campaign: the problem, the place and the hint.
public struct JobError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Field, such as `audience.tokens[3]`; empty for the job as a whole.
  public var field: String
  /// Problem with the field.
  public var message: String
  /// The next step for the reader of the error; `nil` if the message contains it.
  public var hint: String?

  /// Creates an instance with these values.
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
