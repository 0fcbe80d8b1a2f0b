import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Server errors: the quick second attempt, and outages during which the circuit breaker is open.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct OpenBreakerRunTests {
  private static let unavailable = SimulatorKnobs.Failure(share: 1, status: 503, reason: "ServiceUnavailable")

  /// Starts a campaign to 300 devices during an outage, on a worker that has detected it.
  private func refusedCampaign(
    _ engine: PushEngineKind, _ log: EventLog, _ fields: String = ""
  ) async throws -> (
    rig: WorkerRig, worker: PushWorker, run: Task<Void, any Error>
  ) {
    let rig = try await WorkerRig(engine: engine, partitions: 4) { $0.knobs.failures = [Self.unavailable] }
    try await rig.register(300)
    try await rig.submit("refused", fields)
    // A failed target is retried immediately, as often as necessary.
    let retry = RetryPolicy(serverError: 1, tooManyRequests: 1, attempts: 50)
    let worker = rig.worker("w", retry: retry, log: log)
    let run = Task { try await worker.run() }
    try await rig.until { log.all.contains { $0.hasPrefix("breakerOpened(") } }
    return (rig, worker, run)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignContinuesAutomaticallyAfterAnOutage"))
  func campaignContinuesAutomaticallyAfterAnOutage(engine: PushEngineKind) async throws {
    let log = EventLog()
    let (rig, _, run) = try await refusedCampaign(engine, log)
    let burnt = await rig.simulator.counters().received
    expect(burnt < 150, "a window, and what made the breaker open")
    await rig.simulator.set(SimulatorKnobs())
    try await run.value
    let record = try #require(try await rig.store.campaigns.show("refused"))
    expect(record.counters.outcomes, is: [.accepted: 300])
    expect(log.all.contains { $0.hasPrefix("breakerClosed(") }, "\(log.all)")
    let counters = await rig.simulator.counters()
    expect(counters.received, is: 300 + (counters.reasons["ServiceUnavailable"] ?? 0))
    expect(counters.duplicates, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "outageOfOneEndpointDoesNotStopAnotherApp"))
  func outageOfOneEndpointDoesNotStopAnotherApp(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 64) { $0.knobs.failures = [Self.unavailable] }
    let other = try await WorkerRig(engine: engine, partitions: 1)
    try await rig.register(3000)
    let log = EventLog()
    var configuration = WorkerConfiguration(
      name: "w", window: 50, retry: RetryPolicy(serverError: 1, tooManyRequests: 1, attempts: 50), drains: true,
      apps: ["news": rig.channel, "sport": other.channel])
    configuration.engine = engine
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: log.append)
    try await rig.submit("refused", #","lane":"urgent""#)
    let run = Task { try await worker.run() }
    try await rig.until { log.all.contains { $0.hasPrefix("breakerOpened(") } }
    // The campaign has more targets than the window, and a lower lane.
    let tokens = (0..<200).map { WorkerRig.text($0) }
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    try await rig.push(
      raw:
        #"{"id":"elsewhere","app":"sport","lane":"bulk","audience":{"tokens":[\#(list)]},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#
    )
    try await rig.until { try await rig.store.campaigns.show("elsewhere")?.state == .completed }
    expect(try await rig.store.campaigns.show("elsewhere")?.counters.outcomes, is: [.accepted: 200])
    expect(try await rig.store.campaigns.show("refused")?.state, is: .active)
    await rig.simulator.set(SimulatorKnobs())
    try await run.value
    expect(try await rig.store.campaigns.show("refused")?.counters.outcomes, is: [.accepted: 3000])
    expect(await rig.simulator.counters().duplicates, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignIsCancelledWhileTheBreakerIsOpen"))
  func campaignIsCancelledWhileTheBreakerIsOpen(engine: PushEngineKind) async throws {
    let (rig, _, run) = try await refusedCampaign(engine, EventLog())
    try await rig.store.campaigns.control("refused", .cancel)
    try await run.value
    let record = try #require(try await rig.store.campaigns.show("refused"))
    expect(record.state, is: .cancelled)
    // A slice that was parked before its expansion ends without targets.
    expect(record.counters.targets > 0)
    expect(record.counters.outcomes, is: [.cancelled: record.counters.targets])
  }

  @Test(arguments: PushEngineKind.one(for: "pauseWithAnOpenBreakerLeavesNothingInDoubt"))
  func pauseWithAnOpenBreakerLeavesNothingInDoubt(engine: PushEngineKind) async throws {
    let (rig, worker, run) = try await refusedCampaign(engine, EventLog())
    try await rig.store.campaigns.control("refused", .pause)
    try await rig.until { try await rig.store.campaigns.show("refused")?.counters.inDoubt == 0 }
    await worker.stop()
    try await run.value
    await rig.simulator.set(SimulatorKnobs())
    try await rig.store.campaigns.control("refused", .resume)
    try await rig.worker("w2").run()
    expect(try await rig.store.campaigns.show("refused")?.counters.outcomes, is: [.accepted: 300])
    expect(await rig.simulator.counters().duplicates, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "targetsThatWaitForTheBreakerExpireInTime"))
  func targetsThatWaitForTheBreakerExpireInTime(engine: PushEngineKind) async throws {
    let (rig, _, run) = try await refusedCampaign(engine, EventLog(), #","expiration":"6s""#)
    try await run.value
    let record = try #require(try await rig.store.campaigns.show("refused"))
    expect(record.counters.outcomes, is: [.expired: 300])
  }

  @Test(arguments: PushEngineKind.one(for: "workerStopsWhileTheBreakerIsOpen"))
  func workerStopsWhileTheBreakerIsOpen(engine: PushEngineKind) async throws {
    let (rig, worker, run) = try await refusedCampaign(engine, EventLog())
    await worker.stop()
    try await run.value
    let record = try #require(try await rig.store.campaigns.show("refused"))
    expect(record.counters.inDoubt, is: 0)
    expect(record.counters.outcomes.isEmpty)
  }

  @Test(arguments: PushEngineKind.one(for: "failedPushIsSoonRetriedOnAnotherConnection"))
  func failedPushIsSoonRetriedOnAnotherConnection(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let log = try folder.write("requests.log", "")
    let rig = try await WorkerRig(engine: engine, partitions: 2) {
      $0.log = log
      $0.knobs.tokenFailures = (0..<10).map {
        let token = WorkerRig.text($0)
        return .init(token: token, status: [500, 503, 429][$0 % 3], reason: "InternalServerError", times: 1)
      }
    }
    try await rig.register(40)
    try await rig.submit("hiccup")
    // The second wait after a 5xx would take a quarter of an hour.
    try await rig.worker("w", retry: RetryPolicy(firstServerError: 1, tooManyRequests: 1)).run()
    expect(try await rig.store.campaigns.show("hiccup")?.counters.outcomes, is: [.accepted: 40])
    let requests = try RequestLine.read(log)
    expect(requests.count, is: 50)
    for (token, both) in Dictionary(grouping: requests, by: \.token) where both.count > 1 {
      expect(both.map { $0.status == "200" }, is: [false, true], "\(token)")
      expect(both[0].connection != both[1].connection)
    }
  }
}
