import APNsSimulator
import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Connections for unproven pushes", .timeLimit(.minutes(6)))
struct UnprovenLaneTests {
  private static let unproven: Range<UInt64> = 100_000..<100_500
  private static let clean: Range<UInt64> = 0..<2000

  /// Creates a simulator that drops the stream limit after each rejection, as APNs does. Every fifth unproven push is
  /// bad. Answers take a while, so that the number of streams determines the throughput.
  private func makeHarness(_ engine: PushEngineKind) async throws -> PoolHarness {
    var knobs = SimulatorKnobs()
    knobs.limitDropsOnRejection = true
    knobs.latencyMilliseconds = 20
    let harness = try await PoolHarness(engine: engine, streams: 200, knobs: knobs)
    harness.simulator.load(
      Self.unproven.filter { $0 % 5 == 0 }.map { SimulatedDevice(token: PoolHarness.token($0), state: .bad) })
    return harness
  }

  /// Sends all pushes, and repeats those that come back unsent or in doubt. Returns the number of rejections.
  private func run(_ harness: PoolHarness) async -> Int {
    harness.pool.submit(PoolHarness.batch(Self.unproven, isUnproven: true), lane: 0)
    harness.pool.submit(PoolHarness.batch(Self.clean), lane: 0)
    var open = Self.clean.count + Self.unproven.count
    var rejected = 0
    while open > 0 {
      for completion in await harness.completions.next(1) {
        switch completion.kind {
        case .answered:
          open -= 1
          if completion.reason == Reason.badDeviceToken.code { rejected += 1 }
        case .notSent, .ambiguous:
          let isUnproven = Self.unproven.contains(completion.tag)
          harness.pool.submit(PoolHarness.batch([completion.tag], isUnproven: isUnproven), lane: 0)
        }
      }
    }
    return rejected
  }

  @Test(
    "rejections of unproven pushes do not affect the window or streams of the clean connection",
    arguments: PushEngineKind.allCases)
  func apart(engine: PushEngineKind) async throws {
    let harness = try await makeHarness(engine)
    expect(await run(harness), is: 100)
    let state = harness.pool.published
    expect(state.connections[0].openings, is: 1)
    expect(state.connections.map(\.isForUnproven), is: [false, true])
    // The window is at least as wide as after the first acceptance. Its further growth depends on the machine.
    expect(state.connections[0].window >= 16, "\(state.connections)")
    expect(state.connections[0].failures, is: 0)
    expect(state.connections[1].openings >= 1)
    await harness.stop()
  }

  @Test(
    "the connection for unproven pushes is opened only for them, and they use no other",
    arguments: PushEngineKind.allCases)
  func opensWhenNeeded(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    harness.pool.submit(PoolHarness.batch(0..<100), lane: 0)
    expect(await harness.completions.next(100).allSatisfy { $0.status == 200 })
    expect(harness.pool.published.connections.map(\.openings), is: [1, 0])
    expect(await harness.simulator.counters().connections, is: 1)
    harness.pool.submit(PoolHarness.batch(100..<200, isUnproven: true), lane: 0)
    expect(await harness.completions.next(100).allSatisfy { $0.status == 200 })
    expect(harness.pool.published.connections.map(\.openings), is: [1, 1])
    expect(await harness.simulator.counters().connections, is: 2)
    await harness.stop()
  }
}
