import APNsSimulator
import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite("The peer's stream limit, against the simulator", .timeLimit(.minutes(6)))
struct StreamLimitTests {
  /// Repeats unanswered pushes until all are answered. Calls `turn` with the number of answered pushes.
  private func settle(_ harness: PoolHarness, _ count: UInt64, turn: (Int) async -> Void) async -> [UInt64: UInt16] {
    harness.pool.submit(PoolHarness.batch(0..<count), lane: 0)
    var statuses: [UInt64: UInt16] = [:]
    while statuses.count < Int(count) {
      for completion in await harness.completions.next(1) {
        if completion.kind == .answered {
          expect(statuses.updateValue(completion.status, forKey: completion.tag), is: nil)
        } else {
          harness.pool.submit(PoolHarness.batch([completion.tag]), lane: 0)
        }
      }
      await turn(statuses.count)
    }
    return statuses
  }

  @Test(
    "the limit alternates between 1 and 1000, and every push is accepted once", arguments: PushEngineKind.allCases)
  func flaps(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 2 }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    var isLow = false
    var next = 200
    let statuses = await settle(harness, 2000) { answered in
      guard answered >= next else { return }
      isLow.toggle()
      next += isLow ? 20 : 200
      var turned = knobs
      turned.streamLimit = isLow ? 1 : 1000
      await harness.simulator.set(turned)
    }
    expect(statuses.values.allSatisfy { $0 == 200 })
    let counters = await harness.simulator.counters()
    expect(counters.accepted, is: 2000)
    expect(counters.duplicates, is: 0)
    // On a busy machine, many answers arrive between two changes.
    expect((counters.faults["streamLimit"] ?? 0) >= 2)
    await harness.stop()
  }

  @Test("the limit falls to 1 with each rejection, and no push gets stuck", arguments: PushEngineKind.allCases)
  func rejections(engine: PushEngineKind) async throws {
    var knobs = SimulatorKnobs()
    knobs.latencyMilliseconds = 2
    knobs.limitDropsOnRejection = true
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    let bad = stride(from: UInt64(0), to: 1000, by: 20)
    harness.simulator.load(bad.map { SimulatedDevice(token: PoolHarness.token($0), state: .bad) })
    let statuses = await settle(harness, 1000) { _ in }
    expect(statuses.allSatisfy { $0.value == ($0.key % 20 == 0 ? 400 : 200) })
    await harness.stop()
  }

  @Test(
    "pushes beyond the limit stay available for another connection or an urgent push",
    arguments: PushEngineKind.allCases)
  func waiting(engine: PushEngineKind) async throws {
    var knobs = SimulatorKnobs()
    knobs.latencyMilliseconds = 20
    knobs.streamLimit = 1
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 1)
    expect(await harness.completions.next(10).allSatisfy { $0.status == 200 })
    expect(harness.pool.published.inFlight <= 8)
    harness.pool.submit(PoolHarness.batch([1000]), lane: 0)
    // The remaining pushes take three seconds, because the test may be delayed before it submits the urgent push.
    let tags = await harness.completions.next(191).map(\.tag)
    expect(Set(tags), is: Set(10..<200).union([1000]))
    expect(tags.last != 1000)
    await harness.stop()
  }
}
