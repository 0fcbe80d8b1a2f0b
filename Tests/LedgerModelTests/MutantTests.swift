import LedgerModel
import Testing

/// A check that can't fail is worth nothing: every rule that is broken on purpose is found out.
struct MutantTests {
  /// Rules whose breach takes rarer coincidences than a short run has, or that others stand in for: see the README.
  private static let rare: Set<Mutant> = [
    .sealNotChecked, .replayMovesSequence, .raisedUnseen, .waitingFromStale, .replaysWaiting, .closesWithDoubt,
    .failedReadDiscards, .doubtsOfOthers, .sealsAfterFall, .readsBeforeReplay, .noGraceForClaims, .noGraceAtStart,
    .noGraceForCredit, .sealNotRestored, .replayOnce, .closeNotReplayed, .replayNotJournaled,
    .noReopen, .staleSealKept,
  ]

  @Test(arguments: Mutant.allCases.filter { !rare.contains($0) })
  func isCaught(_ mutant: Mutant) async {
    let summary = await runSchedules(count: 5000, seed: 1, mutant: mutant)
    #expect(!summary.violations.isEmpty, "no schedule of \(summary.schedules) finds \(mutant.name) out")
  }
}
