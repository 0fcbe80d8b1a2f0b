import APNsSimulator
import PushCore
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// The end and the reopening of connections.
@Suite("Lifetime of connections over TLS", .timeLimit(.minutes(6)), .takesTurns)
struct ConnectionLifetimeTests {
  /// A form of GOAWAY: debug data, error code, whether it comes twice, and the number of streams that it reports as
  /// unprocessed.
  struct GoAway: Sendable, CustomStringConvertible {
    var form = SimulatorKnobs.GoAwayForm.json
    var error: UInt32 = 0
    var isRepeated = false
    var unprocessed = 0
    var latency = 0
    var description: String {
      "\(form) \(error)\(isRepeated ? " twice" : "") unprocessed \(unprocessed) after \(latency) ms"
    }

    var knobs: SimulatorKnobs {
      var knobs = SimulatorKnobs()
      knobs.goAwayAfterRequests = 150
      knobs.goAwayForm = form
      knobs.goAwayError = error
      knobs.repeatsGoAway = isRepeated
      knobs.goAwayUnprocessed = unprocessed
      knobs.latencyMilliseconds = latency
      return knobs
    }
  }

  @Test(
    "after any form of GOAWAY nothing is lost and sending continues",
    arguments: PushEngineKind.allCases,
    [
      GoAway(), GoAway(form: .text), GoAway(form: .empty), GoAway(isRepeated: true),
      GoAway(form: .empty, isRepeated: true), GoAway(form: .text, error: 7), GoAway(error: 11),
      GoAway(unprocessed: 20), GoAway(form: .empty, error: 7, isRepeated: true, unprocessed: 5, latency: 5),
    ])
  func goAway(engine: PushEngineKind, _ goAway: GoAway) async throws {
    let harness = try await PoolHarness(engine: engine, connections: 2, knobs: goAway.knobs)
    try await sendAll(harness, 600)
    let counters = await harness.simulator.counters()
    expect(counters.goAways >= 3)
    // A push that may have been processed is sent again under the same id. At most the pushes in flight at a GOAWAY are
    // repeated.
    expect(counters.duplicatesReceived <= counters.goAways * 200)
    await harness.stop()
  }

  @Test(
    "connections that a server closes cleanly after hundreds of pushes are replaced with any budget",
    arguments: PushEngineKind.allCases)
  func achievements(engine: PushEngineKind) async throws {
    let hour: UInt64 = 3_600_000_000_000
    let limits = ReconnectBudget.Limits(
      spacing: 1_000_000, firstBackoff: 1_000_000, longestBackoff: 1_000_000, burst: 3, refill: hour)
    let knobs = SimulatorKnobs { $0.goAwayAfterRequests = 400 }
    let harness = try await PoolHarness(engine: engine, reconnect: limits, knobs: knobs)
    try await sendAll(harness, 3000)
    expect(await harness.simulator.counters().connections >= 6)
    await harness.stop()
  }

  @Test(
    "connections of a limited age are always replaced without loss", arguments: PushEngineKind.allCases)
  func limitedAge(engine: PushEngineKind) async throws {
    var knobs = SimulatorKnobs()
    knobs.connectionSeconds = 1
    knobs.latencyMilliseconds = 20
    let harness = try await PoolHarness(engine: engine, streams: 4, knobs: knobs)
    // At 200 pushes a second, this takes three seconds.
    try await sendAll(harness, 600)
    expect(await harness.simulator.counters().connections >= 2)
    await harness.stop()
  }

  @Test(
    "a connection that APNs closes as idle is replaced for the next push, and no push is in doubt",
    arguments: PushEngineKind.allCases)
  func idleTimeout(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.idleSeconds = 1 }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    try await sendAll(harness, 10)
    _ = try await harness.simulator.counters { $0.faults["idleSeconds"] == 1 && $0.openConnections == 0 }
    harness.pool.submit(PoolHarness.batch([100]), lane: 0)
    var completion = try await harness.completions.one()
    while completion.kind != .answered {
      expect(completion.kind, is: .notSent)
      harness.pool.submit(PoolHarness.batch([100]), lane: 0)
      completion = try await harness.completions.one()
    }
    expect(completion.status, is: 200)
    let counters = await harness.simulator.counters()
    expect(counters.connections, is: 2)
    expect(counters.received, is: 11)
    await harness.stop()
  }

  @Test(
    "an address in use is declined if there are others, and used if the others fail",
    arguments: PushEngineKind.allCases)
  func addresses(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    // An earlier look-up returned this address. Now it returns only the address of the simulator.
    expect(harness.pool.mayConnect(0, to: "192.0.2.1"))
    try await sendAll(harness, 10)
    expect(harness.pool.published.connections[0].address, is: "127.0.0.1")
    harness.pool.submit(PoolHarness.batch([100], isUnproven: true), lane: 0)
    expect(try await harness.completions.one().kind, is: .notSent)
    expect(await harness.simulator.counters().connections, is: 1)
    harness.pool.submit(PoolHarness.batch([100], isUnproven: true), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    expect(harness.pool.published.connections.map(\.address), is: ["127.0.0.1", "127.0.0.1"])
    await harness.stop()
  }

  @Test("a connection of libcurl's that was idle for too long is replaced before it is used")
  func idleLimit() async throws {
    let harness = try await PoolHarness(engine: .curl, idleLimit: 0)
    for tag in UInt64(0)..<5 {
      harness.pool.submit(PoolHarness.batch([tag]), lane: 0)
      // No push comes back unsent, because none was tried on the old connection.
      expect(try await harness.completions.one().status, is: 200)
    }
    expect(await harness.simulator.counters().connections, is: 5)
    expect(harness.pool.published.failures, is: 0)
    await harness.stop()
  }

  @Test(
    "a silent connection is abandoned in time; its pushes are in doubt, the others are accepted",
    arguments: PushEngineKind.allCases)
  func silence(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.silentAfterRequests = 100 }
    // For any width of the window, more pushes are left when the server falls silent than the connection has streams.
    let harness = try await PoolHarness(engine: engine, streams: 100, requestTimeout: 1_000_000_000, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<300), lane: 0)
    let completions = await harness.completions.next(300)
    expect(Set(completions.map(\.tag)), is: Set(0..<300))
    expect(completions.allSatisfy { $0.kind == .ambiguous || $0.status == 200 || $0.kind == .notSent })
    let counters = await harness.simulator.counters()
    expect(counters.faults["silentAfterRequests", default: 0] >= 1)
    expect(counters.connections >= 2)
    expect(completions.count { $0.status == 200 } >= 100)
    await harness.stop()
  }

  /// libcurl begins every push immediately, with the credential of that moment.
  @Test("a push that waits for its connection comes back unsent if the credential stops meanwhile")
  func credentialStopsWhileAConnectionOpens() async throws {
    let harness = try await PoolHarness(engine: .native, knobs: SimulatorKnobs { $0.settingsDelayMilliseconds = 2000 })
    let generation = try #require(harness.pool.authorization()).generation
    harness.pool.submit(PoolHarness.batch([0]), lane: 0)
    while harness.pool.published.connections[0].inFlight == 0 { await Task.yield() }
    harness.credential.record(.refused(Reason.invalidProviderToken.code, generation: generation))
    expect(try await harness.completions.one().kind, is: .notSent)
    expect(harness.pool.published.connections[0].inFlight, is: 0)
    expect(await harness.simulator.counters().received, is: 0)
    // The same connection is used after the repair.
    harness.credential.resume()
    harness.pool.submit(PoolHarness.batch([0]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    expect(await harness.simulator.counters().connections, is: 1)
    await harness.stop()
  }

  /// Errors before a connection is established.
  enum Obstacle: String, CaseIterable, Sendable {
    case reset, slowHandshake, untrusted

    var knobs: SimulatorKnobs {
      var knobs = SimulatorKnobs()
      switch self {
      case .reset: knobs.connectResetShare = 1
      case .slowHandshake: knobs.handshakeDelayMilliseconds = 60_000
      case .untrusted: knobs.showsUntrustedCertificate = true
      }
      return knobs
    }
  }

  @Test(
    "a pool without a connection obeys the budget, and sends when the server is reachable again",
    arguments: PushEngineKind.allCases, Obstacle.allCases)
  func obstacles(engine: PushEngineKind, _ obstacle: Obstacle) async throws {
    let hour: UInt64 = 3_600_000_000_000
    let limits = ReconnectBudget.Limits(
      spacing: 1_000_000, firstBackoff: 1_000_000, longestBackoff: 1_000_000, burst: 4, refill: hour)
    let harness = try await PoolHarness(
      engine: engine, connections: 2, connectTimeout: 200_000_000, reconnect: limits, knobs: obstacle.knobs)
    harness.pool.submit(PoolHarness.batch(0..<100), lane: 0)
    // Three of four pushes fail.
    let failed = await harness.completions.next(3)
    expect(failed.allSatisfy { $0.kind == .notSent }, "\(failed)")
    await harness.simulator.set(SimulatorKnobs())
    var unsent = failed.map(\.tag)
    var accepted: Set<UInt64> = []
    while accepted.count < 97 {
      let completion = try await harness.completions.one()
      if completion.status == 200 { accepted.insert(completion.tag) } else { unsent.append(completion.tag) }
      // All attempts may have failed before the server was reachable.
      if unsent.count == 4 { break }
    }
    expect(harness.pool.published.openings <= 4)
    expect(accepted.union(unsent).count, is: accepted.count + unsent.count)
    let left = await harness.pool.drain(deadline: 1_000_000_000)
    expect(accepted.count + unsent.count + left.count, is: 100)
    await harness.simulator.stop()
  }

  /// Sends pushes 0 to `count`, each again until it is answered.
  private func sendAll(_ harness: PoolHarness, _ count: Int) async throws {
    harness.pool.submit(PoolHarness.batch(0..<UInt64(count)), lane: 0)
    var accepted: Set<UInt64> = []
    while accepted.count < count {
      for completion in await harness.completions.next(1) {
        if completion.kind == .answered {
          expect(completion.status, is: 200)
          expect(accepted.insert(completion.tag).inserted)
        } else {
          harness.pool.submit(PoolHarness.batch([completion.tag]), lane: 0)
        }
      }
    }
  }
}
