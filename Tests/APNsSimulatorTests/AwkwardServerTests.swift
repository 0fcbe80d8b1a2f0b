import APNsSimulator
import HTTP2
import TestKit
import Testing

/// Server behaviour that HTTP/2 allows but that is rare.
@Suite struct AwkwardServerTests {
  private func run(
    _ knobs: @escaping (inout SimulatorKnobs) -> Void, _ body: (Scene, PushClient) async throws -> Void
  ) async throws {
    try await Scene.run {
      $0.initialStreams = 1000
      knobs(&$0.knobs)
    } _: { (scene) async throws in
      scene.simulator.load([.init(token: [1], state: .unregistered, timestamp: 5)])
      try await scene.withClient { (client) async throws in try await body(scene, client) }
    }
  }

  @Test func interimAnswerComesBeforeTheAnswer() async throws {
    try await run {
      $0.interimStatus = 103
    } _: { (scene, client) async throws in
      try await client.connect()
      let responses = try await client.send([try scene.request(), try scene.request("01")])
      expect(responses.map(\.status), is: [200, 410])
      expect(await client.interim, is: [103, 103])
    }
  }

  @Test func trailersComeBehindEveryAnswer() async throws {
    try await run {
      $0.sendsTrailers = true
    } _: { (scene, client) async throws in
      try await client.connect()
      let responses = try await client.send([try scene.request(), try scene.request("01")])
      expect(responses.map { $0.headers["server-timing"] }, is: ["total", "total"])
      expect(responses.map(\.body), is: ["", #"{"reason":"Unregistered","timestamp":5}"#])
    }
  }

  @Test func bodyComesInPieces() async throws {
    try await run {
      $0.bodyPieceBytes = 7
    } _: { (scene, client) async throws in
      try await client.connect()
      let body = #"{"reason":"Unregistered","timestamp":5}"#
      expect(try await client.send([try scene.request("01")])[0].body, is: body)
      expect(await client.pieces, is: (body.utf8.count + 6) / 7)
    }
  }

  @Test func settingsComeLateAndNothingBefore() async throws {
    try await run {
      $0.settingsDelayMilliseconds = 50
    } _: { (scene, client) async throws in
      // The client sends the request before the server's SETTINGS arrive, and the server answers it.
      expect(try await client.send([try scene.request()])[0].status, is: 200)
      expect(await scene.simulator.counters().faults, is: ["settingsDelayMilliseconds": 1])
    }
  }

  @Test func pingMayGoUnanswered() async throws {
    try await run {
      $0.answersPings = false
    } _: { (scene, client) async throws in
      try await client.connect()
      try await client.ping()
      // The server answers the request that follows the PING.
      expect(try await client.send([try scene.request()])[0].status, is: 200)
      expect(await scene.simulator.counters().faults, is: ["answersPings": 1])
    }
  }

  @Test func withoutCreditBodiesStallAfterTheWindow() async throws {
    try await run {
      $0.grantsWindow = false
    } _: { (scene, client) async throws in
      try await client.connect()
      let large = #"{"aps":{"alert":""# + String(repeating: "x", count: 4000) + #""}}"#
      let requests = try (0..<20).map { _ in try scene.request(body: Array(large.utf8)) }
      try await client.start(requests)
      let counters = try await scene.simulator.counters(when: { $0.received == 65_535 / large.utf8.count })
      expect(counters.received, is: 16)
      // No more data arrives within another round trip.
      try await client.ping()
      await scene.simulator.goAway()
      expect(try await client.goAway() != nil)
      expect(await scene.simulator.counters().received, is: 16)
    }
  }

  @Test func connectionMayOutliveItsGoAway() async throws {
    try await run {
      $0.lingersAfterGoAway = true
    } _: { (scene, client) async throws in
      try await client.connect()
      await scene.simulator.goAway()
      expect(try await client.goAway() != nil)
      let counters = await scene.simulator.counters()
      expect(counters.faults, is: ["lingersAfterGoAway": 1])
      expect(counters.openConnections, is: 1)
      await client.close()
      _ = try await scene.simulator.counters(when: { $0.openConnections == 0 })
    }
  }
}
