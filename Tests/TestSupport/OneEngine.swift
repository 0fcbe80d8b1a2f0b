public import PushTransport
import Foundation

extension PushEngineKind {
  /// Returns one engine for a test in which the transport does not matter, or both with `CARILLON_TEST_ENGINES=both`
  /// (`make faults`).
  ///
  /// - Parameter test: the name of the test. The name decides the engine, so about half of such tests use each
  ///   engine.
  public static func one(for test: String) -> [PushEngineKind] {
    if ProcessInfo.processInfo.environment["CARILLON_TEST_ENGINES"] == "both" { return allCases }
    return [allCases[test.utf8.reduce(0) { $0 &+ Int($1) } % allCases.count]]
  }
}
