import APNsSimulator
import HTTP2
import TestKit
import TestSupport
import Testing

/// The connections of FCM in the simulator (reference 2.1).
@Suite(.timeLimit(.minutes(6))) struct FCMConnectionTests {
  /// Runs `body` with a connection and a request that FCM accepts.
  private func run(
    _ change: (inout FCMKnobs) -> Void = { _ in },
    _ body: (FCMScene, PushClient, PushClient.Request) async throws -> Void
  ) async throws {
    try await FCMScene.run(change) { (scene) async throws in
      let request = scene.request(access: try await scene.accessToken())
      try await scene.withClient { (client) async throws in try await body(scene, client, request) }
    }
  }

  @Test func connectionAllowsAHundredStreams() async throws {
    try await run { (scene, client, request) async throws in
      try await client.connect()
      expect(try await client.limits(until: 100), is: [100])
      // A device may get 240 messages in a minute.
      let responses = try await client.send(Array(repeating: request, count: 200))
      expect(responses.allSatisfy { $0.status == 200 })
      expect(await scene.simulator.counters().fcm.maximumStreams <= 100)
    }
  }

  @Test func streamAboveTheLimitCostsTheConnection() async throws {
    try await run {
      $0.streamLimit = 10
      $0.latencyMilliseconds = 5000
    } _: { (scene, client, request) async throws in
      // The client sends before it knows the limit.
      await #expect(throws: PushClient.Lost.self) {
        _ = try await client.send(Array(repeating: request, count: 11))
        // `send` also takes the reset of a stream as an answer. The test then waits for the end of the connection.
        await client.end()
        throw PushClient.Lost()
      }
      await client.end()
      expect(
        await client.seenGoAway,
        is: .init(lastStreamID: 0, error: .protocolError, debugData: "exceeded_max_concurrent_streams"))
      expect(await scene.simulator.counters().fcm.faults["streamLimit"], is: 1)
    }
  }

  @Test func thirdPingWithoutARequestCostsTheConnection() async throws {
    try await run { (scene, client, request) async throws in
      try await client.connect()
      for _ in 0..<3 {
        for _ in 0..<2 { try await client.ping() }
        expect(try await client.send([request])[0].status, is: 200)
      }
      for _ in 0..<3 { try await client.ping() }
      let goAway = try await client.goAway()
      expect(goAway?.error == .enhanceYourCalm && goAway?.debugData == "too_many_pings")
      await client.end()
      expect(await scene.simulator.counters().fcm.faults, is: ["mostPings": 1])
    }
  }

  @Test func oldConnectionGetsGoAway() async throws {
    try await run {
      $0.connectionSeconds = 1
    } _: { (_, client, request) async throws in
      try await client.connect()
      expect(try await client.send([request])[0].status, is: 200)
      expect(try await client.goAway(), is: .init(lastStreamID: 1, debugData: "session_timed_out"))
      await client.end()
    }
  }

  @Test func goAwayNamesTheLastStream() async throws {
    try await run {
      $0.goAwayAfterRequests = 5
      $0.goAwayUnprocessed = 2
      $0.latencyMilliseconds = 20
    } _: { (scene, client, request) async throws in
      try await client.connect()
      let responses = try await client.send(Array(repeating: request, count: 8))
      // nghttp2 sends all headers before the first body, so the fifth request ends when eight streams are open.
      expect(responses.map(\.status), is: [200, 200, 200, 200, 200, 200, 0, 0])
      expect(await client.seenGoAway?.lastStreamID, is: 11)
      expect(await scene.simulator.counters().fcm.goAways, is: 1)
    }
  }

  @Test func streamsAreRefusedResetAndWithheldInTheirShares() async throws {
    try await run {
      $0.refusedShare = 0.25
      $0.resetShare = 0.5
    } _: { (scene, client, request) async throws in
      try await client.connect()
      let responses = try await client.send(Array(repeating: request, count: 8))
      expect(responses.count { $0.error == .refusedStream }, is: 2)
      expect(responses.count { $0.error == .internalError }, is: 3)
      expect(responses.count { $0.status == 200 }, is: 3)
      let counters = await scene.simulator.counters().fcm
      expect((counters.received, counters.faults) == (6, ["refusedShare": 2, "resetShare": 3]))
    }
  }

  @Test func downMeansThatConnectionsAreReset() async throws {
    try await run { (scene, _, request) async throws in
      await scene.simulator.change { $0.fcm.isDown = true }
      await #expect(throws: (any Error).self) { try await scene.send(request) }
      // The token endpoint still answers.
      expect(try await !scene.accessToken().isEmpty)
      await scene.simulator.change { $0.fcm.isDown = false }
      expect(try await scene.send(request).status, is: 200)
    }
  }

  /// `requests` of Python and other clients speak HTTP/1.1.
  @Test func serverSpeaksHTTP1AndKeepsTheConnection() async throws {
    try await FCMScene.run { (scene) async throws in
      let access = try await scene.accessToken()
      let folder = try ScratchFolder("fcm-http1")
      let authority = try folder.write("ca.pem", scene.simulator.authorityPEM ?? "")
      let url = "https://localhost:\(scene.simulator.fcmPort ?? 0)/v1/projects/\(FCMScene.project)/messages:send"
      let request = [
        "--silent", "--show-error", "--http1.1", "--cacert", authority, "--header", "authorization: Bearer \(access)",
        "--header", "content-type: application/json", "--write-out", "%{http_code} %{num_connects};",
      ]
      let output = try await ChildProcess.run(
        "curl",
        request + ["--data", #"{"message":{"token":"a"}}"#, "--output", folder.path("1"), url, "--next"] + request
          + ["--header", "transfer-encoding: chunked", "--header", "expect: 100-continue"]
          + ["--data", #"{"message":{}}"#, "--output", folder.path("2"), url])
      expect(output.standardOutput, is: "200 1;400 0;\n", "\(output.standardError)")
      expect(await scene.simulator.counters().fcm.errors, is: ["INVALID_ARGUMENT": 1])
    }
  }
}
