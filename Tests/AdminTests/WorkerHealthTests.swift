import Admin
import CampaignStore
@testable import PushWorker
import TestKit
import Testing

struct WorkerHealthTests {
  private func metrics(
    silence: UInt64? = 1_000_000_000, isStopping: Bool = false, isListed: Bool = true, isStoreLocked: Bool = false,
    stopped: [String?] = [nil], credentials: [WorkerMetrics.Credential]? = nil
  ) -> WorkerMetrics {
    WorkerMetrics(
      apps: [], pools: [],
      credentials: credentials
        ?? stopped.enumerated().map { .init(service: "apns", state: .init(apps: ["app\($0)"], stopped: $1)) },
      quotas: [],
      totals: WorkerTotals(),
      events: WorkerEventCounts(), window: 1, windowUsed: 0, slicesInHand: 0, isStopping: isStopping,
      isListed: isListed, isStoreLocked: isStoreLocked, silence: silence,
      heartbeatError: silence == nil ? nil : "connection refused")
  }

  private func reasons(_ metrics: WorkerMetrics?, obstacle: String? = nil) -> (isReady: Bool, reasons: [String]) {
    let health = WorkerHealth(metrics, obstacle: obstacle)
    return (health.isReady, health.checks.compactMap(\.reason))
  }

  @Test func workerIsReadyWithoutObstacles() {
    expect(reasons(metrics()) == (true, []))
  }

  @Test func eachObstacleIsReported() {
    expect(reasons(nil) == (false, ["the worker waits for its first connection to Redis"]))
    expect(reasons(nil, obstacle: "the store is held") == (false, ["the store is held"]))
    expect(
      reasons(metrics(silence: 20_000_000_000)) == (
        false, ["Redis has accepted no heartbeat for 20 s: connection refused"]
      ))
    expect(reasons(metrics(isStopping: true)) == (false, ["the worker is stopping and takes no new work"]))
    expect(reasons(metrics(isListed: false)) == (false, ["the worker is not in the list of workers yet"]))
  }

  /// An app may have a credential for each push service.
  @Test func checkOfACredentialNamesItsAppsAndItsService() {
    let credentials: [WorkerMetrics.Credential] = [
      .init(service: "apns", state: .init(apps: ["news", "sport"])),
      .init(service: "fcm", state: .init(apps: ["news"], stopped: "the key was deleted")),
    ]
    let checks = WorkerHealth(metrics(credentials: credentials), obstacle: nil).checks.suffix(2)
    expect(checks.map(\.name), is: ["credential news, sport (apns)", "credential news (fcm)"])
    expect(checks.map(\.reason), is: [nil, "the key was deleted"])
  }

  @Test("a stopped credential is reported; if all have stopped, the worker is not ready")
  func credentials() {
    expect(reasons(metrics(stopped: ["refused", nil])) == (true, ["refused"]))
    expect(reasons(metrics(stopped: ["refused", "refused too"])) == (false, ["refused", "refused too"]))
    expect(reasons(metrics(isStoreLocked: true)).isReady)
  }
}
