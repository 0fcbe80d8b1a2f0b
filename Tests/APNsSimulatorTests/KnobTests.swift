import APNsSimulator
import HTTP2
import TLS
import TestKit
import Testing

/// Knobs of section 10.4 of the reference that change the form of an answer or the lifetime of a connection.
@Suite struct KnobTests {
  private func run(
    _ knobs: @escaping (inout SimulatorKnobs) -> Void, _ body: (Scene) async throws -> Void
  ) async throws {
    try await Scene.run {
      $0.initialStreams = 1000
      $0.seed = 1
      knobs(&$0.knobs)
    } _: { (scene) async throws in
      scene.simulator.load([.init(token: [1], state: .unregistered, timestamp: 5)])
      try await body(scene)
    }
  }

  @Test func rejectionMayHaveNoBodyOrAnotherThanJSON() async throws {
    try await run {
      $0.bodyForm = .empty
    } _: { (scene) async throws in
      let empty = try await scene.push(try scene.request("01"))
      expect((empty.status, empty.body, empty.headers["content-type"]) == (410, "", nil))
      var knobs = scene.simulator.knobs
      knobs.bodyForm = .broken
      await scene.simulator.set(knobs)
      expect(try await scene.push(try scene.request("01")).body, is: "<html>Unregistered</html>")
      knobs.bodyForm = .json
      knobs.reportsTimestamp = false
      await scene.simulator.set(knobs)
      expect(try await scene.push(try scene.request("01")).body, is: #"{"reason":"Unregistered"}"#)
    }
  }

  @Test func reasonOfAKnobIsQuotedAsJSON() async throws {
    try await run {
      $0.failures = [.init(share: 1, status: 503, reason: #"a "quoted" word"#)]
    } _: { (scene) async throws in
      expect(try await scene.push(try scene.request("ab")).body, is: #"{"reason":"a \"quoted\" word"}"#)
    }
  }

  @Test func identifierMayBeRaisedOrMissing() async throws {
    try await run {
      $0.raisesID = true
    } _: { (scene) async throws in
      let request = try scene.request { $0.set("apns-id", "01234567-89ab-4cde-8f01-23456789abcd") }
      expect(try await scene.push(request).headers["apns-id"], is: "01234567-89AB-4CDE-8F01-23456789ABCD")
      await scene.simulator.change { $0.sendsID = false }
      expect(try await scene.push(request).headers["apns-id"], is: nil)
    }
  }

  @Test func retryAfterComesWithBusyAnswersOnly() async throws {
    try await run {
      $0.retryAfterSeconds = 7
      $0.failures = [.init(share: 1, status: 503, reason: "ServiceUnavailable", tokenPrefix: "ab")]
    } _: { (scene) async throws in
      expect(try await scene.push(try scene.request("ab")).headers["retry-after"], is: "7")
      expect(try await scene.push(try scene.request("01")).headers["retry-after"], is: nil)
      expect(try await scene.push(try scene.request("cd")).headers["retry-after"], is: nil)
    }
  }

  @Test(arguments: [
    (SimulatorKnobs.GoAwayForm.json, #"{"reason":"Shutdown"}"#), (.text, "The connection is closed: Shutdown"),
    (.empty, ""),
  ])
  func goAwayComesInEveryForm(form: SimulatorKnobs.GoAwayForm, data: String) async throws {
    try await run {
      $0.goAwayForm = form
      $0.goAwayError = 7
      $0.repeatsGoAway = true
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        await scene.simulator.goAway()
        expect(try await client.goAway(), is: .init(lastStreamID: 0, error: .refusedStream, debugData: data))
        await client.end()
      }
    }
  }

  @Test func idleConnectionGetsGoAway() async throws {
    try await run {
      $0.idleSeconds = 1
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        expect(try await client.goAway()?.debugData, is: #"{"reason":"IdleTimeout"}"#)
      }
      expect(await scene.simulator.counters().faults, is: ["idleSeconds": 1])
    }
  }

  @Test func oldConnectionGetsGoAway() async throws {
    try await run {
      $0.connectionSeconds = 1
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        expect(try await client.goAway()?.debugData, is: #"{"reason":"Shutdown"}"#)
      }
    }
  }

  @Test func connectionFallsSilent() async throws {
    try await run {
      $0.silentAfterRequests = 2
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        expect(try await client.send([try scene.request()])[0].status, is: 200)
        try await client.start([try scene.request()])
        _ = try await scene.simulator.counters(when: { $0.faults["silentAfterRequests"] == 1 })
        try await client.start([try scene.request()])
        // The simulator answers another connection. It neither answers nor closes this one.
        expect(try await scene.push(try scene.request()).status, is: 200)
        expect(await client.order.count, is: 1)
        expect(await scene.simulator.counters().received, is: 3)
      }
    }
  }

  @Test func addressThatConnectsTooOftenIsReset() async throws {
    try await run {
      $0.connectsPerMinute = 2
    } _: { (scene) async throws in
      for _ in 0..<2 { expect(try await scene.push(try scene.request()).status, is: 200) }
      await #expect(throws: (any Error).self) { try await scene.push(try scene.request()) }
      expect(await scene.simulator.counters().faults["connectsPerMinute"], is: 1)
    }
  }

  @Test func connectionsAreResetInTheirShare() async throws {
    try await run {
      $0.connectResetShare = 1
    } _: { (scene) async throws in
      await #expect(throws: (any Error).self) { try await scene.push(try scene.request()) }
      expect(await scene.simulator.counters().faults, is: ["connectResetShare": 1])
      // The control API has no injected faults.
      expect(try await scene.control("PUT", "/knobs", #"{"connectResetShare":0}"#).status, is: 200)
      expect(try await scene.push(try scene.request()).status, is: 200)
    }
  }

  @Test func untrustedCertificateEndsTheHandshake() async throws {
    try await run {
      $0.showsUntrustedCertificate = true
    } _: { (scene) async throws in
      try await scene.withClient { (client) async throws in
        await #expect(throws: PushClient.Lost.self) { try await client.connect() }
        expect(await client.failure?.reason.contains("certificate verify failed"), is: true)
      }
    }
  }

  @Test func offerOfALPNMayGoUnanswered() async throws {
    try await run {
      $0.answersALPN = false
      $0.handshakeDelayMilliseconds = 20
    } _: { (scene) async throws in
      expect(try await scene.push(try scene.request()).status, is: 200)
      expect(await scene.simulator.counters().faults, is: ["handshakeDelayMilliseconds": 1])
    }
  }

  @Test func answersOvertakeEachOtherAndStall() async throws {
    try await run {
      $0.latencyMilliseconds = 40
      $0.latencySpreadMilliseconds = 15
      $0.stallShare = 0.1
      $0.stallMilliseconds = 100
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let responses = try await client.send(try (0..<100).map { _ in try scene.request() })
        expect(responses.allSatisfy { $0.status == 200 })
        let order = await client.order
        expect(order != order.sorted())
      }
      expect(await scene.simulator.counters().faults, is: ["stallShare": 10])
    }
  }

  @Test func connectionGivesNoMoreAnswersThanItMay() async throws {
    try await run {
      $0.answersPerSecond = 100
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let clock = ContinuousClock()
        let begin = clock.now
        let responses = try await client.send(try (0..<50).map { _ in try scene.request() })
        expect(responses.allSatisfy { $0.status == 200 })
        expect(begin.duration(to: clock.now) >= .milliseconds(480))
      }
    }
  }

  @Test(arguments: [
    #"{"streamWindow":4294967295}"#, #"{"maxFrameSize":1}"#, #"{"stallShare":2}"#, #"{"goAwayForm":"poem"}"#,
    #"{"idleSeconds":-1}"#,
  ])
  func valueOutOfItsRangeIsRefused(patch: String) async throws {
    try await run { _ in
    } _: { (scene) async throws in
      let before = scene.simulator.knobs
      expect(try await scene.control("PUT", "/knobs", patch).status, is: 400)
      expect(scene.simulator.knobs, is: before)
    }
  }

  @Test func assignmentTakesJSONAndPlainText() throws {
    var knobs = SimulatorKnobs()
    try knobs.apply(assignment: "refusedShare=0.5")
    try knobs.apply(assignment: "unknownTokens=bad")
    try knobs.apply(assignment: #"revokedKeys=["A","B"]"#)
    expect((knobs.refusedShare, knobs.unknownTokens, knobs.revokedKeys) == (0.5, .bad, ["A", "B"]))
    #expect(throws: SimulatorKnobs.PatchError.self) { try knobs.apply(assignment: "refusedShare") }
    #expect(throws: SimulatorKnobs.PatchError.self) { try knobs.apply(assignment: "refused=1") }
  }
}
