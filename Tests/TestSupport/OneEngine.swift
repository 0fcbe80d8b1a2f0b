public import PushTransport
import Foundation

extension PushEngineKind {
  /// Returns one engine for a test that takes long or in which the transport does not matter, or both with
  /// `CARILLON_TEST_ENGINES=both` (`make faults`).
  ///
  /// The engine of a test changes from run to run, so a few runs play each test with both engines. The description of a
  /// failed test case has its engine.
  ///
  /// - Parameter test: the name of the test. In each run, about half of such tests use each engine.
  public static func one(for test: String) -> [PushEngineKind] {
    if ProcessInfo.processInfo.environment["CARILLON_TEST_ENGINES"] == "both" { return allCases }
    return [allCases[Int(test.utf8.reduce(TestForm.turn) { $0 &+ UInt64($1) } % UInt64(allCases.count))]]
  }
}
