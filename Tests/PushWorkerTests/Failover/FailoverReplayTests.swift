@testable import CampaignStore
import PushCore
import TestKit
import Testing

@testable import PushWorker

/// State that a worker keeps in case Redis loses writes.
@Suite struct FailoverReplayTests {
  @Test func newConnectionsToRedisAreDetected() {
    var failover = FailoverReplay()
    let noticed = [[1, 1], [1, 1], [2, 1], [2, 2], [2, 2]].map { failover.recordConnections(["a": $0]) }
    expect(noticed, is: [false, false, true, true, false])
    // A cluster's server that appears or disappears does not count, but a new connection to a known server counts.
    let others = [["a": [2, 2], "b": [3, 3]], ["b": [3, 3]], ["a": [4, 2], "b": [3, 3]]]
      .map { failover.recordConnections($0) }
    expect(others, is: [false, false, true])
  }

  @Test func changedServerIsDetectedOnEitherConnection() {
    var failover = FailoverReplay()
    // While the two answers differ, the server is changing, and the worker checks it again.
    let looks = [("one", "one"), ("one", "one"), ("two", "one"), ("two", "two"), ("two", "two")]
    let findings = looks.map { failover.compare(["a": $0], ["a": $1]) }
    let (same, changed) = (Finding(same: ["a"]), Finding(changed: ["a"]))
    expect(findings, is: [Finding(isFirst: true), same, changed, changed, same])
  }

  @Test func eachServerOfAClusterIsJudgedByItself() {
    var failover = FailoverReplay()
    func compare(_ servers: [String: String]) -> Finding { failover.compare(servers, servers) }
    expect(compare(["a": "1", "b": "2"]), is: Finding(isFirst: true))
    expect(compare(["a": "1", "b": "3"]), is: Finding(same: ["a"], changed: ["b"]))
    // A server that does not answer is remembered. A replica that took over is an unknown server.
    expect(compare(["b": "3", "c": "9"]), is: Finding(same: ["b"], changed: ["c"]))
    expect(compare(["a": "1", "b": "3", "c": "9"]), is: Finding(same: ["a", "b", "c"]))
    expect(failover.compare(["a": "1"], ["a": "1", "b": "4"]), is: Finding(same: ["a"], changed: ["b"]))
  }

  private typealias Finding = FailoverReplay.Finding

  @Test func graceEndsAndClaimsAreSparedForALease() {
    var failover = FailoverReplay()
    expect(!failover.isInGrace(0))
    failover.beginGrace(1_000_000_000, lease: 6_000_000_000)
    expect(failover.isInGrace(3_999_999_999))
    expect(!failover.isInGrace(4_000_000_000))
    expect(failover.takeoverGrace(2_000_000_000), is: 5000)
    expect(failover.takeoverGrace(9_000_000_000), is: 0)
  }

  @Test func suspendedWorkerReplaysAfterTheOthers() {
    let second: UInt64 = 1_000_000_000
    var failover = FailoverReplay()
    failover.recordRunning(second)
    failover.recordRunning(4 * second)
    failover.beginGrace(4 * second, lease: 6 * second)
    // The worker's memory covers a pause of three seconds.
    expect(failover.delay(4 * second), is: 0)
    failover.recordRunning(8 * second)
    // Redis lost nothing, so there is no reason to wait.
    expect(failover.delay(8 * second), is: 0)
    failover.beginGrace(8 * second, lease: 6 * second)
    expect(failover.delay(8 * second), is: FailoverReplay.grace / 2)
    expect(failover.delay(9 * second), is: FailoverReplay.grace / 2 - second)
    expect(failover.delay(9 * second + FailoverReplay.grace / 2), is: 0)
    // Redis loses writes again.
    failover.recordRunning(10 * second)
    failover.beginGrace(10 * second, lease: 6 * second)
    expect(failover.delay(10 * second), is: FailoverReplay.grace / 2)
    // The pause was longer ago than the grace period, so the worker's data is current.
    failover.recordRunning(11 * second)
    failover.beginGrace(11 * second, lease: 6 * second)
    expect(failover.delay(11 * second), is: 0)
  }

  @Test func replayedOutcomesAreKeptUntilTheReplayEnds() {
    var failover = FailoverReplay()
    var begins = [failover.begin()]
    failover.mustRun { _ in true }
    var forgets = [failover.removeDurable(before: 0, clock: 4) { _ in true }]
    // A running replay is not begun again.
    begins += [failover.begin(), failover.begin()]
    forgets.append(failover.removeDurable(before: 0, clock: 4) { _ in true })
    failover.end()
    forgets.append(failover.removeDurable(before: 0, clock: 5) { _ in true })
    expect(begins, is: [false, true, false])
    expect(forgets, is: [false, false, true])
    expect(failover.seenDurableAt, is: 5)
  }
}
