/// A text that is not JSON, or that goes beyond what is accepted of it.
public struct JSONSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The line, from 1.
  public var line: Int
  /// The column, from 1, in bytes.
  public var column: Int
  /// What is wrong there.
  public var message: String

  /// Memberwise.
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
