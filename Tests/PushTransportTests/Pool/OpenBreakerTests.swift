import APNsSimulator
import PushCore
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Circuit breaker over TLS", .timeLimit(.minutes(6)), .takesTurns)
struct OpenBreakerTests {
  private static let unavailable = SimulatorKnobs.Failure(share: 1, status: 503, reason: "ServiceUnavailable")

  /// Sends `count` pushes that are accepted, so that the window is wide. Then makes the simulator refuse all pushes.
  private func refuseAll(_ harness: PoolHarness, after count: UInt64) async {
    harness.pool.submit(PoolHarness.batch(0..<count), lane: 0)
    expect(await harness.completions.next(Int(count)).allSatisfy { $0.status == 200 })
    let knobs = SimulatorKnobs { $0.failures = [Self.unavailable] }
    await harness.simulator.set(knobs)
  }

  @Test(
    "503 for all pushes stops sending: unsent pushes stay in the pool, and no connection is opened",
    arguments: PushEngineKind.allCases)
  func holdsBack(engine: PushEngineKind) async throws {
    let hour: UInt64 = 3_600_000_000_000
    let harness = try await PoolHarness(
      engine: engine, connections: 2, breaker: .init(firstWait: hour, longestWait: hour))
    await refuseAll(harness, after: 2000)
    let openings = harness.pool.published.openings
    harness.pool.submit(PoolHarness.batch(10_000..<40_000), lane: 0)
    try await poll(until: "the breaker is open and no push is in flight", every: .milliseconds(1)) {
      harness.pool.isBreakerOpen && harness.pool.published.inFlight == 0
    }
    let counters = await harness.simulator.counters()
    let burnt = counters.reasons["ServiceUnavailable"] ?? 0
    expect(counters.received, is: 2000 + burnt)
    // Half of the latest 64 answers, and the pushes that were in flight by then.
    expect((CircuitBreaker.minimumAnswers...CircuitBreaker.unavailableToOpen + 2000).contains(burnt), "\(burnt)")
    expect(harness.pool.published.openings, is: openings)
    let answered = Set(await harness.completions.next(burnt).map(\.tag))
    let left = await harness.pool.drain(deadline: 0)
    expect(answered.union(left), is: Set(10_000..<40_000))
    expect(left.count, is: 30_000 - burnt)
    await harness.stop()
  }

  @Test(
    "single trial pushes detect the end of the outage, and the rest follows automatically",
    arguments: PushEngineKind.allCases)
  func recovers(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine, breaker: .init(firstWait: 1_000_000, longestWait: 20_000_000))
    await refuseAll(harness, after: 500)
    harness.pool.submit(PoolHarness.batch(10_000..<11_000), lane: 0)
    try await poll(until: "the breaker opens", every: .milliseconds(1)) {
      harness.pool.published.breakerOpenings > 0 && harness.pool.published.inFlight <= 1
    }
    let before = await harness.simulator.counters().received
    try await poll(until: "five trial pushes are received", every: .milliseconds(1)) {
      expect(harness.pool.published.inFlight <= 1)
      return await harness.simulator.counters().received >= before + 5
    }
    // The answer to a trial push resets the window to one push, however wide it was before.
    expect(harness.pool.published.connections[0].window, is: 1)
    await harness.simulator.set(SimulatorKnobs())
    let completions = await harness.completions.next(1000)
    expect(Set(completions.map(\.tag)), is: Set(10_000..<11_000))
    let burnt = completions.count { $0.status == 503 }
    expect(burnt < 1000)
    expect(completions.suffix(1000 - burnt).allSatisfy { $0.status == 200 })
    expect(harness.pool.published.breaker, is: .closed)
    expect(harness.pool.published.breakerOpenings, is: 1)
    expect(await harness.simulator.counters().received, is: 1500)
    await harness.stop()
  }

  @Test(
    "429 for single devices, or a 500, leaves the breaker closed",
    arguments: PushEngineKind.allCases, [(429, "TooManyRequests"), (500, "InternalServerError")])
  func staysClosed(engine: PushEngineKind, answer: (status: Int, reason: String)) async throws {
    let knobs = SimulatorKnobs { $0.failures = [.init(share: 0.9, status: answer.status, reason: answer.reason)] }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<500), lane: 0)
    expect(await harness.completions.next(500).count { $0.status == answer.status }, is: 450)
    expect(harness.pool.published.breakerOpenings, is: 0)
    await harness.stop()
  }
}
