/// Error for a text that is not JSON, or exceeds the accepted limits.
public struct JSONSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Line, from 1.
  public var line: Int
  /// Column in bytes, from 1.
  public var column: Int
  /// Description of the error.
  public var message: String

  /// Creates an instance with these values.
  public init(line: Int, column: Int, message: String) {
    self.line = line
    self.column = column
    self.message = message
  }

  init(_ position: TextPosition, message: String) {
    self.init(line: position.line, column: position.column, message: message)
  }

  public var description: String { "line \(line), column \(column): \(message)" }
}
