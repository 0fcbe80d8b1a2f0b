import LedgerModel
import TestKit
import TestSupport
import Testing

/// Invariants of the ledger under random schedules with all faults; see LedgerModel/README.md.
struct ScheduleTests {
  @Test func noScheduleBreaksAnInvariant() async {
    var seed = Seed("noScheduleBreaksAnInvariant")
    let first = seed.next()
    let summary = await runSchedules(count: 8000, seed: first, cores: 2)
    for violation in summary.violations { Issue.record("\(violation)") }
    expect(summary.schedules, is: 8000)
    for kind in FaultKind.allCases { expect(summary.faults[kind] > 0, "\(kind) never happened") }
    expect(summary.takeovers > 0)
  }

  /// Redis loses the claim of a live worker that has sent targets and not recorded the answers. The former owner owns
  /// the slice again and sends these targets again.
  @Test func ownerOfALostClaimLeavesTargetsInDoubt() async {
    let summary = await runSchedules(count: 1, seed: 20_445_589)
    expect(summary.violations.isEmpty, "\(summary.violations)")
    expect(summary.duplicates > 0)
  }

  /// Slices store the number of departures because of users who depart during an expansion. Schedules must contain such
  /// users.
  @Test func usersDepartInTheMidstOfAnExpansion() {
    var seed = Seed("usersDepartInTheMidstOfAnExpansion")
    var behind: [StoreCall.Kind: Int] = [:]
    for _ in 0..<500 {
      var last: [Int: StoreCall.Kind] = [:]
      for operation in StoreTrace(seed: seed.next()).operations {
        guard case .call(let call) = operation.step else { continue }
        switch call.kind {
        case .claim, .append, .seal, .commit, .regrant: last[call.slice] = call.kind
        case .depart: if let kind = last[call.slice] { behind[kind, default: 0] += 1 }
        default: break
        }
      }
    }
    for kind: StoreCall.Kind in [.claim, .append, .seal, .commit] { expect(behind[kind, default: 0] > 0, "\(kind)") }
  }
}
