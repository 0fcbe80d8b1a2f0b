import CampaignStore
import TestKit
import Testing

@testable import PushWorker

@Suite struct QuotaMonitorTests {
  private let second: UInt64 = 1_000_000_000

  /// Sends pushes, one in `gap` of which is refused, and returns the reports.
  private func refuse(
    _ count: Int, every gap: Int, _ watch: inout QuotaMonitor, sent: inout Int, now: UInt64
  ) -> [QuotaReport] {
    (0..<count).compactMap { _ in
      sent += gap
      return watch.record(limit: 60, sent: sent, now: now)
    }
  }

  @Test(arguments: [(1, 1), (3, 1), (5, 0), (100, 0)])
  func onlyAUsedUpQuotaIsReported(gap: Int, reports: Int) {
    var (watch, sent) = (QuotaMonitor(), 0)
    let found = refuse(500, every: gap, &watch, sent: &sent, now: second)
    expect(found, is: Array(repeating: QuotaReport(perMinute: 60), count: reports))
    expect(watch.exceeded, is: 500)
  }

  @Test func fewRefusedPushesAreNotReported() {
    var (watch, sent) = (QuotaMonitor(), 0)
    expect(refuse(15, every: 1, &watch, sent: &sent, now: second).isEmpty)
    expect(refuse(15, every: 1, &watch, sent: &sent, now: second).count, is: 1)
  }

  /// Answers arrive after many pushes were sent, and then in groups.
  @Test func pushesOnTheWayDoNotDelayTheReport() {
    var watch = QuotaMonitor()
    let reports = (0..<30).compactMap { _ in watch.record(limit: nil, sent: 100_000, now: second) }
    expect(reports, is: [QuotaReport()])
  }

  @Test func nextReportFollowsAfterFiveSeconds() {
    var (watch, sent) = (QuotaMonitor(), 0)
    expect(refuse(50, every: 1, &watch, sent: &sent, now: second).count, is: 1)
    expect(refuse(50, every: 1, &watch, sent: &sent, now: 5 * second).isEmpty)
    expect(refuse(50, every: 1, &watch, sent: &sent, now: 6 * second).count, is: 1)
    // Accepted pushes between the refused ones end the reports. After the first refused push the average is still small
    // enough for a report.
    expect(refuse(60, every: 20, &watch, sent: &sent, now: 60 * second).count, is: 1)
    expect(refuse(60, every: 20, &watch, sent: &sent, now: 70 * second).isEmpty)
  }

  /// A campaign waits for the quota while almost every push is refused, also between two retries.
  @Test func refusalEndsWithAcceptedPushesOrWithTime() {
    var (watch, sent) = (QuotaMonitor(), 0)
    expect(watch.refusal(sent: 0, now: second), is: nil)
    _ = refuse(15, every: 1, &watch, sent: &sent, now: second)
    expect(watch.refusal(sent: sent, now: second), is: nil, "fifteen refusals may be chance")
    _ = refuse(15, every: 1, &watch, sent: &sent, now: 2 * second)
    _ = refuse(15, every: 1, &watch, sent: &sent, now: 60 * second)
    expect(watch.refusal(sent: sent, now: 149 * second), is: 2 * second)
    expect(watch.refusal(sent: sent, now: 150 * second), is: nil)
    expect(watch.refusal(sent: sent + 63, now: 61 * second), is: 2 * second)
    expect(watch.refusal(sent: sent + 64, now: 61 * second), is: nil)
    _ = refuse(30, every: 20, &watch, sent: &sent, now: 62 * second)
    expect(watch.refusal(sent: sent, now: 62 * second), is: nil)
  }

  @Test func oneReportInAMinuteIsLogged() {
    var watch = QuotaMonitor()
    expect([1, 60, 61].map { watch.shouldLog($0 * second) }, is: [true, false, true])
  }
}
