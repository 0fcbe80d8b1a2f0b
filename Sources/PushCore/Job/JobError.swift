/// Error that prevents a job from becoming a campaign, with the problem, its place in the job and a hint.
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

  /// Place and problem on one line: `field: message`.
  public var reason: String { (field.isEmpty ? "" : field + ": ") + message }

  /// Place, problem and hint on one line: `field: message (hint)`.
  public var description: String { reason + (hint.map { " (" + $0 + ")" } ?? "") }
}
