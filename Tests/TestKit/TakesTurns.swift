import TestSupport
public import Testing

/// Plays a part of the tests of a slow suite in each run, see ``TestForm/hasTurn(_:)``.
public struct TakesTurns: SuiteTrait, TestTrait {
  public var isRecursive: Bool { true }

  public func prepare(for test: Test) async throws {
    if test.isSuite || TestForm.hasTurn("\(test.sourceLocation.fileID) \(test.name)") { return }
    try Test.cancel("not in this part of the tests")
  }
}

extension Trait where Self == TakesTurns {
  /// Plays a part of the tests of this suite in each run.
  public static var takesTurns: Self { TakesTurns() }
}
