import APNsSimulator
import PushCore
import Testing

@testable import APNs

/// Servers that do what HTTP/2 allows and few do: nothing is lost, and nothing sent twice.
@Suite(.timeLimit(.minutes(2)))
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

  @Test(arguments: servers) func everyPushIsAnsweredOnce(by server: Server) async throws {
    let harness = try await PoolHarness(knobs: server.knobs)
    harness.simulator.load([
      SimulatedDevice(token: PoolHarness.token(1), state: .unregistered, timestamp: 1_700_000_000_123),
      SimulatedDevice(token: PoolHarness.token(2), state: .bad),
    ])
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    let completions = await harness.completions.next(200).sorted { $0.tag < $1.tag }
    #expect(completions.map(\.tag) == Array(0..<200))
    #expect(completions.allSatisfy { $0.kind == .answered })
    #expect(completions[1].reason == .unregistered && completions[1].timestamp == 1_700_000_000_123)
    #expect(completions[2].reason == .badDeviceToken)
    #expect(completions.count { $0.status == 200 } == 198)
    let counters = await harness.simulator.counters()
    #expect(counters.received == 200 && counters.duplicates == 0)
    await harness.stop()
  }

  @Test func connectionThatOutlivesItsGoAwayIsReplaced() async throws {
    var knobs = SimulatorKnobs()
    knobs.lingersAfterGoAway = true
    knobs.goAwayAfterRequests = 50
    let harness = try await PoolHarness(knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    let completions = await harness.completions.next(200)
    // What a GOAWAY disowned comes back as ambiguous (Sources/README.md, "Connections").
    #expect(completions.allSatisfy { $0.status == 200 || $0.kind != .answered })
    let counters = await harness.simulator.counters()
    #expect(counters.accepted == completions.count { $0.status == 200 })
    #expect(counters.duplicates == 0 && counters.connections > 1)
    await harness.stop()
  }

  @Test func serverThatGivesNoCreditIsGivenUp() async throws {
    var knobs = SimulatorKnobs()
    knobs.grantsWindow = false
    let harness = try await PoolHarness(requestTimeout: 1_000_000_000, knobs: knobs)
    // Some three thousand payloads of this size fill what the connection takes in all.
    harness.pool.submit(PoolHarness.batch(0..<4000), lane: 0)
    let completions = await harness.completions.next(4000)
    #expect(completions.count { $0.status == 200 } > 2000)
    #expect(completions.allSatisfy { $0.status == 200 || $0.kind != .answered })
    let counters = await harness.simulator.counters()
    #expect(counters.connections > 1)
    #expect(counters.duplicates == 0)
    await harness.stop()
  }
}
