import APNsSimulator
import PushCore
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

/// Servers with valid but rare HTTP/2 behaviour. No push is lost, and none is sent twice.
@Suite(.timeLimit(.minutes(6)), .takesTurns)
struct AwkwardServerTests {
  struct Server: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var knobs: SimulatorKnobs

    init(_ name: String, _ change: (inout SimulatorKnobs) -> Void) {
      testDescription = name
      knobs = SimulatorKnobs()
      change(&knobs)
    }
  }

  static let servers = [
    Server("interim answers") { $0.interimStatus = 103 },
    Server("trailers") { $0.sendsTrailers = true },
    Server("bodies in pieces") { $0.bodyPieceBytes = 3 },
    Server("late SETTINGS") { $0.settingsDelayMilliseconds = 100 },
    Server("no PING answered") { $0.answersPings = false },
    Server("a tiny window") { $0.streamWindow = 5 },
    Server("all of it") {
      $0.interimStatus = 100
      $0.sendsTrailers = true
      $0.bodyPieceBytes = 1
      $0.settingsDelayMilliseconds = 20
      $0.streamWindow = 16
    },
  ]

  @Test(arguments: PushEngineKind.allCases, servers)
  func everyPushIsAnsweredOnce(engine: PushEngineKind, by server: Server) async throws {
    let harness = try await PoolHarness(engine: engine, knobs: server.knobs)
    harness.simulator.load([
      SimulatedDevice(token: PoolHarness.token(1), state: .unregistered, timestamp: 1_700_000_000_123),
      SimulatedDevice(token: PoolHarness.token(2), state: .bad),
    ])
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    let completions = await harness.completions.next(200).sorted { $0.tag < $1.tag }
    expect(completions.map(\.tag), is: Array(0..<200))
    expect(completions.allSatisfy { $0.kind == .answered })
    expect(completions[1].reason == Reason.unregistered.code && completions[1].timestamp == 1_700_000_000_123)
    expect(completions[2].reason, is: Reason.badDeviceToken.code)
    expect(completions.count { $0.status == 200 }, is: 198)
    let counters = await harness.simulator.counters()
    expect(counters.received == 200 && counters.duplicates == 0)
    await harness.stop()
  }

  @Test(arguments: PushEngineKind.allCases)
  func connectionThatOutlivesItsGoAwayIsReplaced(engine: PushEngineKind) async throws {
    var knobs = SimulatorKnobs()
    knobs.lingersAfterGoAway = true
    knobs.goAwayAfterRequests = 50
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    let completions = await harness.completions.next(200)
    // A push on a stream above the last stream of a GOAWAY comes back as ambiguous (Sources/PushTransport/README.md,
    // "Engines").
    expect(completions.allSatisfy { $0.status == 200 || $0.kind != .answered })
    let counters = await harness.simulator.counters()
    expect(counters.accepted, is: completions.count { $0.status == 200 })
    expect(counters.duplicates == 0 && counters.connections > 1)
    await harness.stop()
  }

  @Test(arguments: PushEngineKind.allCases)
  func serverWithoutFlowControlCreditIsLeft(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.grantsWindow = false }
    let harness = try await PoolHarness(engine: engine, requestTimeout: 1_000_000_000, knobs: knobs)
    // About three thousand payloads of this size fill the flow-control window of the connection.
    harness.pool.submit(PoolHarness.batch(0..<4000), lane: 0)
    let completions = await harness.completions.next(4000)
    expect(completions.count { $0.status == 200 } > 2000)
    expect(completions.allSatisfy { $0.status == 200 || $0.kind != .answered })
    let counters = await harness.simulator.counters()
    expect(counters.connections > 1)
    expect(counters.duplicates, is: 0)
    await harness.stop()
  }

  @Test(
    "with small windows and limited frames, payloads wait and arrive whole",
    arguments: PushEngineKind.allCases,
    [1, 10, 100])
  func smallWindows(engine: PushEngineKind, window: Int) async throws {
    let knobs = SimulatorKnobs { $0.streamWindow = UInt32(window) }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<100), lane: 0)
    expect(await harness.completions.next(100).allSatisfy { $0.status == 200 })
    expect(await harness.simulator.counters().bodyBytes, is: 100 * #"{"aps":{"alert":"hello"}}"#.utf8.count)
    await harness.stop()
  }

  static let breaks = [
    Server("resets") { $0.resetAfterRequests = 120 }, Server("closes") { $0.closeAfterRequests = 120 },
    Server("resets who connects, or not") { $0.connectResetShare = 0.5 },
    Server("closes for idleness") { $0.idleSeconds = 1 },
    Server("is slow to shake hands") { $0.handshakeDelayMilliseconds = 20 },
  ]

  @Test(arguments: PushEngineKind.allCases, breaks)
  func allPushesArriveIfTheyAreRepeatedUntilAccepted(engine: PushEngineKind, at server: Server) async throws {
    let harness = try await PoolHarness(engine: engine, knobs: server.knobs)
    _ = try await harness.sendUntilAccepted(0..<500)
    expect(await harness.simulator.counters().accepted >= 500)
    await harness.stop()
  }
}
