/// Syntax error in an audience expression.
public struct AudienceExpressionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Column in characters, from 1.
  public var column: Int
  /// Description of the expected text and of the text that was found.
  public var message: String

  /// Creates an instance with these values.
  public init(column: Int, message: String) {
    self.column = column
    self.message = message
  }

  public var description: String { "column \(column): \(message)" }
}
