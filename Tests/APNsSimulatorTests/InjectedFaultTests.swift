import APNsSimulator
import Foundation
import HTTP2
import TestKit
import TestSupport
import Testing

@Suite struct InjectedFaultTests {
  /// Runs `body` with a simulator that allows 1,000 streams from the start and writes a log.
  private func run(
    _ knobs: (inout SimulatorKnobs) -> Void, _ body: (Scene, _ statuses: () throws -> [String]) async throws -> Void
  ) async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests.log")
    try await Scene.run {
      $0.initialStreams = 1000
      $0.log = path
      knobs(&$0.knobs)
    } _: { (scene) async throws in
      try await body(scene) {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
          String(line.split(separator: " ")[5])
        }
      }
    }
  }

  /// Sends all requests in one flight and returns the answers. The status is 0 for answers that were lost with the
  /// connection.
  private func send(_ count: Int, to scene: Scene) async throws -> [PushClient.Response] {
    let requests = try (0..<count).map { _ in try scene.request() }
    return try await scene.withConnectedClient { (client) async throws in
      return try await client.send(requests)
    }
  }

  @Test func refusedShareIsNeitherReceivedNorLogged() async throws {
    try await run {
      $0.refusedShare = 0.05
    } _: { (scene, statuses) async throws in
      let responses = try await send(200, to: scene)
      expect(responses.count { $0.error == .refusedStream }, is: 10)
      expect(responses.count { $0.status == 200 }, is: 190)
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.accepted) == (190, 190))
      expect(counters.faults, is: ["refusedShare": 10])
      expect(try statuses().count, is: 190)
    }
  }

  @Test func resetShareIsReceivedAndLoggedWithoutAnswer() async throws {
    try await run {
      $0.resetShare = 0.1
    } _: { (scene, statuses) async throws in
      let responses = try await send(100, to: scene)
      expect(responses.count { $0.error == .internalError && $0.status == 0 }, is: 10)
      let counters = await scene.simulator.counters()
      expect(counters.received, is: 100)
      expect(counters.faults, is: ["resetShare": 10])
      expect(try statuses().count { $0 == "-" }, is: 10)
    }
  }

  @Test func withheldAnswersNeverCome() async throws {
    try await run {
      $0.withheldShare = 1
    } _: { (scene, statuses) async throws in
      try await scene.withConnectedClient { (client) async throws in
        try await client.start(try (0..<5).map { _ in try scene.request() })
        let counters = try await scene.simulator.counters(when: { $0.received == 5 })
        expect(counters.faults, is: ["withheldShare": 5])
        expect(try statuses(), is: ["-", "-", "-", "-", "-"])
        try await client.resetLast(5)
        _ = try await scene.simulator.counters(when: { $0.abandonedStreams == 5 })
      }
    }
  }

  @Test func connectionIsResetAfterItsLastRequestArrives() async throws {
    try await run {
      $0.resetAfterRequests = 3
    } _: { (scene, statuses) async throws in
      try await scene.withConnectedClient { (client) async throws in
        for _ in 0..<2 { expect(try await client.send([try scene.request()])[0].status, is: 200) }
        let rest = try (0..<10).map { _ in try scene.request() }
        await #expect(throws: PushClient.Lost.self) { try await client.send(rest) }
      }
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.faults) == (3, ["resetAfterRequests": 1]))
      expect(try statuses(), is: ["200", "200", "-"])
    }
  }

  @Test func connectionIsClosedAfterItsLastRequestWasAnswered() async throws {
    try await run {
      $0.closeAfterRequests = 3
    } _: { (scene, statuses) async throws in
      try await scene.withConnectedClient { (client) async throws in
        for _ in 0..<3 { expect(try await client.send([try scene.request()])[0].status, is: 200) }
        await client.end()
        expect(await client.seenGoAway, is: nil)
      }
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.faults) == (3, ["closeAfterRequests": 1]))
      expect(try statuses(), is: ["200", "200", "200"])
    }
  }

  @Test func goAwayCanCallUnprocessedWhatWasReceived() async throws {
    try await run {
      $0.latencyMilliseconds = 600_000
      $0.goAwayAfterRequests = 10
      $0.goAwayUnprocessed = 4
    } _: { (scene, statuses) async throws in
      try await scene.withConnectedClient { (client) async throws in
        try await client.start(try (0..<10).map { _ in try scene.request() })
        expect(try await client.goAway()?.lastStreamID, is: 11)
      }
      let counters = await scene.simulator.counters()
      expect((counters.received, counters.goAways) == (10, 1))
      expect(counters.faults["goAwayUnprocessed"], is: 4)
      expect(try statuses().count, is: 10)
    }
  }

  @Test func goAwayBelowRequestsInFlightExcludesThem() async throws {
    try await run {
      $0.goAwayAfterRequests = 3
      $0.goAwayUnprocessed = 1000
    } _: { (scene, _) async throws in
      let responses = try await send(100, to: scene)
      let counters = await scene.simulator.counters()
      expect(counters.received, is: 3)
      expect(counters.faults["goAwayAfterRequests"] ?? 0 > 0)
      expect(counters.faults["goAwayUnprocessed"], is: nil)
      expect(responses.count { $0.status == 200 }, is: counters.received)
    }
  }

  @Test func tokenGetsItsErrorSomeTimesAndIsAcceptedThen() async throws {
    try await run {
      $0.tokenFailures = [.init(token: "AB", status: 429, reason: "TooManyRequests", times: 2)]
    } _: { (scene, _) async throws in
      try await scene.withConnectedClient { (client) async throws in
        for expected in [429, 429, 200] {
          expect(try await client.send([try scene.request("ab")])[0].status, is: expected)
          expect(try await client.send([try scene.request("cd")])[0].status, is: 200)
          // A change of another knob does not reset the count.
          await scene.simulator.change { $0.tracksDuplicates.toggle() }
        }
      }
      let counters = await scene.simulator.counters()
      expect((counters.reasons, counters.faults) == (["TooManyRequests": 2], ["tokenFailures": 2]))
    }
  }

  @Test func streamLimitOfLiveConnectionsShrinksAndGrowsAgain() async throws {
    try await run { _ in
    } _: { (scene, _) async throws in
      try await scene.withConnectedClient { (client) async throws in
        var knobs = scene.simulator.knobs
        knobs.streamLimit = 1
        await scene.simulator.set(knobs)
        expect(try await client.limits(until: 1), is: [1000, 1])
        let responses = try await client.send(try (0..<10).map { _ in try scene.request() })
        expect(responses.allSatisfy { $0.status == 200 })
        knobs.streamLimit = 0
        await scene.simulator.set(knobs)
        expect(try await client.limits(until: 1000), is: [1000, 1, 1000])
      }
      expect(await scene.simulator.counters().faults, is: ["streamLimit": 1])
    }
  }

  @Test func faultsAreSetAndCountedThroughTheControlAPI() async throws {
    try await run { _ in
    } _: { (scene, _) async throws in
      let patch = """
        {"refusedShare":1,"tokenFailures":[{"token":"ab","status":429,"reason":"TooManyRequests","times":1}]}
        """
      expect(try await scene.control("PUT", "/knobs", patch).status, is: 200)
      expect(try await scene.push(try scene.request()).error, is: .refusedStream)
      expect(try await scene.control("GET", "/counters").body.contains(#""faults":{"refusedShare":1}"#))
    }
  }
}
