@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// Reports of the reasons why campaigns wait.
@Suite struct WaitingReportsTests {
  @Test func endOfAWaitIsReportedOnce() {
    var reports = WaitingReports()
    let changes = [
      reports.update([("a", "away", 5)]), reports.update([("b", "slow", 7)]), reports.update([]), reports.update([]),
    ]
    expect(
      changes,
      is: [
        [.waits(id: "a", reason: "away", since: 5)],
        [.waits(id: "b", reason: "slow", since: 7), .continues(id: "a")], [.continues(id: "b")], [],
      ])
  }
}
