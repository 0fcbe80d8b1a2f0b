/// An error of the test environment: something that the test needs is missing or did not start.
public struct TestSupportError: Error, CustomStringConvertible {
  /// The problem, with the output of the failed command.
  public var description: String

  /// - Parameter description: the problem.
  public init(_ description: String) { self.description = description }
}
