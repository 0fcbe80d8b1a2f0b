import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns of an app with an unhealthy backend.
@Suite(.timeLimit(.minutes(6))) struct BackendRunTests {
  private static let users = 600
  private static let rate = 200.0
  private static let least = 0.1

  @Test(arguments: PushEngineKind.one(for: "campaignIsThrottledUntilTheBackendIsHealthy"))
  func campaignIsThrottledUntilTheBackendIsHealthy(engine: PushEngineKind) async throws {
    let backend = try HealthServer(.status(503))
    let folder = try ScratchFolder()
    var rig = try await WorkerRig(engine: engine) { $0.log = folder.path("requests") }
    rig.channel.backend = AppBackend(
      check: HealthCheck(url: backend.url, slowAfter: 60_000, timeout: 60_000), interval: 20, rate: Self.rate,
      leastShare: Self.least)
    try await rig.register(Self.users)
    let logs = [EventLog(), EventLog()]
    let workers = zip(["one", "two"], logs).map { rig.worker($0, drains: false, log: $1) }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    try await rig.until { try await rig.store.limits.backends()["news"]?.share == Self.least }
    // An urgent campaign is not throttled.
    try await rig.submit("alarm", #","lane":"urgent""#)
    try await rig.until { try await rig.store.campaigns.show("alarm")?.state == .completed }
    let start = Int(Date().timeIntervalSince1970 * 1000)
    try await rig.submit("offer", #","lane":"bulk""#)
    try await rig.until {
      try await rig.store.campaigns.show("offer")?.waiting?.reason
        .contains("the backend of app news is unhealthy (status 503)") == true
    }
    // These bounds hold on a slow machine too: the permits of pushes that have arrived were granted before.
    let arrivals = try RequestLine.read(folder.path("requests")).map(\.time).sorted().dropFirst(Self.users)
    let perSecond = Self.rate * Self.least
    for (number, at) in arrivals.enumerated() {
      let most = perSecond * 1.02 * Double(at - start) / 1000 + perSecond / 4 + 1
      expect(Double(number + 1) <= most, "\(number + 1) of \(most) after \(at - start) ms")
    }
    expect(arrivals.count < Self.users)
    let fleet = try await rig.store.fleet.snapshot(lease: 6000)
    expect(fleet.backends.map(\.share), is: [Self.least])

    // At this rate the campaign would take half a minute; at the full rate three seconds.
    backend.set(.status(200))
    try await rig.until { try await rig.store.limits.backends()["news"]?.isSlowed == false }
    try await rig.until { try await rig.store.campaigns.show("offer")?.state == .completed }
    expect(Int(Date().timeIntervalSince1970 * 1000) - start < Int(Double(Self.users) / perSecond) * 1000)
    for worker in workers { await worker.stop() }
    _ = try await (first, second)
    expect(try await rig.store.campaigns.show("offer")?.counters.outcomes, is: [.accepted: Self.users])
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
    // One worker of the fleet checks at a time, and logs the beginning and the end.
    let lines = logs.flatMap(\.all)
    expect(
      lines.count { $0.hasPrefix("throttled(") } == 1 && lines.count { $0.hasPrefix("throttleEnded(") } == 1, "\(lines)"
    )
    await backend.stop()
  }

  /// Neither sending nor the end of a worker waits for the check.
  @Test func silentBackendDelaysNothing() async throws {
    let backend = try HealthServer(.silence)
    var rig = try await WorkerRig(engine: .native)
    rig.channel.backend = AppBackend(
      check: HealthCheck(url: backend.url, slowAfter: 10, timeout: 600_000), interval: 20, rate: 1, leastShare: 0.1)
    try await rig.register(200)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { !backend.asked.isEmpty }
    try await rig.submit("offer")
    try await rig.until { try await rig.store.campaigns.show("offer")?.state == .completed }
    // The worker sends one check and waits for its end.
    expect(backend.asked.count, is: 1)
    await worker.stop()
    try await running
    await backend.stop()
  }
}
