import PushTransport
import FaultKit
import Foundation
import TestKit
import TestSupport
import Testing

struct FaultTests {
  private static let seed = TestForm.turn

  /// Plays small cases, see ``FaultCases/quick(seed:)``. The faults of a case must fire, and no invariant may be
  /// violated. The mutants prove that each rule of the checker detects violations. `make faults` plays all cases in
  /// full size.
  ///
  /// Each engine has half of the cases, selected by the seed. Each case is a test case of its own with half a dozen
  /// processes, so the limit of concurrent tests also limits the number of worlds.
  @Test(.timeLimit(.minutes(15)), arguments: FaultCases.quick(seed: seed).map(\.name))
  func faultViolatesNoInvariant(name: String) async throws {
    let fault = try #require(FaultCases.quick.first { $0.name == name })
    let logs = FileManager.default.temporaryDirectory.appending(path: "carillon-faults-\(Self.seed)")
    let runner = FaultRunner(
      seed: Self.seed, engines: PushEngineKind.allCases, worlds: 1, scale: .short, limit: .seconds(840), logs: logs)
    let summary = await runner.run([fault]) { report in
      print(report.line)
      if report.verdict == .failed {
        Issue.record("\(report.line)\n\(report.violations.joined(separator: "\n"))\nCARILLON_TEST_SEED=\(Self.seed)")
      }
    }
    expect(summary.unplayed, is: [], "seed \(Self.seed)")
  }

  @Test func eachEngineHasHalfOfTheCases() {
    for seed: UInt64 in 0...1 {
      let engines = FaultCases.quick.map {
        FaultCases.engine(of: $0.name, among: PushEngineKind.allCases, seed: seed)
      }
      for engine in PushEngineKind.allCases { expect(engines.count { $0 == engine } >= engines.count / 2) }
    }
  }

  @Test func eightSeedsPlayEveryCaseWithEachEngine() {
    let seeds: Range<UInt64> = 0..<8
    for engine in PushEngineKind.allCases {
      let played = seeds.flatMap { seed in
        FaultCases.quick(seed: seed).map(\.name)
          .filter { FaultCases.engine(of: $0, among: PushEngineKind.allCases, seed: seed) == engine }
      }
      expect(Set(played), is: Set(FaultCases.quick.map(\.name)))
    }
  }

  @Test func everyAlertHasACaseOfItsTrouble() throws {
    let known = try AlertCases.known()
    expect(known.count >= 17 && Set(known) == Set(AlertCases.alerts))
  }

  /// If a mutation does not match its script, the worker ends immediately, and the case would wait in vain.
  @Test func everyMutationMatchesItsScript() throws {
    let files = try StoreScriptFiles.sources()
    let mutations = FaultCases.all.compactMap { $0.environment["CARILLON_FAULT_SCRIPT"] }
    expect(mutations.count >= 7)
    for mutation in mutations {
      let parts = mutation.split(separator: "|", omittingEmptySubsequences: false)
      try #require(parts.count == 3, "\(mutation)")
      // The mutation may also be in the code that the loader puts before the script.
      let sources = try [String(parts[0]), "grant"].map { try #require(files[$0], "\(mutation)") }
      expect(sources.contains { $0.contains(parts[1]) }, "\(mutation)")
    }
  }

  @Test func seedDecidesWhatACaseDoes() async throws {
    let same = FaultCase("same", faults: [], invariant: "", bound: "") { stage in
      stage.violated("\((0..<8).map { _ in stage.random(0...999) })")
    }
    let logs = FileManager.default.temporaryDirectory.appending(path: "carillon-seeds")
    let reports = [
      await same.run(.short, engine: .curl, seed: 7, logs: logs),
      await same.run(.short, engine: .curl, seed: 7, logs: logs),
    ]
    expect(reports[0].violations, is: reports[1].violations)
    expect(await same.run(.short, engine: .curl, seed: 8, logs: logs).violations != reports[0].violations)
    try? FileManager.default.removeItem(at: logs)
  }

  @Test func caseWhoseFaultNeverFiredHasFailed() async throws {
    let idle = FaultCase("idle", faults: ["an earthquake"], invariant: "", bound: "") { _ in }
    let logs = FileManager.default.temporaryDirectory.appending(path: "carillon-idle")
    let report = await idle.run(.short, engine: .curl, seed: 1, logs: logs)
    expect(report.verdict, is: .failed)
    expect(report.violations, is: ["an earthquake: never fired", "nothing was checked"])
    try? FileManager.default.removeItem(at: logs)
  }
}
