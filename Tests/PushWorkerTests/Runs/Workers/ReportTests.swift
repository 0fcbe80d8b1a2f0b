import CampaignStore
import EventLoop
import PushCore
import PushTransport
import TestKit
import TestSupport
import Testing

@testable import PushWorker

/// Reports of a worker, and their frequency.
struct ReportTests {
  @Test func unchangedReportIsSentOnceAMinute() {
    var pace = ReportPace()
    var report = WorkerReport()
    let second: UInt64 = 1_000_000_000
    expect(pace.next(report, 0), is: report)
    expect(pace.next(report, second), is: nil)
    report.windowUsed = 5
    expect(pace.next(report, 2 * second), is: report)
    expect(pace.next(report, 61 * second), is: nil)
    expect(pace.next(report, 62 * second), is: report)
    // The report did not arrive.
    pace.invalidate()
    expect(pace.next(report, 63 * second), is: report)
  }

  @Test func speedCountsOutcomesSinceTheLastReport() {
    var pace = ReportPace()
    expect(pace.perSecond(100, 5), is: 0)
    expect(pace.perSecond(600, 5 + 500_000_000), is: 1000)
    expect(pace.perSecond(600, 5 + 1_500_000_000), is: 0)
  }

  /// A real worker with a real store: everything that the fleet's status shows of a worker arrives with its heartbeats.
  @Test(arguments: PushEngineKind.one(for: "reportShowsTheStateOfTheWorker"))
  func reportShowsTheStateOfTheWorker(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 40)
    let worker = rig.worker("seen", drains: false)
    let running = Task { try await worker.run() }
    try await rig.submit("a")
    try await rig.until { try await rig.store.campaigns.find("a")?.times.finishedAt != nil }
    var report = WorkerReport()
    try await rig.until {
      report = try await rig.store.fleet.snapshot(lease: 60_000).presence.workers.first?.report ?? report
      return report.accepted == 40 && report.slices == 0
    }
    expect(report.engine == engine.rawValue && report.window == 100 && report.windowUsed == 0 && !report.takesNothing)
    expect(report.startedAt > 1_700_000_000_000)
    expect(
      report.pools.map(\.endpoint) == [rig.channel.services[0].endpoint.url] && report.pools.first?.health == "ready")
    expect(report.credentials, is: [.init(apps: ["news"])])
    await worker.stop()
    try await running.value
    expect(try await rig.store.fleet.snapshot(lease: 60_000).presence.workers.isEmpty)
  }
}
