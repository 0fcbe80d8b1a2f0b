import CampaignStore
import LedgerModel
import TestSupport
import Testing

/// The scripts against the model of the ledger: what random schedules of faults did to the model's Redis is done to a real
/// one, and after every call both have to stand alike. See LedgerModel/README.md.
struct ModelTraceTests {
  /// Schedules with what is rare: a departure of a target in doubt, a seal that was restored.
  private static let known: [UInt64] = [80, 27_220]

  @Test(arguments: Backend.allCases) func scriptsDoWhatTheModelDoes(on backend: Backend) async throws {
    var seed = Seed("scriptsDoWhatTheModelDoes on \(backend)")
    var calls = 0
    for number in Self.known + (0..<TestForm.count(short: 6, long: 20)).map({ _ in seed.next() }) {
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
    #expect(calls > TestForm.count(short: 150, long: 500))
  }
}
