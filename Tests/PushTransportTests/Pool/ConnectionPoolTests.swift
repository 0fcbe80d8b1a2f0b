import EventLoop
import PushCore
import Synchronization
import TLS
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Connection pool")
struct ConnectionPoolTests {
  /// An engine that only counts. The test acts as the engine towards the pool.
  private final class FakeEngine: PushEngine {
    private let count = Mutex((wakes: 0, smallStarts: 0))
    var wakes: Int { count.withLock { $0.wakes } }
    var smallStarts: Int { count.withLock { $0.smallStarts } }
    func wake() { count.withLock { $0.wakes += 1 } }
    func limitToOnePush() { count.withLock { $0.smallStarts += 1 } }
    func drain(deadline: UInt64) async {}
  }

  /// An engine that hangs and never ends.
  private final class StuckEngine: PushEngine {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
    func wake() {}
    func limitToOnePush() {}
    func drain(deadline: UInt64) async {
      await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }
    func release() {
      for continuation in waiting.withLock({ $0 }) { continuation.resume() }
    }
  }

  @Test("a drain ends with a stuck engine, and reports that engine")
  func drainOfStuckEngine() async throws {
    let stuck = StuckEngine()
    let pool = ConnectionPool(
      configuration: .init(endpoint: .sandbox, service: APNsService(), connections: 1),
      credential: try ProviderTokenSource(
        keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate()),
      onCompletions: { _ in }, makeEngine: { number, _ in number == 0 ? stuck as any PushEngine : FakeEngine() })
    pool.submit(PoolHarness.batch(0..<3), lane: 0)
    expect(await pool.drain(deadline: 0, timeout: 20_000_000), is: [0, 1, 2])
    expect(pool.published.lastError?.hasPrefix("1 of 2 connections did not close in time"), is: true)
    stuck.release()
  }

  /// Creates a pool with fake engines. The last engine is the one for unproven pushes.
  private func makePool(
    connections: Int, breaker: CircuitBreaker.Limits = .init(),
    onCompletions: @escaping @Sendable ([PushCompletion]) -> Void = { _ in }
  ) throws -> (ConnectionPool, [FakeEngine]) {
    let engines = (0...connections).map { _ in FakeEngine() }
    let pool = ConnectionPool(
      configuration: .init(endpoint: .sandbox, service: APNsService(), connections: connections, breaker: breaker),
      credential: try ProviderTokenSource(
        keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate()),
      onCompletions: onCompletions, makeEngine: { number, _ in engines[number] })
    return (pool, engines)
  }

  @Test("the second connection opens once APNs has accepted a push on the first")
  func openings() throws {
    let (pool, engines) = try makePool(connections: 2)
    expect(pool.mayOpen(0), is: nil)
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    expect(engines.map(\.wakes), is: [1, 1, 0])
    expect(pool.mayOpen(0), is: .open)
    guard case .wait = pool.mayOpen(1) else {
      Issue.record("two connections at once")
      return
    }
    pool.record(.established, of: 0)
    expect(engines[1].wakes, is: 2)
    expect(pool.mayOpen(1), is: .open)
    expect(pool.published.open, is: 1)
  }

  @Test("the next push wakes an engine that found none, but not a busy one")
  func wakes() throws {
    let (pool, engines) = try makePool(connections: 2)
    pool.submit(PoolHarness.batch(0..<2), lane: 0)
    expect(pool.take(upTo: 5, for: 0).tags, is: [0, 1])
    expect(pool.take(upTo: 5, for: 0).tags, is: [])
    pool.submit(PoolHarness.batch(2..<4), lane: 0)
    expect(engines.map(\.wakes), is: [2, 1, 0])
  }

  @Test("nothing is taken after the time limit, and a later limit wakes the engines that asked")
  func deadline() throws {
    let (pool, engines) = try makePool(connections: 1)
    let now = EventLoop.now
    pool.mayTake(until: now - 1)
    pool.submit(PoolHarness.batch(0..<4), lane: 0)
    expect(pool.take(upTo: 2, for: 0).tags, is: [])
    expect(engines.map(\.wakes), is: [1, 0])
    pool.mayTake(until: now + 3_600_000_000_000)
    expect(engines.map(\.wakes), is: [2, 1])
    expect(pool.take(upTo: 2, for: 0).tags, is: [0, 1])
    // A late answer to a commit does not shorten the time.
    pool.mayTake(until: now - 1)
    expect(pool.take(upTo: 2, for: 0).tags, is: [2, 3])
    expect(pool.published.inFlight, is: 4)
  }

  @Test("pushes in flight, waiting and completed are published")
  func published() throws {
    let delivered = Mutex<[UInt64]>([])
    let (pool, _) = try makePool(connections: 1) { completions in
      delivered.withLock { $0 += completions.map(\.tag) }
    }
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    _ = pool.take(upTo: 4, for: 0)
    expect(pool.published.inFlight, is: 4)
    expect(pool.published.backlog, is: 6)
    pool.complete(
      [PushCompletion(tag: 3, answer: PushAnswer(kind: .answered, status: 200))], by: 0, window: 8,
      times: AnswerTimes())
    expect(pool.published.inFlight, is: 3)
    expect(pool.published.connections.map(\.window), is: [8, 1])
    expect(delivered.withLock { $0 }, is: [3])
    pool.record(.opening, of: 0)
    expect(pool.published.connections[0].phase, is: .opening)
    expect(pool.published.connections.map { $0.age == nil }, is: [false, true])
    pool.record(.failed("no route", accepted: 0), of: 0)
    expect(pool.published.connections[0].age, is: nil)
    expect(pool.published.openings, is: 1)
    expect(pool.published.failures, is: 1)
    expect(pool.published.lastError, is: "no route")
  }

  @Test("a draining pool accepts no pushes and returns the waiting ones")
  func draining() async throws {
    let (pool, _) = try makePool(connections: 1)
    pool.submit(PoolHarness.batch(0..<3), lane: 1)
    pool.submit(PoolHarness.batch(3..<5), lane: 0)
    expect(await pool.drain(deadline: 0), is: [3, 4, 0, 1, 2])
    expect(pool.submit(PoolHarness.batch([9]), lane: 0), is: false)
    expect(pool.take(upTo: 1, for: 0).tags, is: [])
  }

  @Test("a part of the waiting pushes can be taken back: lowest lane and newest first, never taken ones")
  func partOfBacklog() async throws {
    let (pool, _) = try makePool(connections: 1)
    pool.submit(PoolHarness.batch(0..<4), lane: 0)
    pool.submit(PoolHarness.batch(10..<13), lane: 2)
    pool.submit(PoolHarness.batch(20..<22, isUnproven: true), lane: 2)
    pool.submit(PoolHarness.batch(30..<33), lane: 2)
    expect(pool.take(upTo: 2, for: 0).tags, is: [0, 1])
    expect(pool.cancelBacklog(limit: 4), is: [21, 20, 32, 31])
    expect(pool.cancelBacklog(limit: 1) { $0 < 20 }, is: [12])
    expect(pool.cancelBacklog(limit: 100), is: [30, 11, 10, 3, 2])
    expect(pool.published.backlog, is: 0)
    expect(pool.published.inFlight, is: 2)
    expect(await pool.drain(deadline: 0), is: [])
  }

  @Test("health follows the connections: connecting, ready, silent, failed, and ready again after an answer")
  func health() throws {
    let (pool, _) = try makePool(connections: 1)
    func later(_ seconds: UInt64) -> UInt64 { EventLoop.now + seconds * 1_000_000_000 }
    expect(pool.health(now: later(100)), is: .ready)
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    pool.record(.opening, of: 0)
    guard case .connecting = pool.health(now: later(0)), case .unreachable = pool.health(now: later(2)) else {
      Issue.record("\(pool.health(now: later(0)))")
      return
    }
    _ = pool.take(upTo: 5, for: 0)
    pool.record(.established, of: 0)
    answer(pool, [0], 200)
    expect(pool.health(now: later(0)), is: .ready)
    guard case .unresponsive(let since) = pool.health(now: later(3)) else {
      Issue.record("\(pool.health(now: later(3)))")
      return
    }
    // The connection was silent before it broke.
    pool.record(.failed("reset", accepted: 0), of: 0)
    expect(pool.health(now: later(0)), is: .unreachable(since: since, reason: "reset"))
    answer(pool, [1], 410)
    expect(pool.health(now: later(0)), is: .ready)
  }

  @Test("health includes an open breaker and a stopped credential")
  func refusedHealth() throws {
    let (pool, _) = try makePool(connections: 1, breaker: .init(firstWait: 0, longestWait: 0))
    let now = EventLoop.now
    open(pool, 0..<100)
    guard case .breakerOpen(let since) = pool.health(now: EventLoop.now) else {
      Issue.record("\(pool.health(now: EventLoop.now))")
      return
    }
    expect(since >= now)
    // A failed trial push does not change that.
    answer(pool, pool.take(upTo: 1, for: 0).tags, 503, .serviceUnavailable)
    expect(pool.health(now: EventLoop.now), is: .breakerOpen(since: since))
    answer(pool, pool.take(upTo: 1, for: 0).tags, 200)
    expect(pool.health(now: EventLoop.now), is: .ready)
  }

  @Test("nothing is sent with a stopped credential, and its repair wakes all engines")
  func stoppedCredential() throws {
    let engines = [FakeEngine(), FakeEngine()]
    let credential = try ProviderTokenSource(
      keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate())
    let pool = ConnectionPool(
      configuration: .init(endpoint: .sandbox, service: APNsService(), connections: 1), credential: credential,
      onCompletions: { _ in },
      makeEngine: { number, _ in engines[number] })
    let generation = try #require(pool.authorization()).generation
    credential.record(.refused(Reason.invalidProviderToken.code, generation: generation))
    expect(pool.authorization(), is: nil)
    expect(pool.health(now: EventLoop.now), is: .credentialStopped(Reason.invalidProviderToken.code))
    let before = engines[0].wakes
    credential.resume()
    expect(engines[0].wakes, is: before + 1)
    expect(pool.authorization() != nil)
  }

  // MARK: Unproven pushes

  @Test("only unproven pushes wait for their own connection")
  func unproven() async throws {
    let (pool, engines) = try makePool(connections: 2)
    pool.submit(PoolHarness.batch(0..<2), lane: 0)
    pool.submit(PoolHarness.batch(10..<14, isUnproven: true), lane: 1)
    expect(engines.map(\.wakes), is: [1, 1, 1])
    expect(pool.take(upTo: 5, for: 2).tags, is: [10, 11, 12, 13])
    expect(pool.take(upTo: 5, for: 2).tags, is: [])
    expect(pool.take(upTo: 5, for: 1).tags, is: [0, 1])
    expect(pool.published.connections.map(\.inFlight), is: [0, 2, 4])
    expect(pool.published.connections.map(\.isForUnproven), is: [false, false, true])
    pool.submit(PoolHarness.batch(20..<22, isUnproven: true), lane: 1)
    expect(pool.mayOpen(0), is: nil)
    expect(pool.mayOpen(2), is: .open)
    expect(pool.published.backlog, is: 2)
    expect(pool.cancelBacklog { $0 == 20 }, is: [20])
    expect(await pool.drain(deadline: 0), is: [21])
  }

  // MARK: The circuit breaker

  private let hour: UInt64 = 3_600_000_000_000

  /// Answers pushes of the first engine with 503 until the pool withholds the rest.
  private func open(_ pool: ConnectionPool, _ tags: Range<UInt64>) {
    pool.submit(PoolHarness.batch(tags), lane: 0)
    let taken = pool.take(upTo: CircuitBreaker.minimumAnswers, for: 0).tags
    answer(pool, taken, 503, .serviceUnavailable)
  }

  private func answer(_ pool: ConnectionPool, _ tags: [UInt64], _ status: UInt16, _ reason: Reason = .none) {
    pool.complete(
      tags.map { PushCompletion(tag: $0, answer: PushAnswer(kind: .answered, status: status, reason: reason.code)) },
      by: 0,
      window: 1, times: AnswerTimes())
  }

  @Test("an open breaker stops takes and new connections, and every engine starts small once")
  func openBreaker() throws {
    let (pool, engines) = try makePool(connections: 2, breaker: .init(firstWait: hour, longestWait: hour))
    open(pool, 0..<100)
    expect(pool.isBreakerOpen)
    expect(engines.map(\.smallStarts), is: [1, 1, 1])
    for engine in 0...1 {
      expect(pool.take(upTo: 5, for: engine).waits)
      guard case .wait = pool.mayOpen(engine) else {
        Issue.record("a connection opened while the breaker is open")
        return
      }
    }
    expect(pool.published.backlog, is: 80)
    expect(pool.published.breakerOpenings, is: 1)
  }

  @Test("pushes that wait for an open breaker can be taken back")
  func backlogOfOpenBreaker() async throws {
    let (pool, _) = try makePool(connections: 1, breaker: .init(firstWait: hour, longestWait: hour))
    open(pool, 0..<100)
    expect(pool.cancelBacklog { $0 < 90 }, is: Array(20..<90))
    expect(await pool.drain(deadline: 0), is: Array(90..<100))
  }

  @Test("after the wait one push is sent, and the rest after its answer")
  func trial() throws {
    let (pool, engines) = try makePool(connections: 2, breaker: .init(firstWait: 0, longestWait: 0))
    open(pool, 0..<100)
    // The first trial push fails, and the second succeeds.
    for (trial, status) in [(UInt64(20), UInt16(503)), (21, 410)] {
      expect(pool.mayOpen(1) != nil)
      expect(pool.take(upTo: 50, for: 0).tags, is: [trial])
      expect(pool.take(upTo: 50, for: 1).tags, is: [])
      expect(pool.mayOpen(1), is: nil)
      // This is an answer to a push from before the opening.
      answer(pool, [1000], 200)
      expect(pool.isBreakerOpen)
      let wakes = engines[1].wakes
      answer(pool, [trial], status)
      expect(engines[1].wakes, is: wakes + 1)
    }
    expect(!pool.isBreakerOpen)
    expect(pool.take(upTo: 50, for: 1).tags, is: Array(22..<72))
    expect(pool.published.breakerOpenings, is: 1)
    expect(engines.map(\.smallStarts), is: [1, 1, 1])
  }
}

extension PushSupplyReply {
  fileprivate var tags: [UInt64] {
    if case .pushes(let part) = self { part.batch.pushes[part.range].map(\.tag) } else { [] }
  }

  fileprivate var waits: Bool {
    if case .wait = self { true } else { false }
  }
}
