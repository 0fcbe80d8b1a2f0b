import PushTransport
import Foundation
import TestKit
import TestSupport
import Testing

/// Repartitioning of a store while workers run.
@Suite(.takesTurns) struct StoreTests {
  /// One campaign runs during the repartitioning and another waits for its end. The same worker sends both.
  @Test(arguments: PushEngineKind.one(for: "partitionsAreRaisedUnderAWorkerThatRuns"))
  func partitionsAreRaisedUnderAWorkerThatRuns(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator("--latency", "300ms")
    try await world.importDevices(1000)
    // From here on, no setting contains the number of partitions.
    world.environment["CARILLON_REDIS_PARTITIONS"] = nil
    world.environment["CARILLON_WORKER_WINDOW"] = "100"
    let name = "w-\(world.namespace.suffix(12))"
    let worker = try await world.start("worker", "--json", "--name", name)
    try await world.submit("running")
    try await world.until("running") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
    let connections = {
      try await world.server.command("client", "list").split(separator: "\n").count { $0.contains(name) }
    }
    let before = try await connections()
    let command = try await world.start("store", "repartition", "32", "--yes", "--json")
    _ = try #require(await worker.errorLine(containing: #""event":"storeLocked""#))
    try await world.submit("next")
    let refused = try await world.run("devices", "register", "--user", "u1", "--token", CarillonWorld.token(5000))
    expect(refused.exit == .status(69) && refused.standardError.contains("store repartition 32"))
    expect(await command.errorLine(containing: #""event":"waiting","campaigns":1"#) != nil)
    _ = try #require(await worker.errorLine(containing: "waits: the store is being repartitioned to 32 partitions"))
    let report = try JSONObject(#require(await command.line(containing: "partitions")))
    expect(await command.waitForExit(), is: .status(0))
    expect(report.number("partitions") == 32 && report.number("before") == 8)
    expect(report.number("users") ?? 0 > 500 && report.number("tokens") ?? 0 > 500, "\(report)")
    try await world.until("next") { $0.text("state") == "completed" }
    for id in ["running", "next"] {
      expect(try await world.show(id).object("outcomes")?.numbers, is: ["accepted": 1000])
    }
    expect(try await simulator.counters().number("accepted"), is: 2000)
    // The worker has closed the connections that it used to wait.
    expect(try await connections(), is: before)
    expect(await worker.terminate(), is: .status(0))
    let again = try await world.succeed("store", "repartition", "32")
    expect(again, is: "the store already has 32 partitions\n")
  }

  /// If the command is killed at any point, a second run continues, or restores the old partitions.
  @Test(arguments: [40, 8])
  func killedCommandLosesNothing(last: Int) async throws {
    let world = try await CarillonWorld(devices: 2000)
    let keys = "{\(world.namespace)}:store"
    // The command kills itself at a step, later each time, until the first users have moved.
    var step = 60
    repeat {
      step += 10
      let killed = try await CarillonCommand.run(
        ["store", "repartition", "40", "--yes"],
        environment: world.environment.merging(["CARILLON_FAULT_STEP": String(step)]) { $1 })
      try #require(killed.exit == .signal(SIGKILL), "step \(step): \(killed.standardError)")
    } while try await world.server.command("hlen", "{\(world.namespace):39}:devices") == "0"
    expect(try await world.server.command("hget", keys, "nextPartitions"), is: "40")
    let held = try await world.run("store", "check", "--repair")
    expect(held.exit == .status(69) && held.standardError.contains("store repartition 40"))
    expect(try await world.run("worker", "--drain", "--name", "w").exit, is: .status(69))
    let output = try await world.succeed("store", "repartition", String(last), "--yes", "--json")
    expect(try JSONObject(output).number("partitions"), is: last)
    var environment = world.environment
    environment["CARILLON_REDIS_PARTITIONS"] = nil
    let export = try await CarillonCommand.run(["devices", "export", "--format", "csv"], environment: environment)
    let check = try await CarillonCommand.run(["store", "check"], environment: environment)
    expect(check.exit, is: .status(0), "\(check.standardOutput)")
    expect(Set(export.standardOutput.split(whereSeparator: \.isNewline).dropFirst()).count, is: 2000)
  }

  @Test func wrongNumbersAreRefused() async throws {
    let world = try await CarillonWorld()
    let nothing = try await world.run("store", "repartition", "16", "--yes")
    expect(nothing.exit == .status(1) && nothing.standardError.contains("there is no store under namespace"))
    try await world.importDevices(1)
    for (count, says) in [
      ("4", "has 8 partitions: the number can't be lowered to 4"), ("0", "1 to 16384"), ("16385", "1 to 16384"),
    ] {
      let output = try await world.run("store", "repartition", count, "--yes")
      expect(output.exit == .status(64) && output.standardError.contains(says), "\(output.standardError)")
    }
    let unasked = try await world.run("store", "repartition", "16")
    expect(unasked.exit == .status(64) && unasked.standardError.contains("add --yes"))
    try await world.succeed("devices", "import", world.folder.path("devices.csv"))
  }
}
