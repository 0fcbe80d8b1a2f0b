import PushTransport
import Foundation
import TestKit
import TestSupport
import Testing

/// Several worker processes, one of which ends in the middle of a campaign.
@Suite(.takesTurns) struct WorkerDeathTests {
  private static let window = 200

  /// Starts a worker and waits until it has started its work.
  private func worker(_ world: CarillonWorld, _ name: String) async throws -> ChildProcess {
    let worker = try await world.start("worker", "--name", name, "--json")
    _ = try #require(await worker.errorLine(containing: #""event":"started""#))
    return worker
  }

  private func accepted(_ campaign: JSONObject) -> Int { campaign.object("outcomes")?.number("accepted") ?? 0 }

  /// With many partitions, slices have two or three targets, and the worker handles them in batches.
  @Test(arguments: TestForm.rows([(PushEngineKind.curl, 16), (.native, 1000), (.native, 16)], inParts: 3))
  func killedWorkerLosesNothingAndDuplicatesAtMostAWindow(
    engine: PushEngineKind, partitions: Int
  ) async throws {
    var world = try await CarillonWorld(partitions: partitions, engine: engine.rawValue)
    world.environment["CARILLON_WORKER_WINDOW"] = String(Self.window)
    // Answers are slow, so pushes are in flight whenever the worker dies.
    let simulator = try await world.startSimulator("--latency", "2s")
    let tokens = try await world.importDevices(3000)
    // Slices begin with the users who registered first. The guard of a worker would find mostly bad answers if these
    // users had the bad tokens.
    let spread = stride(from: 50, to: 3000, by: 73).map { tokens[$0] }
    try await simulator.load(
      spread[0..<30].map { "\($0),unregistered,com.example.news,1769904000000" }
        + spread[30..<40].map { "\($0),bad,com.example.news," })
    let victim = try await worker(world, "victim")
    let heir = try await worker(world, "heir")

    try await world.submit("accident")
    try await world.until("accident") { accepted($0) >= 300 }
    victim.send(signal: SIGKILL)
    expect(await victim.waitForExit(), is: .signal(SIGKILL))
    let middle = try await world.show("accident")
    expect(middle.text("state"), is: "active")
    try await simulator.setLatency(milliseconds: 0)
    try await world.succeed("campaign", "watch", "accident")

    let campaign = try await world.show("accident")
    expect(campaign.text("state"), is: "completed")
    expect(campaign.number("targets"), is: 3000)
    expect(campaign.object("outcomes")?.numbers, is: ["accepted": 2960, "unregistered": 30, "badToken": 10])
    expect(campaign.number("pruned"), is: 30)
    expect(campaign.number("pending") == 0 && campaign.number("inDoubt") == 0)
    let resent = try #require(campaign.number("resent"))
    expect(resent > 0 && resent <= Self.window)

    let counters = try await simulator.counters()
    let duplicates = try #require(counters.number("duplicates"))
    expect(duplicates <= resent)
    expect(counters.number("accepted"), is: 2960 + duplicates)
    let results = try JSONObject.all(in: await world.succeed("results", "export", "accident"))
    expect(Set(results.compactMap { $0.text("token") }).count, is: 3000)
    expect(results.count == 3000 && results.allSatisfy { $0.text("outcome") != nil })

    expect(await heir.terminate(), is: .status(0))
    let log = try JSONObject.all(in: await heir.errorLines.reduce(into: "") { $0 += $1 + "\n" })
    expect(log.contains { $0.text("event") == "takenOver" }, "\(log)")
    expect(log.last?.text("event"), is: "stopped")
  }

  @Test(arguments: PushEngineKind.one(for: "stoppedWorkerLeavesNothingInDoubtNorSentTwice"))
  func stoppedWorkerLeavesNothingInDoubtNorSentTwice(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    world.environment["CARILLON_WORKER_WINDOW"] = "100"
    let simulator = try await world.startSimulator("--latency", "800ms")
    try await world.importDevices(2000)
    let first = try await worker(world, "first")
    try await world.submit("relay")
    try await world.until("relay") { accepted($0) >= 200 }
    expect(await first.terminate(), is: .status(0))
    let halfway = try await world.show("relay")
    expect(halfway.text("state") == "active" && halfway.number("inDoubt") == 0)
    expect(halfway.number("pending") ?? 0 > 0)
    try await simulator.setLatency(milliseconds: 0)

    world.environment["CARILLON_WORKER_WINDOW"] = "1000"
    try await world.drain("second")
    let campaign = try await world.show("relay")
    expect(campaign.object("outcomes")?.numbers, is: ["accepted": 2000])
    expect(campaign.number("resent"), is: 0)
    let counters = try await simulator.counters()
    expect(counters.number("accepted") == 2000 && counters.number("duplicatesReceived") == 0)
  }

  /// A worker dies after it has activated a campaign or closed a slice of a part. Neither part is lost or duplicated.
  @Test(arguments: ["activated:1", "closed:1", "closed:2"])
  func companionExistsOnceAlthoughItsWorkerDies(kill: String) async throws {
    var world = try await CarillonWorld(partitions: 4, engine: "native")
    let simulator = try await world.startSimulator()
    _ = try await world.importDevices(20)
    let widgets = (0..<10).map { CarillonWorld.token(100 + $0) }
    let rows = widgets.enumerated().map { "u\($0),\($1),news,widgets\n" }.joined()
    try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user,token,app,kind\n" + rows)
    try await simulator.load(widgets.map { "\($0),registered,com.example.news.push-type.widgets," })
    try await world.submit("goal", more: #","also":["widgets"]"#)
    let victim = try await world.start(
      ["worker", "--name", "victim"], environment: ["CARILLON_FAULT_KILL": kill])
    expect(await victim.waitForExit(), is: .signal(SIGKILL))
    try await world.drain("heir")
    for (id, count) in [("goal", 20), ("goal~main.widgets", 10)] {
      let campaign = try await world.show(id)
      expect(campaign.text("state") == "completed" && campaign.number("targets") == count, "\(campaign)")
      expect(campaign.object("outcomes")?.numbers, is: ["accepted": count])
    }
    expect(try JSONObject.all(in: await world.succeed("campaign", "list", "--json")).count, is: 1)
    let counters = try await simulator.counters()
    expect((counters.number("accepted") ?? 0) - (counters.number("duplicates") ?? 0), is: 30)
    expect(try await world.succeed("dead", "list", "--json"), is: "[]\n")
  }
}
