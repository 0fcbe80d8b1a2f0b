import APNsSimulator
import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// Behaviour that all engines share. If an engine has less information, `EngineKnowledge.swift` has the difference.
@Suite("Engines against the simulator", .timeLimit(.minutes(6)))
struct EngineTests {
  @Test(
    "every push is accepted once, over as many connections as configured",
    arguments: PushEngineKind.allCases)
  func acceptsEachPushOnce(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine, connections: 2)
    for first in stride(from: UInt64(0), to: 3000, by: 500) {
      harness.pool.submit(PoolHarness.batch(first..<first + 500), lane: 1)
    }
    let completions = await harness.completions.next(3000)
    expect(Set(completions.map(\.tag)), is: Set(0..<3000))
    expect(completions.allSatisfy { $0.kind == .answered && $0.status == 200 && $0.reason == .none })
    let counters = await harness.simulator.counters()
    expect(counters.accepted, is: 3000)
    expect(counters.received, is: 3000)
    expect(counters.duplicates, is: 0)
    expect(counters.refusedStreams, is: 0)
    expect((1...2).contains(counters.connections))
    await harness.stop()
  }

  @Test(
    "without a listening server no push is sent, and the pool reports the reason",
    arguments: PushEngineKind.allCases)
  func stoppedServerGetsNoPush(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    await harness.simulator.stop()
    harness.pool.submit(PoolHarness.batch(0..<10), lane: 0)
    let completions = await harness.completions.next(3)
    // The pushes are tried one at a time. The next is tried only when the budget allows it.
    expect(completions.map(\.tag), is: [0, 1, 2])
    expect(completions.allSatisfy { $0.kind == .notSent })
    expect(harness.pool.published.lastError?.contains("onnect"), is: true)
    expect(harness.pool.published.failures >= 3)
    await harness.stop()
  }

  @Test("a server without a trusted certificate gets no push", arguments: PushEngineKind.allCases)
  func untrusted(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    let completions = Completions()
    let stranger = try SelfSignedIdentity()
    let folder = try ScratchFolder()
    let pool = ConnectionPool(
      configuration: .init(
        endpoint: PushEndpoint(
          url: "https://127.0.0.1:\(harness.simulator.port)",
          trustRoots: try folder.write("ca.pem", stranger.authorityPEM)),
        service: APNsService(),
        reconnect: PoolHarness.hasty, engine: engine),
      credential: harness.credential, onCompletions: { completions.add($0) })
    pool.submit(PoolHarness.batch([1]), lane: 0)
    let completion = try await completions.one()
    expect(completion.kind, is: .notSent)
    expect(pool.published.lastError?.contains("certificate"), is: true)
    _ = await pool.drain(deadline: 0)
    expect(await harness.simulator.counters().received, is: 0)
    await harness.stop()
  }

  @Test(
    "with repeated GOAWAYs, all pushes arrive if they are repeated until accepted",
    arguments: PushEngineKind.allCases, [1, 2])
  func goAway(engine: PushEngineKind, connections: Int) async throws {
    let knobs = SimulatorKnobs { $0.goAwayAfterRequests = 150 }
    let harness = try await PoolHarness(engine: engine, connections: connections, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<1000), lane: 0)
    var accepted: Set<UInt64> = []
    while accepted.count < 1000 {
      for completion in await harness.completions.next(1) {
        if completion.kind == .answered {
          expect(completion.status, is: 200)
          expect(accepted.insert(completion.tag).inserted)
        } else {
          harness.pool.submit(PoolHarness.batch([completion.tag]), lane: 0)
        }
      }
    }
    let counters = await harness.simulator.counters()
    expect(counters.goAways >= 3)
    expect(counters.connections >= 4)
    await harness.stop()
  }

  @Test(
    "when the server stops, idle connections are detected before a push is lost",
    arguments: PushEngineKind.allCases)
  func serverGoesAway(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    harness.pool.submit(PoolHarness.batch(0..<50), lane: 0)
    expect(await harness.completions.next(50).allSatisfy { $0.status == 200 })
    await harness.simulator.stop()
    var tag: UInt64 = 1000
    // libcurl may read the GOAWAY only with the first push, and check its socket with the second.
    repeat {
      harness.pool.submit(PoolHarness.batch([tag]), lane: 0)
      expect(try await harness.completions.one().kind != .answered)
      tag += 1
    } while harness.pool.published.open > 0
    expect(tag <= 1002)
    await harness.stop()
  }

  @Test(
    "after an expired provider token the clock is measured, and a new token and connection are made",
    arguments: PushEngineKind.allCases)
  func expiredToken(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.clockSkewSeconds = 2 * 3600 }
    let harness = try await PoolHarness(engine: engine, knobs: knobs, measureOffset: { 2 * 3600 })
    harness.pool.submit(PoolHarness.batch(0..<20), lane: 0)
    var answers: [PushCompletion] = []
    while answers.count(where: { $0.status == 200 }) < 20 {
      for completion in await harness.completions.next(1) {
        answers.append(completion)
        if completion.status == 200 { continue }
        expect(completion.reason, is: Reason.expiredProviderToken.code)
        harness.pool.submit(PoolHarness.batch([completion.tag]), lane: 0)
      }
    }
    // Only the first push used the old token. The others waited for the new one.
    expect(answers.count, is: 21)
    expect(await harness.simulator.counters().connections, is: 2)
    expect(harness.credential.stopped, is: nil)
    await harness.stop()
  }

  @Test(
    "a clock that can't be corrected stops the credential and holds waiting pushes",
    arguments: PushEngineKind.allCases)
  func hopelessClock(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.clockSkewSeconds = 2 * 3600 }
    let harness = try await PoolHarness(engine: engine, knobs: knobs, measureOffset: { 0 })
    harness.pool.submit(PoolHarness.batch(0..<20), lane: 0)
    let completions = await harness.completions.next(2)
    expect(completions.allSatisfy { $0.reason == Reason.expiredProviderToken.code })
    expect(harness.credential.stopped, is: Reason.expiredProviderToken.code)
    expect(await harness.pool.drain(deadline: 0), is: Array(2..<20))
    await harness.stop()
  }

  @Test(
    "pushes that no connection has taken can be taken back, and never complete",
    arguments: PushEngineKind.allCases)
  func cancelBacklog(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 50 }
    let harness = try await PoolHarness(engine: engine, streams: 1, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<10), lane: 0)
    expect(try await harness.completions.one().tag, is: 0)
    let taken = harness.pool.cancelBacklog { $0 >= 5 }
    // The test may have been delayed. In any case the last pushes are taken back.
    let first = UInt64(10 - taken.count)
    expect(first >= 5 && taken == Array(first..<10))
    expect(await harness.completions.next(Int(first) - 1).map(\.tag), is: Array(1..<first))
    harness.pool.submit(PoolHarness.batch([99]), lane: 0)
    expect(try await harness.completions.one().tag, is: 99)
    await harness.stop()
  }

  @Test("an urgent push overtakes waiting pushes", arguments: PushEngineKind.allCases)
  func lanes(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 20 }
    let harness = try await PoolHarness(engine: engine, streams: 1, knobs: knobs)
    // The pushes take three seconds, because the test may be delayed before it submits the urgent push.
    harness.pool.submit(PoolHarness.batch(0..<150), lane: 2)
    expect(try await harness.completions.one().tag, is: 0)
    harness.pool.submit(PoolHarness.batch([1000]), lane: 0)
    let tags = await harness.completions.next(150).map(\.tag)
    expect(tags.filter { $0 != 1000 }, is: Array(1..<150))
    expect(tags.last != 1000)
    await harness.stop()
  }

  @Test("draining waits for answers", arguments: PushEngineKind.allCases)
  func drains(engine: PushEngineKind) async throws {
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 100 }
    let harness = try await PoolHarness(engine: engine, knobs: knobs)
    harness.pool.submit(PoolHarness.batch(0..<10), lane: 0)
    // After the first answer the window has grown, and two more pushes are sent.
    expect(try await harness.completions.one().tag, is: 0)
    _ = try await harness.simulator.counters { $0.received >= 3 }
    let left = await harness.pool.drain(deadline: 30_000_000_000)
    let answered = await harness.completions.next(9 - left.count)
    expect(answered.count >= 2)
    expect(answered.allSatisfy { $0.status == 200 })
    expect(Set(answered.map(\.tag)).union(left), is: Set(1..<10))
    expect(harness.pool.submit(PoolHarness.batch([11]), lane: 0), is: false)
    expect(harness.pool.published.inFlight, is: 0)
    await harness.stop()
  }

  @Test(
    "at the deadline, sent pushes without an answer are in doubt",
    arguments: PushEngineKind.allCases)
  func drainDeadline(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    harness.pool.submit(PoolHarness.batch([0]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 60_000 }
    await harness.simulator.set(knobs)
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    try await poll(until: "two pushes are received", every: .milliseconds(1)) {
      await harness.simulator.counters().received >= 2
    }
    expect(await harness.pool.drain(deadline: 1), is: [])
    expect(try await harness.completions.one().kind, is: .ambiguous)
    await harness.stop()
  }

  @Test(
    "a push without an answer in time is in doubt, and its connection is abandoned",
    arguments: PushEngineKind.allCases)
  func timeout(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine, requestTimeout: 2_000_000_000)
    harness.pool.submit(PoolHarness.batch([0]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    let knobs = SimulatorKnobs { $0.latencyMilliseconds = 60_000 }
    await harness.simulator.set(knobs)
    harness.pool.submit(PoolHarness.batch([1]), lane: 0)
    expect(try await harness.completions.one().kind, is: .ambiguous)
    await harness.simulator.set(SimulatorKnobs())
    harness.pool.submit(PoolHarness.batch([2]), lane: 0)
    expect(try await harness.completions.one().status, is: 200)
    expect(await harness.simulator.counters().connections, is: 2)
    await harness.stop()
  }

  @Test("payloads of every size arrive whole", arguments: PushEngineKind.allCases)
  func payloads(engine: PushEngineKind) async throws {
    let harness = try await PoolHarness(engine: engine)
    var batch = PushBatch(request: PushHeaders(topic: PoolHarness.topic, pushType: .alert, priority: 10).request)
    let ids = PushID(campaign: "sizes")
    var total = 0
    for (tag, size) in [1, 511, 512, 513, 3000, 4096, 20].enumerated() {
      let start = Int32(batch.bytes.count)
      batch.bytes += Array(repeating: UInt8(ascii: "x"), count: size)
      let token = Int32(batch.bytes.count)
      batch.bytes += PoolHarness.token(UInt64(tag))
      batch.pushes.append(
        Push(
          tag: UInt64(tag), id: ids.id(token: PoolHarness.token(UInt64(tag))),
          token: token..<Int32(batch.bytes.count), payload: start..<token))
      total += size
    }
    harness.pool.submit(batch, lane: 0)
    expect(await harness.completions.next(7).allSatisfy { $0.status == 200 })
    expect(await harness.simulator.counters().bodyBytes, is: total)
    await harness.stop()
  }
}
