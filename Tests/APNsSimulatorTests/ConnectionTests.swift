import APNsSimulator
import HTTP2
import TLS
import TestKit
import Testing

@Suite struct ConnectionTests {
  @Test func firstAcceptanceRaisesTheStreamLimitFrom1To1000() async throws {
    try await Scene.run { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let rejected = try await client.send([try scene.request("junk")])
        expect(rejected[0].status, is: 400)
        let accepted = try await client.send([try scene.request()])
        expect(accepted[0].status, is: 200)
        expect(try await client.limits(until: 1000), is: [1, 1000])
        let many = try await client.send(try (0..<1000).map { _ in try scene.request() })
        expect(many.allSatisfy { $0.status == 200 })
      }
    }
  }

  @Test func streamsOpenedOverTheLimitAreRefusedAndNotReceived() async throws {
    try await Scene.run { (scene) async throws in
      let request = try scene.request()
      let responses = try await scene.withClient { try await $0.send([request, request, request]) }
      expect(responses.map(\.status), is: [200, 0, 0])
      expect(responses.map(\.error), is: [.noError, .refusedStream, .refusedStream])
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.refusedStreams) == (1, 2))
    }
  }

  @Test func expiredProviderTokenPutsTheLimitBackToOne() async throws {
    try await Scene.run { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        _ = try await client.send([try scene.request()])
        _ = try await client.limits(until: 1000)
        _ = try await client.send([try scene.request(token: try scene.providerToken(age: 4000))])
        expect(try await client.limits(until: 1), is: [1, 1000, 1])
        _ = try await client.send([try scene.request()])
        expect(try await client.limits(until: 1000), is: [1, 1000, 1, 1000])
      }
    }
  }

  @Test func expiredProviderTokenRefusesRequestsInFlightTwice() async throws {
    try await Scene.run { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        _ = try await client.send([try scene.request()])
        _ = try await client.limits(until: 1000)
        let token = try scene.providerToken(age: 4000)
        // All header blocks precede the bodies in this case, because the streams share the windows one after the other.
        let large = [UInt8](repeating: 0x20, count: 4000)
        let responses = try await client.send(try (0..<50).map { _ in try scene.request(token: token, body: large) })
        expect(responses.contains { $0.status == 403 && $0.body.contains("ExpiredProviderToken") })
        expect(responses.contains { $0.error == .refusedStream })
        expect(responses.allSatisfy { $0.status == 403 || $0.error == .refusedStream })
      }
      let counters = await scene.simulator.counters()
      expect(counters.refusedStreams > 0 && counters.received + counters.refusedStreams == 51)
    }
  }

  @Test func tooManyErrorsExcept410EndTheConnection() async throws {
    try await Scene.run {
      $0.knobs.errorBudget = 10
      $0.knobs.badTokenPoints = 5
    } _: { (scene) async throws in
      scene.simulator.load([.init(token: [1], state: .unregistered), .init(token: [2], state: .bad)])
      try await scene.withConnectedClient { (client) async throws in
        for _ in 0..<20 { expect(try await client.send([try scene.request("01")])[0].status, is: 410) }
        expect(await client.seenGoAway, is: nil)
        for _ in 0..<2 { expect(try await client.send([try scene.request("02")])[0].status, is: 400) }
        let goAway = try await client.goAway()
        expect(goAway?.error == .enhanceYourCalm && goAway?.lastStreamID == 43)
        await client.end()
      }
      expect(await scene.simulator.counters().faults, is: ["errorBudget": 1])
    }
  }

  @Test func knobLowersTheLimitAfterRejectionsExcept410() async throws {
    try await Scene.run {
      $0.knobs.limitDropsOnRejection = true
    } _: { (scene) async throws in
      scene.simulator.load([.init(token: [1], state: .unregistered), .init(token: [2], state: .bad)])
      try await scene.withConnectedClient { (client) async throws in
        _ = try await client.send([try scene.request()])
        _ = try await client.limits(until: 1000)
        _ = try await client.send([try scene.request("01")])
        _ = try await client.send([try scene.request("02")])
        expect(try await client.limits(until: 1), is: [1, 1000, 1])
      }
    }
  }

  @Test func goAwayFollowsTheLimitOfRequests() async throws {
    try await Scene.run {
      $0.knobs.goAwayAfterRequests = 3
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        for _ in 0..<3 { expect(try await client.send([try scene.request()])[0].status, is: 200) }
        let goAway = try await client.goAway()
        expect(goAway, is: .init(lastStreamID: 5, debugData: #"{"reason":"Shutdown"}"#))
        await client.end()
      }
      expect(await scene.simulator.counters().goAways, is: 1)
    }
  }

  @Test func requestsThatGoAwayExcludesWereNotProcessed() async throws {
    try await Scene.run {
      $0.knobs.goAwayAfterRequests = 3
      $0.initialStreams = 1000
    } _: { (scene) async throws in
      let requests = try (0..<100).map { _ in try scene.request() }
      let responses = try await scene.withClient { (client) async throws in
        try await client.connect()
        return try await client.send(requests)
      }
      let answered = responses.count { $0.status == 200 }
      expect(answered >= 3)
      expect(responses.count { $0.error == .refusedStream }, is: 100 - answered)
      expect(await scene.simulator.counters().received, is: answered)
    }
  }

  @Test func goAwayOnDemandAnswersOpenRequests() async throws {
    try await Scene.run {
      $0.knobs.latencyMilliseconds = 50
      $0.initialStreams = 10
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        async let answers = client.send(try (0..<5).map { _ in try scene.request() })
        _ = try await scene.simulator.counters(when: { $0.received == 5 })
        await scene.simulator.goAway()
        expect(try await answers.map(\.status), is: [200, 200, 200, 200, 200])
        expect(try await client.goAway()?.lastStreamID, is: 9)
      }
    }
  }

  @Test func latencyDelaysEveryAnswerByThatMuch() async throws {
    try await Scene.run {
      $0.knobs.latencyMilliseconds = 100
      $0.initialStreams = 1000
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let requests = try (0..<500).map { _ in try scene.request() }
        let clock = ContinuousClock()
        let begin = clock.now
        let responses = try await client.send(requests)
        let elapsed = begin.duration(to: clock.now)
        expect(responses.allSatisfy { $0.status == 200 })
        // The answer may be one tick early, because the timer wheel counts whole milliseconds. Answers one after the
        // other would take 50 s.
        expect(elapsed >= .milliseconds(98))
        expect(elapsed < .seconds(20))
      }
    }
  }

  @Test func streamResetBeforeItsAnswerIsAbandonedYetAccepted() async throws {
    try await Scene.run {
      $0.knobs.latencyMilliseconds = 600_000
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        try await client.start([try scene.request()])
        _ = try await scene.simulator.counters(when: { $0.received == 1 })
        try await client.resetLast(1)
        _ = try await scene.simulator.counters(when: { $0.abandonedStreams == 1 })
      }
      expect(await scene.simulator.counters().accepted, is: 1)
    }
  }

  @Test func injectedFailuresComeInTheirExactShare() async throws {
    try await Scene.run {
      $0.initialStreams = 1000
      $0.knobs.failures = [.init(share: 0.1, status: 503, reason: "ServiceUnavailable")]
    } _: { (scene) async throws in
      let requests = try (0..<200).map { _ in try scene.request() }
      let responses = try await scene.withClient { (client) async throws in
        try await client.connect()
        return try await client.send(requests)
      }
      let failed = responses.filter { $0.status == 503 }
      expect(failed.count, is: 20)
      expect(failed.allSatisfy { $0.body == #"{"reason":"ServiceUnavailable"}"# })
      let counters = await scene.simulator.counters()
      expect(counters.reasons, is: ["ServiceUnavailable": 20])
      expect(counters.accepted, is: 180)
    }
  }

  @Test func connectionsAreSpreadOverTheLoops() async throws {
    try await Scene.run {
      $0.threads = 4
    } _: { (scene) async throws in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<16 {
          let request = try scene.request()
          group.addTask { try await scene.push(request).status }
        }
        for try await status in group { expect(status, is: 200) }
      }
      let counters = await scene.simulator.counters()
      expect((counters.connections, counters.accepted) == (16, 16))
    }
  }

  @Test func stopIsIdempotentAndEndsConnections() async throws {
    try await Scene.run { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        await scene.simulator.stop()
        await client.end()
      }
      await scene.simulator.stop()
      expect(await scene.simulator.counters().openConnections, is: 0)
    }
  }

  @Test func takenPortIsAnError() async throws {
    try await Scene.run { (scene) async throws in
      var configuration = SimulatorConfiguration()
      configuration.port = scene.simulator.port
      await #expect(throws: (any Error).self) { try await Simulator.start(configuration) }
    }
  }

  @Test func invalidKeyIsAnError() async throws {
    var configuration = SimulatorConfiguration()
    configuration.keys = [.init(keyID: "K", teamID: "T", pem: "nonsense")]
    await #expect(throws: TLSError.self) { try await Simulator.start(configuration) }
  }
}
