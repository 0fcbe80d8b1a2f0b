import CampaignStore
import EventLoop
import Foundation
import PushCore
import PushTransport
import PushWorker
import Redis
import TestKit
import TestPushService
import TestSupport
import Testing

/// Whole campaigns of a push service that differs from APNs in every way, with a real worker, Redis, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(6)))
struct SecondServiceTests {
  /// A store, a server of the service, and workers.
  private struct Rig {
    let server: TextServer
    let store: CampaignStore
    let credential: TextCredential
    private let folder: ScratchFolder
    private let url: RedisURL
    private let keys: Keyspace
    private let engine: PushEngineKind
    private let channel: AppChannel

    init(_ engine: PushEngineKind, service: TextService = TextService()) async throws {
      self.engine = engine
      credential = TextCredential("secret")
      folder = try ScratchFolder()
      let text = try await TextServer.start(in: folder, for: service, credential: credential)
      server = text.server
      channel = AppChannel([text.channel])
      url = try RedisURL(await RedisServer.shared.url)
      keys = try #require(Keyspace(namespace: "text-\(UUID().uuidString)", partitions: 8))
      store = Self.store(url, keys)
      try await store.open(creating: true)
    }

    private static func store(_ url: RedisURL, _ keys: Keyspace) -> CampaignStore {
      CampaignStore(
        redis: RedisClient(url: url, options: WorkerRig.unhurried), keys: keys,
        services: PushServices(standard: TextService(), apps: ["web": [TextService()]]))
    }

    func register(_ tokens: [String]) async throws {
      try await store.registry.register(
        tokens.map { token in
          var device = DeviceRecord(token: Array(token.utf8), service: "text")
          device.app = "web"
          device.registeredAt = 1000
          return DeviceRegistration(user: "user of \(token)", device: device)
        })
    }

    func submit(_ id: String, payload: String = #"{"text":"Hello"}"#) async throws {
      let job = Array(
        #"{"id":"\#(id)","app":"web","audience":{"segment":"*"},"text":{"payload":\#(payload)},"results":"all"}"#.utf8)
      let campaign = try CampaignJob.parse(job, .known(["web": [TextService()]]))
      expect(try await store.queue.submit(job, as: campaign), is: .new)
    }

    func worker(
      _ log: EventLog, _ name: String = "w", drains: Bool = true, attempts: Int = 5, firstServerError: Int = 5000
    ) -> PushWorker {
      var configuration = WorkerConfiguration(
        name: name, window: 100,
        retry: RetryPolicy(
          firstServerError: firstServerError, tooManyRequests: 50, attempts: attempts, jitter: 0),
        guard: GuardPolicy(threshold: 0.5), drains: drains, apps: ["web": channel])
      configuration.engine = engine
      return PushWorker(
        configuration: configuration, store: Self.store(url, keys), sharedStore: Self.store(url, keys),
        blocking: Self.store(url, keys), observer: log.append)
    }
  }

  private static let tokens = (0..<400).map { "t:\($0):" + String(repeating: "ü", count: $0 % 50) }

  @Test(arguments: PushEngineKind.one(for: "campaignEndsWithOutcomesInTheServicesWords"))
  func campaignEndsWithOutcomesInTheServicesWords(engine: PushEngineKind) async throws {
    let rig = try await Rig(engine)
    try await rig.register(Self.tokens)
    await rig.server.change { book in
      for (number, token) in Self.tokens.enumerated() {
        switch number % 40 {
        case 3: book.refusals[token] = .gone
        case 7: book.refusals[token] = .nonsense
        case 11: book.refusals[token] = .busy
        default: break
        }
      }
    }
    try await rig.submit("hello")
    let log = EventLog()
    try await rig.worker(log).run()
    let record = try #require(try await rig.store.campaigns.show("hello"))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.outcomes, is: [.accepted: 380, .unregistered: 10, .badToken: 10])
    expect(record.counters.pruned == 10 && record.counters.quarantined == 10)
    let book = await rig.server.book
    expect(book.strange, is: [])
    expect(book.accepted.count == 380 && Set(book.accepted).count == 380, "a device got two pushes")
    var reasons: [String: Int] = [:]
    try await rig.store.results.forEachResult(of: "hello") { page in
      for result in page where result.outcome != .accepted { reasons[result.reason, default: 0] += 1 }
      return true
    }
    expect(reasons, is: ["GONE": 10, "NONSENSE": 10])
    await rig.server.stop()
  }

  /// Pushes beyond the quota are sent again. They use up no attempt and do not open the circuit breaker.
  @Test(arguments: PushEngineKind.one(for: "usedUpQuotaSlowsTheFleetAndFailsNoTarget"))
  func usedUpQuotaSlowsTheFleetAndFailsNoTarget(engine: PushEngineKind) async throws {
    let quota = ServiceQuota(name: "text:p", perSecond: 10_000)
    let rig = try await Rig(engine, service: TextService(quota: quota))
    try await rig.register(Self.tokens)
    await rig.server.change { $0.excess = (pushes: 120, limit: 300_000) }
    try await rig.submit("hello")
    let log = EventLog()
    try await withThrowingTaskGroup { group in
      for name in ["one", "other"] {
        let worker = rig.worker(log, name, attempts: 1)
        group.addTask { try await worker.run() }
      }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("hello"))
    expect(record.counters.outcomes == [.accepted: 400] && record.state == .completed, "\(log.all)")
    let next = try await rig.store.limits.lease(0, of: .quota(quota), at: .perSecond(quota.perSecond), returned: 0)
    // The rate follows the limit in the answers. Until the service accepts pushes again, the rate is a tenth of that.
    expect([4950, 495].contains(next.perSecond.rounded()), "\(next)")
    let events = log.all.map { "\($0)" }
    expect(events.contains { $0.hasPrefix("quotaExceeded(") } && !events.contains { $0.hasPrefix("breakerOpened(") })
    await rig.server.stop()
  }

  /// The service limits the time of retries, so the number of attempts does not matter. Delays of 10, 20, 40, 80 and
  /// 320 ms leave the rest of three seconds for the last delay.
  @Test(arguments: PushEngineKind.one(for: "retriesEndAfterTheTimeOfTheService"))
  func retriesEndAfterTheTimeOfTheService(engine: PushEngineKind) async throws {
    var bounds = RetryBounds()
    (bounds.serverErrorFactor, bounds.maximumTime) = (2, 3000)
    let rig = try await Rig(engine, service: TextService(retryBounds: bounds))
    let tokens = Array(Self.tokens.prefix(60))
    try await rig.register(tokens)
    await rig.server.change { book in
      for token in tokens[0..<10] { book.serverErrors[token] = 1000 }
      for token in tokens[10..<20] { book.serverErrors[token] = 6 }
    }
    try await rig.submit("hello")
    let log = EventLog()
    try await rig.worker(log, attempts: 2, firstServerError: 10).run()
    let record = try #require(try await rig.store.campaigns.show("hello"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 50, .failed: 10], "\(log.all)")
    let left = await rig.server.book.serverErrors
    expect(tokens[0..<10].allSatisfy { left[$0] == 1000 - 7 } && tokens[10..<20].allSatisfy { left[$0] == 0 })
    await rig.server.stop()
  }

  /// The core renders the content. A service adds only its envelope.
  @Test(arguments: PushEngineKind.one(for: "messagesArePersonalWithThisServiceToo"))
  func messagesArePersonalWithThisServiceToo(engine: PushEngineKind) async throws {
    let rig = try await Rig(engine)
    let tokens = Array(Self.tokens.prefix(60))
    try await rig.register(tokens)
    try await rig.store.registry.register(
      (0..<5).map { number in
        var device = DeviceRecord(token: Array(tokens[number].utf8), service: "text")
        device.app = "web"
        device.registeredAt = 2000
        let name = number == 4 ? String(repeating: "x", count: 300) : #"N\"\#(number)"#
        return DeviceRegistration(
          user: "user of \(tokens[number])", device: device, attributes: Array(#"{"name":"\#(name)"}"#.utf8))
      })
    try await rig.submit("personal", payload: #"{"text":"Hi {{name|you}}"}"#)
    let log = EventLog()
    try await rig.worker(log).run()
    let record = try #require(try await rig.store.campaigns.show("personal"))
    expect(record.counters.outcomes, is: [.accepted: 59, .rejected: 1], "\(log.all)")
    let messages = await rig.server.book.messages
    for (number, token) in tokens.enumerated() where number != 4 {
      expect(messages[token], is: number < 4 ? #"Hi N"\#(number)"# : "Hi you")
    }
    expect(messages[tokens[4]], is: nil)
    await rig.server.stop()
  }

  @Test(arguments: PushEngineKind.one(for: "refusedCredentialHoldsItsTargetsUntilItIsRepaired"))
  func refusedCredentialHoldsItsTargetsUntilItIsRepaired(engine: PushEngineKind) async throws {
    let rig = try await Rig(engine)
    try await rig.register(Array(Self.tokens.prefix(100)))
    await rig.server.change { $0.bearer = "another" }
    try await rig.submit("held")
    let log = EventLog()
    let worker = rig.worker(log, drains: false)
    let run = Task { try await worker.run() }
    try await poll(until: "the campaign is paused") { try await rig.store.campaigns.find("held")?.state == .paused }
    let record = try #require(try await rig.store.campaigns.show("held"))
    expect(record.reason?.contains("STRANGER") == true || record.reason?.contains("repair the bearer token") == true)
    expect(record.counters.outcomes, is: [:], "it failed no target")
    rig.credential.exchange("another")
    _ = try await rig.store.campaigns.control("held", .resume)
    try await poll(until: "the campaign is completed") {
      try await rig.store.campaigns.find("held")?.state == .completed
    }
    expect(try await rig.store.campaigns.show("held")?.counters.outcomes, is: [.accepted: 100])
    await worker.stop()
    try await run.value
    await rig.server.stop()
  }

  @Test func jobThatBreaksARuleOfTheServiceIsRejected() async throws {
    let job = #"{"id":"a","app":"web","audience":{"segment":"*"},"text":{"payload":{"aps":{"alert":"hi"}}}}"#
    let error = #expect(throws: JobError.self) {
      try CampaignJob.parse(Array(job.utf8), .known(["web": [TextService()]]))
    }
    expect(error?.field == "text.payload.text" && error?.hint?.contains("text-missing") == true)
  }
}
