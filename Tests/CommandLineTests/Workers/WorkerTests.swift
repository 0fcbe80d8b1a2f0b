import PushTransport
import APNs
import Foundation
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct WorkerTests {
  @Test(arguments: PushEngineKind.one(for: "drainLogsOneObjectALine"))
  func drainLogsOneObjectALine(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(20)
    try await world.submit("a")
    let output = try await world.run("worker", "--drain", "--name", "w", "--json")
    expect(output.exit, is: .status(0))
    expect(output.standardOutput, is: "")
    let events = try JSONObject.all(in: output.standardError)
    // The worker logs the state of its connections periodically, and always at the end.
    let names = events.compactMap { $0.text("event") }.filter { $0 != "connections" }
    expect(names, is: ["started", "activated", "ended", "draining", "stopped"])
    let connections = try #require(events.last { $0.text("event") == "connections" })
    expect(
      connections.numbers.filter { ["breakerOpenings", "failures", "inFlight"].contains($0.key) }.values.allSatisfy {
        $0 == 0
      })
    expect(connections.numbers["open"] ?? 0 >= 1 && connections.text("breaker") == "closed")
    expect(events.allSatisfy { $0.text("at")?.hasSuffix("Z") == true && $0.text("level") == "info" })
    expect(events[0].text("name") == "w" && events[1].text("campaign") == "a")
    let totals = try #require(events.last)
    expect(totals.numbers, is: ["submitted": 20, "recorded": 20, "accepted": 20, "slices": 8, "resent": 0])
  }

  @Test(arguments: PushEngineKind.one(for: "debugLevelLogsEverySlice"))
  func debugLevelLogsEverySlice(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(20)
    try await world.submit("a")
    let output = try await world.run("worker", "--drain", "--json", "--log-level", "debug")
    let events = try JSONObject.all(in: output.standardError).filter { $0.text("level") == "debug" }
    for event in ["claimed", "sealed", "closed"] {
      let observed = events.filter { $0.text("event") == event }
      expect(Set(observed.compactMap { $0.text("slice") }).count, is: 8, "\(event)")
      if event != "claimed" { expect(observed.reduce(0) { $0 + ($1.number("targets") ?? 0) }, is: 20) }
    }
    expect(events.contains { $0.text("file") == world.environment["CARILLON_CONFIG"] })
  }

  @Test(arguments: PushEngineKind.one(for: "pauseResumeAndCancelAreLogged"))
  func pauseResumeAndCancelAreLogged(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator("--latency", "200ms")
    try await world.importDevices(2000)
    world.environment["CARILLON_WORKER_WINDOW"] = "20"
    let worker = try await world.start("worker", "--json")
    try await world.submit("slow")
    try await world.until("slow") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
    for (verb, event, says) in [
      ("pause", "controlApplied", "was paused"), ("resume", "resumed", "was resumed"),
      ("cancel", "controlApplied", "was cancelled"),
    ] {
      try await world.succeed("campaign", verb, "slow")
      let line = try #require(await worker.errorLine(containing: "\"event\":\"\(event)\""))
      expect(try JSONObject(line).text("campaign") == "slow" && line.contains(says), "\(line)")
    }
    expect(await worker.terminate(), is: .status(0))
  }

  @Test func reconnectToRedisIsLogged() async throws {
    let server = try await RedisServer.start()
    let world = try await CarillonWorld(server: server)
    let worker = try await world.start("worker", "--json")
    _ = try #require(await worker.errorLine(containing: #""event":"started""#))
    // Waits until the worker has inspected the server, which precedes the first heartbeat.
    try await poll(until: "the worker is registered") {
      try await server.command("zcard", "{\(world.namespace)}:workers") != "0"
    }
    try await server.command("client", "kill", "type", "normal")
    expect(await worker.errorLine(containing: #""event":"reconnected""#) != nil)
    expect(await worker.terminate(), is: .status(0))
    await server.stop()
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func signalEndsAnIdleWorkerWith0(signal: Int32) async throws {
    let world = try await CarillonWorld()
    let worker = try await world.start("worker")
    _ = try #require(await worker.errorLine(containing: "worker: started name="))
    worker.send(signal: signal)
    expect(await worker.waitForExit(), is: .status(0))
  }

  /// After the second signal the worker does not wait for answers. Unanswered targets stay in doubt, and the next
  /// worker sends them again.
  @Test(arguments: PushEngineKind.one(for: "secondSignalHurries"))
  func secondSignalHurries(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    // The latency is longer than the test, so no push is ever answered.
    try await world.startSimulator("--latency", "60s")
    try await world.importDevices(50)
    try await world.submit("stuck")
    let worker = try await world.start("worker", "--json")
    try await world.until("stuck") { ($0.number("inDoubt") ?? 0) > 0 }
    worker.send(signal: SIGTERM)
    _ = try #require(await worker.errorLine(containing: #""event":"draining""#))
    expect(await worker.terminate(), is: .status(0))
    let left = try await world.show("stuck")
    expect(left.number("inDoubt") ?? 0 > 0 && left.text("state") == "active")
  }

  @Test func nameThatWouldBreakALineIsRefused() async throws {
    let output = try await CarillonCommand.run(["worker", "--name", "a b"])
    output.expect(exit: 64, saying: "--name must be 1 to 64 of")
  }
}
