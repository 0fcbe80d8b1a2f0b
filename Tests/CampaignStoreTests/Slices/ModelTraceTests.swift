import CampaignStore
import LedgerModel
import TestKit
import TestSupport
import Testing

/// Comparison of the scripts with the model of the ledger. The test repeats random schedules of faults on a real Redis
/// and compares both states after every call. See LedgerModel/README.md.
@Suite(.takesTurns) struct ModelTraceTests {
  /// Seeds of schedules with rare events: a departure of a target in doubt, a restored seal, and the end of a slice
  /// that is held and open.
  private static let known: [UInt64] = [80, 27_220, 3_274_292_948_077_624_610]

  @Test(arguments: Backend.allCases) func scriptsEqualTheModel(on backend: Backend) async throws {
    var seed = Seed("scriptsEqualTheModel on \(backend)")
    var calls = 0
    for number in Self.known + (0..<TestForm.count(short: 3, long: 20)).map({ _ in seed.next() }) {
      let trace = StoreTrace(seed: number)
      var replayer = try await TraceReplayer(trace, on: backend)
      for operation in trace.operations {
        try await replayer.perform(operation)
        calls += 1
        if let difference = try await replayer.difference() {
          Issue.record("schedule \(trace.seed), call \(calls): \(operation.step): \(difference)")
          return
        }
      }
    }
    expect(calls > TestForm.count(short: 100, long: 500))
  }
}
