/// An audience expression that doesn't parse.
public struct AudienceExpressionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The column in characters, from 1.
  public var column: Int
  /// What was expected there, and what stands there.
  public var message: String

  /// Memberwise.
  public init(column: Int, message: String) {
    self.column = column
    self.message = message
  }

  public var description: String { "column \(column): \(message)" }
}
