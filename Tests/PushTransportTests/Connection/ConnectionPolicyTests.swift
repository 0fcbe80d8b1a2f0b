import APNsSimulator
import EventLoop
import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// Connections of a service whose policy differs from that of APNs.
@Suite("Connection policy of a service", .timeLimit(.minutes(6)))
struct ConnectionPolicyTests {
  /// All streams from the start, no connection for unproven pushes, and limits for age, idle time and PINGs.
  private static func policy(_ change: (inout ConnectionPolicy) -> Void = { _ in }) -> ConnectionPolicy {
    var policy = ConnectionPolicy()
    policy.start = .fullWindow
    policy.growth = .whenBusy
    policy.maximumStreams = 100
    policy.hasUnprovenConnection = false
    change(&policy)
    return policy
  }

  private static func driver(_ policy: ConnectionPolicy) -> ConnectionDriver {
    var driver = ConnectionDriver(
      window: CongestionWindow(maximum: 100, start: policy.start), idleLimit: nil, policy: policy)
    _ = driver.mayOpen(.open, credential: 1)
    driver.opened(now: 0, chance: 1)
    return driver
  }

  // MARK: The driver

  @Test("a connection begins with its full window, and with one push after an outage")
  func start() {
    var driver = Self.driver(Self.policy())
    expect(driver.next(.streams(1000), credential: 1, now: 0), is: .take(upTo: 100))
    driver.recordHandover(100, now: 0)
    // A rejection is an answer too: the window stays wide.
    _ = driver.answered(.rejected, .none, sentAt: 0, waiting: 0, now: 10)
    expect(driver.window.limit, is: 100)
    driver.limitToOnePush()
    expect(driver.window.limit, is: 1)
    expect(driver.next(.streams(1000), credential: 1, now: 20), is: .rest)
    _ = driver.answered(.accepted, .clears, sentAt: 0, waiting: 0, now: 30)
    expect(driver.window.limit, is: 50, "half the width before")
  }

  @Test("at its maximum age a connection takes no more pushes, and those in flight are not affected")
  func age() {
    let policy = Self.policy {
      $0.maximumAge = 1000
      $0.ageSpread = 0.1
    }
    expect(policy.expiry(openedAt: 5, chance: 0), is: 1005)
    expect(policy.expiry(openedAt: 5, chance: 1), is: 905)
    var driver = Self.driver(policy)
    driver.recordHandover(2, now: 1)
    expect(driver.checkAge(now: 899), is: .rest)
    expect(driver.next(.streams(9), credential: 1, now: 899), is: .take(upTo: 9))
    expect(driver.next(.streams(9), credential: 1, now: 900), is: .replace(1, .closed(accepted: 0)))
    expect(driver.nextFinished(), is: nil)
    for _ in 0..<2 { driver.ended(on: 1) }
    expect(driver.nextFinished(), is: 1)
  }

  @Test("a connection without a push in flight is closed when it was idle for too long")
  func idle() {
    var driver = Self.driver(Self.policy { $0.idleClose = 90 })
    driver.recordHandover(1, now: 10)
    expect(driver.checkAge(now: 1000), is: .rest)
    _ = driver.answered(.accepted, .clears, sentAt: 10, waiting: 0, now: 1000)
    expect(driver.checkAge(now: 1089), is: .rest)
    expect(driver.checkAge(now: 1090), is: .replace(1, .closed(accepted: 1)))
    expect(driver.checkAge(now: 5000), is: .rest, "there is no connection")
  }

  @Test("a connection is saturated while all its streams are busy and answers are not late")
  func saturation() {
    let millisecond: UInt64 = 1_000_000
    var driver = Self.driver(Self.policy())
    var now: UInt64 = 0
    func round(latency: UInt64) {
      let began = now
      while case .take(let count) = driver.next(.streams(100 - driver.inFlight), credential: 1, now: now) {
        driver.recordHandover(count, now: now)
      }
      now += latency * millisecond
      for _ in 0..<driver.inFlight {
        _ = driver.answered(.accepted, .clears, sentAt: began, waiting: 0, now: now)
      }
    }
    expect(!driver.isSaturated)
    for _ in 0..<3 { round(latency: 20) }
    expect(driver.isSaturated)
    // A round also has answers that belong to the round before it.
    for _ in 0..<2 { round(latency: 400) }
    expect(!driver.isSaturated, "answers are late")
    for _ in 0..<3 { round(latency: 20) }
    expect(driver.isSaturated)
    expect(driver.next(.streams(50), credential: 1, now: now), is: .take(upTo: 50))
    expect(!driver.isSaturated, "streams are free")
  }

  // MARK: PINGs

  @Test("a peer gets at most so many PINGs since the last request, and an unanswered PING means that it is dead")
  func pings() {
    let limits = NativeConnection.Liveness(busy: 10, idle: 100, answer: 5)
    var watch = PeerMonitor()
    func next(_ now: UInt64, isBusy: Bool = false, most: Int? = 2) -> PeerMonitor.Action {
      watch.next(isBusy: isBusy, limits, maximumPings: most, now: now)
    }
    func answered(_ now: UInt64) {
      watch.received(now: now)
      expect(next(now), is: .none)
    }
    watch.received(now: 1000)
    expect(next(1009, isBusy: true), is: .none)
    expect(next(1010, isBusy: true), is: .ping)
    answered(1011)
    expect(next(1111), is: .ping)
    answered(1112)
    expect(next(2000), is: .none, "the third PING since the request")
    expect(next(2000, isBusy: true), is: .none)
    watch.requested()
    expect(next(2000, isBusy: true), is: .ping)
    expect(next(2004, isBusy: true), is: .none)
    expect(next(2005, isBusy: true), is: .dead)
    watch = PeerMonitor()
    for turn: UInt64 in 1...5 {
      expect(next(turn * 200, most: nil), is: .ping)
      answered(turn * 200 + 1)
    }
  }

  // MARK: The pool

  private final class IdleEngine: PushEngine {
    func wake() {}
    func limitToOnePush() {}
    func drain(deadline: UInt64) async {}
  }

  private func makePool(connections: Int) throws -> ConnectionPool {
    var configuration = ConnectionPool.Configuration(
      endpoint: .sandbox, service: APNsService(), connections: connections, reconnect: PoolHarness.hasty)
    configuration.policy = Self.policy()
    return ConnectionPool(
      configuration: configuration,
      credential: try ProviderTokenSource(keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate()),
      onCompletions: { _ in }, makeEngine: { _, _ in IdleEngine() })
  }

  private func opens(_ pool: ConnectionPool, _ engine: Int) -> Bool {
    let deadline = EventLoop.now + 10_000_000
    // The budget allows an opening every millisecond.
    while EventLoop.now < deadline {
      if pool.mayOpen(engine) == .open { return true }
    }
    return false
  }

  @Test("another connection opens when all open ones are saturated")
  func growth() throws {
    let pool = try makePool(connections: 3)
    expect(pool.published.connections.map(\.isForUnproven), is: [false, false, false])
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    expect(opens(pool, 0))
    pool.record(.opening, of: 0)
    expect(!opens(pool, 1))
    pool.record(.established, of: 0)
    expect(!opens(pool, 1))
    pool.record(.saturated(true), of: 0)
    expect(opens(pool, 1))
    pool.record(.opening, of: 1)
    pool.record(.established, of: 1)
    expect(!opens(pool, 2), "the second one has free streams")
    pool.record(.saturated(true), of: 1)
    expect(opens(pool, 2))
    pool.record(.saturated(false), of: 0)
    expect(!opens(pool, 2))
    pool.record(.failed("reset", accepted: 1), of: 0)
    expect(opens(pool, 2), "a closed connection does not count")
  }

  @Test("unproven pushes use all connections if the service has none for them")
  func unproven() throws {
    let pool = try makePool(connections: 1)
    pool.submit(PoolHarness.batch(0..<2, isUnproven: true), lane: 0)
    guard case .pushes(let part) = pool.take(upTo: 5, for: 0) else {
      Issue.record("no pushes")
      return
    }
    expect(part.batch.pushes[part.range].map(\.tag), is: [0, 1])
  }

  @Test("the service's policy limits streams and the wait for answers")
  func limits() {
    struct Careful: PushService {
      let base = APNsService()
      var name: String { base.name }
      var title: String { base.title }
      var tokenForm: String { base.tokenForm }
      var connectionPolicy: ConnectionPolicy {
        ConnectionPolicyTests.policy { $0.minimumAnswerTimeout = 20_000_000_000 }
      }
      func token(_ text: String) -> DeviceToken? { base.token(text) }
      func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        base.writeText(of: token, to: buffer)
      }
      func reasonText(of code: ReasonCode) -> [UInt8] { base.reasonText(of: code) }
      func tokenKind(for campaign: Campaign) -> TokenKind { base.tokenKind(for: campaign) }
      func problem(ofChannel id: String) -> String? { nil }
      var jobFields: [ServiceField] { base.jobFields }
      var payloadField: String { base.payloadField }
      var silentPush: [UInt8] { base.silentPush }
      func payloadPlaces(in payload: JSONValue) -> PayloadPlaces { base.payloadPlaces(in: payload) }
      func options(
        of own: JobFields, _ message: CommonMessage?, _ urgency: Urgency?, to destination: PushDestination
      ) throws(JobError) -> PushOptions { try base.options(of: own, message, urgency, to: destination) }
      func payload(
        rendering message: CommonMessage, with options: PushOptions, in json: inout JSONComposer
      ) throws(JobError) -> JSONValue { try base.payload(rendering: message, with: options, in: &json) }
      func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding] { [] }
      func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer {
        base.composer(for: campaign, expiration: expiration)
      }
      func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply {
        base.reply(status: status, body: body, retryAfter: retryAfter)
      }
      func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning { AnswerMeaning() }
      func event(of goAway: GoAwayFacts) -> CredentialEvent? { nil }
      func isUnavailable(_ answer: PushAnswer) -> Bool { false }
      func disposition(
        ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
      ) -> Disposition { .later(0) }
      func blamesToken(_ answer: PushAnswer) -> Bool { false }
    }
    let configuration = ConnectionPool.Configuration(
      endpoint: .sandbox, service: Careful(), maximumStreams: 500, requestTimeout: 5_000_000_000)
    expect(configuration.maximumStreams == 100 && configuration.unprovenStreams == 100)
    expect(configuration.requestTimeout, is: 20_000_000_000)
    expect(configuration.unprovenNumber, is: nil)
  }

  // MARK: The engines

  @Test("all streams of a new connection are used before the first answer", arguments: PushEngineKind.allCases)
  func fullWindow(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(
      engine: engine, streams: 60, knobs: SimulatorKnobs { $0.withheldShare = 1 }, policy: Self.policy())
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    try await poll(until: "60 pushes are in flight", every: .milliseconds(5)) { harness.pool.published.inFlight >= 60 }
    expect(harness.pool.published.openings, is: 1)
    await harness.stop()
  }

  @Test(
    "connections of a maximum age are replaced, and every push is accepted once", arguments: PushEngineKind.allCases)
  func replacement(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(
      engine: engine, knobs: SimulatorKnobs { $0.latencyMilliseconds = 5 },
      policy: Self.policy { $0.maximumAge = 100_000_000 })
    var next: UInt64 = 0
    while harness.pool.published.openings < 3 {
      harness.pool.submit(PoolHarness.batch(next..<next + 50), lane: 0)
      for completion in await harness.completions.next(50) {
        // A push that the old connection had not begun comes back unsent.
        if completion.kind == .notSent { harness.pool.submit(PoolHarness.batch([completion.tag]), lane: 0) }
        expect(completion.status == 200 || completion.kind == .notSent, "\(completion)")
      }
      next += 50
    }
    let counters = await harness.simulator.counters()
    expect(counters.duplicatesReceived, is: 0)
    expect(harness.pool.published.failures, is: 0)
    await harness.stop()
  }

  @Test("an idle connection is closed, and the next push opens another one", arguments: PushEngineKind.allCases)
  func idleConnection(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine, policy: Self.policy { $0.idleClose = 50_000_000 })
    for tag: UInt64 in 1...2 {
      harness.pool.submit(PoolHarness.batch([tag]), lane: 0)
      expect(try await harness.completions.one().status, is: 200)
      try await poll(until: "the connection is closed", every: .milliseconds(5)) { harness.pool.published.open == 0 }
    }
    expect((harness.pool.published.openings, harness.pool.published.failures) == (2, 0))
    await harness.stop()
  }
}
