import APNsSimulator
import EventLoop
import PushCore
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// Behaviour of the native engine only: it knows which pushes were provably not processed, and reads the peer's
/// settings.
@Suite("Native engine against the simulator", .timeLimit(.minutes(6)), .takesTurns)
struct NativeEngineTests {
  @Test("a refused stream costs nothing: its push is unsent, none is in doubt, and the others continue")
  func refusedStreams() async throws {
    let knobs = SimulatorKnobs { $0.refusedShare = 0.05 }
    let harness = try await PoolHarness(engine: .native, knobs: knobs)
    let completions = try await harness.sendUntilAccepted(0..<1000)
    expect(completions.allSatisfy { $0.kind != .ambiguous })
    expect(completions.count { $0.kind == .notSent } >= 25)
    let counters = await harness.simulator.counters()
    expect(counters.accepted, is: 1000)
    expect(counters.duplicates, is: 0)
    expect(counters.connections, is: 1)
    await harness.stop()
  }

  @Test(
    "after a GOAWAY, streams above the last are unsent and the others are answered; none is in doubt",
    arguments: [SimulatorKnobs.GoAwayForm.json, .text, .empty], [true, false])
  func goAway(form: SimulatorKnobs.GoAwayForm, isRepeated: Bool) async throws {
    var knobs = SimulatorKnobs()
    knobs.goAwayAfterRequests = 150
    knobs.goAwayUnprocessed = 20
    knobs.goAwayForm = form
    knobs.repeatsGoAway = isRepeated
    let harness = try await PoolHarness(engine: .native, knobs: knobs)
    let completions = try await harness.sendUntilAccepted(0..<1000)
    expect(completions.allSatisfy { $0.kind != .ambiguous })
    let counters = await harness.simulator.counters()
    expect(counters.accepted, is: 1000)
    expect(counters.duplicates, is: 0)
    expect(counters.goAways >= 6)
    await harness.stop()
  }

  @Test("only a stream that APNs resets after it received the push is in doubt")
  func resets() async throws {
    let knobs = SimulatorKnobs { $0.resetShare = 0.05 }
    let harness = try await PoolHarness(engine: .native, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<1000), lane: 0)
    let completions = await harness.completions.next(1000)
    let counters = await harness.simulator.counters()
    let resets = counters.faults["resetShare"] ?? 0
    expect(completions.count { $0.kind == .ambiguous }, is: resets)
    expect(resets >= 25)
    expect(completions.allSatisfy { $0.kind != .notSent })
    expect(counters.connections, is: 1)
    await harness.stop()
  }

  @Test("a changing stream limit of the peer is obeyed without a refused stream or a stuck push")
  func followsSettings() async throws {
    var knobs = SimulatorKnobs { $0.latencyMilliseconds = 5 }
    let harness = try await PoolHarness(engine: .native, knobs: knobs)
    var accepted = 0
    for (round, limit) in [1, 1000, 1, 1000, 7, 1000].enumerated() {
      knobs.streamLimit = UInt32(limit)
      await harness.simulator.set(knobs)
      let first = UInt64(round * 100)
      // The new limit has arrived with the answer to this push. A push that is sent earlier can't obey the limit.
      harness.pool.submit(PoolHarness.batch([first]), lane: 0)
      expect(try await harness.completions.one().status, is: 200)
      harness.pool.submit(PoolHarness.batch(first + 1..<first + 100), lane: 0)
      let completions = await harness.completions.next(99)
      expect(completions.allSatisfy { $0.kind == .answered && $0.status == 200 })
      accepted += completions.count
    }
    let counters = await harness.simulator.counters()
    expect(accepted == 6 * 99 && counters.received == 600)
    expect(counters.refusedStreams, is: 0)
    expect(counters.connections, is: 1)
    await harness.stop()
  }

  @Test("a limit that drops after each rejection is followed down and up")
  func limitDropsOnRejection() async throws {
    var knobs = SimulatorKnobs()
    knobs.limitDropsOnRejection = true
    knobs.failures = [.init(share: 0.02, status: 400, reason: "BadDeviceToken")]
    let harness = try await PoolHarness(engine: .native, knobs: knobs)
    let completions = try await harness.sendUntilAnswered(0..<1000)
    expect(completions.count { $0.status == 400 } >= 10)
    expect(completions.allSatisfy { $0.kind != .ambiguous })
    expect(await harness.simulator.counters().duplicates, is: 0)
    await harness.stop()
  }

  @Test("a half-open connection is found by PING, long before the push's time is up")
  func halfOpen() async throws {
    let knobs = SimulatorKnobs { $0.silentAfterRequests = 50 }
    let liveness = NativeConnection.Liveness(busy: 200_000_000, idle: 200_000_000, answer: 2_000_000_000)
    let harness = try await PoolHarness(
      engine: .native, requestTimeout: 3_600_000_000_000, knobs: knobs,
      makeEngine: { number, configuration, supply in
        var connector = NativeConnector(configuration)
        connector.liveness = liveness
        return ConnectionEngine(number: number, configuration: configuration, connector: connector, supply: supply)
      })
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    var answered = 1
    while try await harness.completions.one().kind == .answered { answered += 1 }
    await harness.simulator.set(SimulatorKnobs())
    expect(await harness.completions.next(200 - answered).contains { $0.status == 200 })
    expect(try await harness.sendUntilAccepted(1000..<1100).allSatisfy { $0.status == 200 })
    // On a busy machine an answer to a PING may be late as well.
    expect(await harness.simulator.counters().connections >= 2)
    await harness.stop()
  }

  @Test("an address without a handshake is abandoned, and the next one gets a handshake of its own")
  func stalledHandshake() async throws {
    // The kernel accepts connections, but no bytes are ever sent on them.
    let silent = try Socket.listen(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
    defer { silent.close() }
    let stalled = try SocketAddress.resolve(host: "127.0.0.1", port: silent.localAddress().port)[0]
    let harness = try await PoolHarness(
      // The addresses share this time. It is enough for a handshake in parallel with all other tests.
      engine: .native, connectTimeout: 30_000_000_000,
      makeEngine: { number, configuration, supply in
        var connector = NativeConnector(configuration)
        connector.resolve = { [stalled] + (try SocketAddress.resolve(host: $0, port: $1)) }
        return ConnectionEngine(number: number, configuration: configuration, connector: connector, supply: supply)
      })
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    expect((harness.pool.published.openings, harness.pool.published.failures) == (1, 0))
    await harness.stop()
  }

  @Test("the engine waits for a slow answer, because a peer that answers PINGs is alive")
  func slowAnswer() async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 1500 }
    let liveness = NativeConnection.Liveness(busy: 50_000_000, idle: 50_000_000, answer: 30_000_000_000)
    let harness = try await PoolHarness(
      engine: .native, knobs: knobs,
      makeEngine: { number, configuration, supply in
        var connector = NativeConnector(configuration)
        connector.liveness = liveness
        return ConnectionEngine(number: number, configuration: configuration, connector: connector, supply: supply)
      })
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    expect(await harness.simulator.counters().connections, is: 1)
    await harness.stop()
  }

  @Test("a push that times out while others are answered costs its stream, not the connection")
  func oneTimesOut() async throws {
    let knobs = SimulatorKnobs { $0.withheldShare = 0.01 }
    let harness = try await PoolHarness(engine: .native, requestTimeout: 2_000_000_000, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<200), lane: 0)
    var waiting = 200
    var next: UInt64 = 1000
    // As long as one of the first pushes waits, others are sent and answered.
    while waiting > 0 {
      let completion = try await harness.completions.one()
      expect(completion.kind == .ambiguous || completion.status == 200)
      if completion.tag < 1000 { waiting -= 1 }
      harness.pool.submit(PoolHarness.batch([next]), lane: 0)
      next += 1
    }
    expect(await harness.simulator.counters().connections, is: 1)
    await harness.stop()
  }

  @Test("after the last stream identifier another connection takes over, and nothing is lost")
  func exhausted() async throws {
    let harness = try await PoolHarness(
      engine: .native,
      makeEngine: { number, configuration, supply in
        var connector = NativeConnector(configuration)
        connector.firstStreamID = UInt32(Int32.max) - 200
        return ConnectionEngine(number: number, configuration: configuration, connector: connector, supply: supply)
      })
    expect(try await harness.sendUntilAccepted(0..<500).allSatisfy { $0.kind != .ambiguous })
    // There are 101 odd stream identifiers from there on.
    let counters = await harness.simulator.counters()
    expect((counters.connections, counters.received) == (5, 500))
    expect(harness.pool.published.failures, is: 0)
    await harness.stop()
  }

  @Test("a setup error is reported, and the setup is retried when the budget allows")
  func setupIsTriedAgain() async throws {
    let harness = try await PoolHarness(engine: .native)
    let folder = try ScratchFolder()
    let completions = Completions()
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: PushEndpoint(
          url: "https://127.0.0.1:\(harness.simulator.port)", trustRoots: folder.path("late.pem")),
        service: APNsService(),
        connections: 1, reconnect: PoolHarness.hasty, engine: .native),
      credential: harness.credential, onCompletions: { completions.add($0) })
    pool.submit(PoolHarness.batch([1]), lane: 0)
    try await poll(until: "three connections have failed", every: .milliseconds(1)) { pool.published.failures >= 3 }
    _ = try folder.write("late.pem", harness.simulator.authorityPEM ?? "")
    expect(try await completions.one().status, is: 200)
    _ = await pool.drain(deadline: 0)
    await harness.stop()
  }
}

extension PoolHarness {
  /// Sends pushes repeatedly until each is accepted, and fails on any other answer.
  ///
  /// - Returns: all completions.
  func sendUntilAccepted(_ tags: Range<UInt64>) async throws -> [PushCompletion] {
    let all = try await sendUntilAnswered(tags)
    expect(all.allSatisfy { $0.kind != .answered || $0.status == 200 })
    return all
  }

  /// Sends pushes repeatedly until each is answered.
  ///
  /// - Returns: all completions.
  func sendUntilAnswered(_ tags: Range<UInt64>) async throws -> [PushCompletion] {
    pool.submit(Self.batch(tags), lane: 0)
    var open = Set(tags)
    var all: [PushCompletion] = []
    while !open.isEmpty {
      let completion = try await completions.one()
      all.append(completion)
      if completion.kind == .answered {
        expect(open.remove(completion.tag) != nil)
      } else {
        pool.submit(Self.batch([completion.tag]), lane: 0)
      }
    }
    return all
  }
}
