import APNsSimulator
import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

/// Contents of an answer, which must be the same for both engines.
@Suite(.timeLimit(.minutes(6)))
struct AnswerTests {
  @Test("a rejection has its reason, and a 410 its timestamp", arguments: PushEngineKind.allCases)
  func rejections(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    harness.simulator.load([
      SimulatedDevice(token: PoolHarness.token(1), state: .unregistered, timestamp: 1_700_000_000_123),
      SimulatedDevice(token: PoolHarness.token(2), state: .expired, timestamp: 1_700_000_000_456),
      SimulatedDevice(token: PoolHarness.token(3), state: .bad),
      SimulatedDevice(token: PoolHarness.token(4), state: .wrongTopic),
    ])
    harness.pool.submit(PoolHarness.batch(0...4), lane: 0)
    let completions = await harness.completions.next(5).sorted { $0.tag < $1.tag }
    expect(completions.map(\.status), is: [200, 410, 410, 400, 400])
    expect(
      completions.map { Reason($0.reason) },
      is: [
        .none, .unregistered, .expiredToken, .badDeviceToken, .deviceTokenNotForTopic,
      ])
    expect(completions.map(\.timestamp), is: [0, 1_700_000_000_123, 1_700_000_000_456, 0, 0])
    await harness.stop()
  }

  @Test("an unknown reason comes with its text", arguments: PushEngineKind.allCases)
  func unknownReason(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.failures = [.init(share: 1, status: 499, reason: "SomethingNew")] }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch([7]), lane: 0)
    let completion = try await harness.completions.one()
    expect(completion.status, is: 499)
    expect(completion.reason, is: .other)
    expect(completion.unknownReason, is: "SomethingNew")
    await harness.stop()
  }

  @Test("a retry-after comes with the answer", arguments: PushEngineKind.allCases)
  func retryAfter(engine: PushEngineKind) async throws {
    var knobs = SimulatorKnobs()
    knobs.failures = [.init(share: 1, status: 503, reason: "ServiceUnavailable")]
    knobs.retryAfterSeconds = 77
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    let completion = try await harness.completions.one()
    expect((completion.status, Reason(completion.reason)) == (503, .serviceUnavailable))
    expect(completion.answer.retryAfter, is: 77)
    await harness.stop()
  }
}
