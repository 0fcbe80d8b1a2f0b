/// Something that the test needs is missing or did not come up: the test's surroundings are wrong, not the subject.
public struct TestSupportError: Error, CustomStringConvertible {
  /// What is wrong, with the output of whatever failed.
  public var description: String

  /// - Parameter description: what is wrong.
  public init(_ description: String) { self.description = description }
}
