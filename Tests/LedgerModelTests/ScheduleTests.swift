import LedgerModel
import TestSupport
import Testing

/// The rules of the ledger under random schedules of everything that can go wrong; see LedgerModel/README.md.
struct ScheduleTests {
  @Test func noScheduleBreaksAnInvariant() async {
    let seed = Seed.next()
    let summary = await runSchedules(count: 8000, seed: seed, cores: 2)
    for violation in summary.violations { Issue.record("\(violation)") }
    #expect(summary.schedules == 8000)
    for kind in FaultKind.allCases { #expect(summary.faults[kind] > 0, "\(kind) never happened") }
    #expect(summary.takeovers > 0)
  }
}
