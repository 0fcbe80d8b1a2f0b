import LedgerModel
import TestKit
import Testing

/// Tests that the model finds every mutant. This proves that its checks can fail.
struct MutantTests {
  /// Mutants that need rarer coincidences than a short run has, or that other rules compensate for: see the README.
  private static let rare: Set<Mutant> = [
    .sealNotChecked, .replayMovesSequence, .raisedUnseen, .waitingFromStale, .replaysWaiting, .closesWithDoubt,
    .failedReadDiscards, .doubtsOfOthers, .sealsAfterFall, .readsBeforeReplay, .noGraceForClaims, .noGraceAtStart,
    .noGraceForCredit, .sealNotRestored, .replayOnce, .closeNotReplayed, .replayNotJournaled,
    .noReopen, .restoredSealTrusted, .staleSealKept, .staleFailureCounts, .grantForgetsAmbiguity,
    .exhaustionForgetsAmbiguity, .refusalsJournaled,
  ]

  /// Rare mutants that a known schedule finds.
  private static let schedules: [(Mutant, UInt64)] = [
    (.exhaustionForgetsAmbiguity, 6243), (.grantForgetsAmbiguity, 11_688), (.staleFailureCounts, 53_822),
    (.restoredSealTrusted, 27_220), (.refusalsJournaled, 8_068_737_672_177_556_680),
  ]

  @Test(arguments: schedules)
  func isCaught(_ mutant: Mutant, by seed: UInt64) async {
    let summary = await runSchedules(count: 1, seed: seed, mutant: mutant)
    expect(!summary.violations.isEmpty, "schedule \(seed) does not find \(mutant.name) out")
    expect(await runSchedules(count: 1, seed: seed).violations.isEmpty)
  }

  @Test(arguments: Mutant.allCases.filter { !rare.contains($0) })
  func isCaught(_ mutant: Mutant) async {
    let summary = await runSchedules(count: 5000, seed: 1, mutant: mutant)
    expect(!summary.violations.isEmpty, "no schedule of \(summary.schedules) finds \(mutant.name) out")
  }
}
