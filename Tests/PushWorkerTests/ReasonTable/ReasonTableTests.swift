import PushTransport
import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// Every documented reason and status of APNs, and some undocumented ones. A real worker over TLS shows the effects on
/// the target, its device, the credential, the connection and the campaign.
@Suite(.takesTurns) struct ReasonTableTests {
  /// The short form has a row of each kind of consequence. `DispositionTests` has every reason.
  @Test(arguments: TestForm.rows(ReasonTable.rows, oneOfEach: \.kind))
  func answerHasTheConsequencesOfTheTable(
    _ row: ReasonRow
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for run in ReasonRun.all(of: row) {
        group.addTask {
          let stage = try await ReasonStage(run)
          try await stage.play()
          try await stage.check()
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func tableHasEveryReason() {
    let named = Set(ReasonTable.rows.flatMap { $0.name.split { !($0.isLetter) } }.map { Reason(name: $0) })
    // Answers without a reason have the name of their status, so `none` has no row under its own name.
    expect(Set(Reason.allCases).subtracting(named), is: [.none])
  }

  @Test func everyFormOfARowIsTestedAndBothEnginesAreUsed() {
    let runs = ReasonTable.rows.map { ReasonRun.all(of: $0) }
    for (row, runs) in zip(ReasonTable.rows, runs) {
      expect(Set(runs.map(\.engine)).count, is: 2, "\(row)")
      expect(Set(runs.map { "\($0.scene.remark), \($0.auth)" }).count, is: row.scenes.count * row.auth.count, "\(row)")
    }
    for auth in ReasonRow.Auth.allCases {
      for engine in PushEngineKind.allCases {
        expect(runs.joined().count { $0.auth == auth && $0.engine == engine } > 20)
      }
    }
  }

  @Test func pageHasTheTable() throws {
    let table = DocumentedTable("reasons", head: ReasonRow.head, rows: ReasonTable.rows.map(\.cells))
    expect(try table.documented(), is: table.markdown, "CARILLON_WRITE_TABLES=1 writes it")
  }
}
