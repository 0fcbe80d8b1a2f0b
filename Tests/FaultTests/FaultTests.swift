import FaultKit
import Foundation
import Testing

/// Every case once, small: that it can be played, that its faults fire, and that nothing is violated. `make faults` plays
/// them in earnest.
struct FaultTests {
  @Test(arguments: FaultCases.all.map(\.name))
  func shortForm(name: String) async throws {
    let fault = try #require(FaultCases.all.first { $0.name == name })
    let logs = FileManager.default.temporaryDirectory.appending(path: "carillon-faults")
    let seed =
      ProcessInfo.processInfo.environment["CARILLON_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...99_999)
    let report = await fault.run(.short, seed: seed, logs: logs)
    #expect(
      report.verdict != .failed,
      "seed \(seed), logs in \(report.logs ?? "")\n\(report.violations.joined(separator: "\n"))")
  }
}
