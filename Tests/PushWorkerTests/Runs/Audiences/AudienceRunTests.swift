import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns to listed users and tokens, with retried answers, and jobs that can't be run.
@Suite struct AudienceRunTests {
  @Test(arguments: PushEngineKind.one(for: "listedUsersAndTokensAreReachedOnce"))
  func listedUsersAndTokensAreReachedOnce(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(20) { $0 == 4 ? .unregistered : .registered }
    try await rig.submit("users", audience: #"{"users":["u1","u2","u2","nobody"]}"#)
    let tokens = [3, 4].map { WorkerRig.text($0) }
    try await rig.submit("tokens", audience: #"{"tokens":["\#(tokens[0])","\#(tokens[1])"]}"#)
    try await rig.worker("w").run()
    let users = try #require(try await rig.store.campaigns.show("users"))
    expect(users.counters.outcomes, is: [.accepted: 2])
    let raw = try #require(try await rig.store.campaigns.show("tokens"))
    expect(raw.counters.outcomes, is: [.accepted: 1, .unregistered: 1])
    // The device was in its user's partition, not in that of the token.
    expect(try await rig.store.registry.user("u4") == nil)
  }

  @Test(arguments: PushEngineKind.one(for: "pushToABusyServerIsRetried"))
  func pushToABusyServerIsRetried(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 60)
    await rig.simulator.change {
      $0.failures = [SimulatorKnobs.Failure(share: 0.34, status: 503, reason: "ServiceUnavailable")]
    }
    try await rig.submit("busy")
    let retry = RetryPolicy(serverError: 1, tooManyRequests: 1, attempts: 50)
    try await rig.worker("w", retry: retry).run()
    let record = try #require(try await rig.store.campaigns.show("busy"))
    expect(record.counters.outcomes, is: [.accepted: 60])
    expect(await rig.simulator.counters().reasons["ServiceUnavailable"] ?? 0 >= 20)
  }

  @Test(arguments: PushEngineKind.one(for: "repeatedlyClosedConnectionsLoseNothing"))
  func repeatedlyClosedConnectionsLoseNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 600)
    await rig.simulator.change { $0.goAwayAfterRequests = 250 }
    try await rig.submit("goaway")
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    let record = try #require(try await rig.store.campaigns.show("goaway"))
    expect(record.counters.outcomes, is: [.accepted: 600], "\(log.all)")
    let counters = await rig.simulator.counters()
    // At least one of two connections has had its 250 requests.
    expect(counters.goAways >= 1)
    expect(counters.accepted - counters.duplicates, is: 600)
    // Only an engine that reads the GOAWAY frame knows which pushes the server did not process.
    if engine == .native { expect(counters.duplicates, is: 0) }
  }

  @Test(arguments: PushEngineKind.one(for: "targetFailsAfterItsLastRetry"))
  func targetFailsAfterItsLastRetry(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 10)
    await rig.simulator.change {
      $0.failures = [SimulatorKnobs.Failure(share: 1, status: 500, reason: "InternalServerError")]
    }
    try await rig.submit("hopeless")
    try await rig.worker("w", retry: RetryPolicy(serverError: 1, tooManyRequests: 1, attempts: 3)).run()
    let record = try #require(try await rig.store.campaigns.show("hopeless"))
    expect(record.counters.outcomes, is: [.failed: 10])
    expect(await rig.simulator.counters().received, is: 30)
  }

  @Test(arguments: PushEngineKind.one(for: "expiredCampaignSendsNothing"))
  func expiredCampaignSendsNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 10)
    try await rig.submit("late", #","expiration":"2020-01-01T00:00:00Z""#)
    try await rig.worker("w").run()
    let record = try #require(try await rig.store.campaigns.show("late"))
    expect(record.counters.outcomes, is: [.expired: 10])
    expect(await rig.simulator.counters().received, is: 0)
  }

  @Test(arguments: PushEngineKind.one(for: "malformedJobsGoToTheDeadListAndOthersRun"))
  func malformedJobsGoToTheDeadListAndOthersRun(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 10)
    for job in [
      "{", #"{"id":"x"}"#, #"{"id":"y","app":"nope","audience":{"segment":"*"},"apns":{"payload":{}}}"#,
      #"{"id":"z","app":"news","audience":{"segment":"everyone & !optedout"},"apns":{"payload":{"aps":{"badge":1}}}}"#,
    ] {
      try await rig.push(raw: job)
    }
    try await rig.submit("good")
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    expect(try await rig.store.campaigns.show("good")?.counters.outcomes, is: [.accepted: 10])
    expect(log.all.count { $0.contains("deadLettered") }, is: 4, "\(log.all)")
  }

  @Test(arguments: PushEngineKind.one(for: "refusedCredentialPausesTheCampaign"))
  func refusedCredentialPausesTheCampaign(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2) { $0.keys = [] }
    try await rig.register(30)
    try await rig.submit("locked-out")
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("locked-out")?.state == .paused }
    await worker.stop()
    try await running
    let record = try #require(try await rig.store.campaigns.show("locked-out"))
    expect(record.reason?.contains("InvalidProviderToken"), is: true)
    expect(record.counters.outcomes.isEmpty)
    expect(record.counters.inDoubt, is: 0)
  }
}
