import PushCore
import Synchronization
import TLS
import Testing

@testable import APNs

@Suite("Connection pool")
struct ConnectionPoolTests {
  /// An engine that only counts; the test plays its part towards the pool.
  private final class FakeEngine: PushEngine {
    private let count = Mutex(0)
    var wakes: Int { count.withLock { $0 } }
    func wake() { count.withLock { $0 += 1 } }
    func drain(deadline: UInt64) async {}
  }

  private func makePool(
    connections: Int, onCompletions: @escaping @Sendable ([PushCompletion]) -> Void = { _ in }
  ) throws -> (ConnectionPool, [FakeEngine]) {
    let engines = (0..<connections).map { _ in FakeEngine() }
    let pool = ConnectionPool(
      configuration: .init(endpoint: .sandbox, connections: connections),
      credential: try ProviderTokenSource(
        keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate()),
      onCompletions: onCompletions, makeEngine: { number, _ in engines[number] })
    return (pool, engines)
  }

  @Test("the second connection opens once APNs has accepted a push on the first")
  func openings() throws {
    let (pool, engines) = try makePool(connections: 2)
    #expect(pool.mayOpen(0) == nil)
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    #expect(engines.map(\.wakes) == [1, 1])
    #expect(pool.mayOpen(0) == .open)
    guard case .wait = pool.mayOpen(1) else {
      Issue.record("two connections at once")
      return
    }
    pool.note(.established, of: 0)
    #expect(engines[1].wakes == 2)
    #expect(pool.mayOpen(1) == .open)
    #expect(pool.published.open == 1)
  }

  @Test("an engine that found nothing is woken by the next push, a busy one is left alone")
  func wakes() throws {
    let (pool, engines) = try makePool(connections: 2)
    pool.submit(PoolHarness.batch(0..<2), lane: 0)
    #expect(pool.take(upTo: 5, for: 0)?.range == 0..<2)
    #expect(pool.take(upTo: 5, for: 0)?.range == nil)
    pool.submit(PoolHarness.batch(2..<4), lane: 0)
    #expect(engines.map(\.wakes) == [2, 1])
  }

  @Test("what is on its way, waits and completes is published")
  func published() throws {
    let delivered = Mutex<[UInt64]>([])
    let (pool, _) = try makePool(connections: 1) { completions in
      delivered.withLock { $0 += completions.map(\.tag) }
    }
    pool.submit(PoolHarness.batch(0..<10), lane: 0)
    _ = pool.take(upTo: 4, for: 0)
    #expect(pool.published.inFlight == 4)
    #expect(pool.published.backlog == 6)
    pool.complete([PushCompletion(tag: 3, answer: PushAnswer(kind: .answered, status: 200))], by: 0)
    #expect(pool.published.inFlight == 3)
    #expect(delivered.withLock { $0 } == [3])
    pool.note(.opening, of: 0)
    pool.note(.failed("no route"), of: 0)
    #expect(pool.published.openings == 1)
    #expect(pool.published.failures == 1)
    #expect(pool.published.lastError == "no route")
  }

  @Test("a draining pool takes nothing more and gives back what waits")
  func draining() async throws {
    let (pool, _) = try makePool(connections: 1)
    pool.submit(PoolHarness.batch(0..<3), lane: 1)
    pool.submit(PoolHarness.batch(3..<5), lane: 0)
    #expect(await pool.drain(deadline: 0) == [3, 4, 0, 1, 2])
    #expect(pool.submit(PoolHarness.batch([9]), lane: 0) == false)
    #expect(pool.take(upTo: 1, for: 0)?.range == nil)
  }

  @Test("a stopped credential leaves nothing to send with, and mending it wakes everybody")
  func stoppedCredential() throws {
    let engines = [FakeEngine()]
    let credential = try ProviderTokenSource(
      keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate())
    let pool = ConnectionPool(
      configuration: .init(endpoint: .sandbox, connections: 1), credential: credential, onCompletions: { _ in },
      makeEngine: { number, _ in engines[number] })
    #expect(pool.authorization() != nil)
    credential.stop(.invalidProviderToken)
    #expect(pool.authorization() == nil)
    let before = engines[0].wakes
    credential.resume()
    #expect(engines[0].wakes == before + 1)
    #expect(pool.authorization() != nil)
  }
}
