import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// Output and exit status of `carillon store check`. It reports no data that is only changing.
@Suite(.takesTurns) struct StoreCheckCommandTests {
  @Test func checkPrintsFindingsAndExits1IfAnyRemain() async throws {
    let world = try await CarillonWorld(devices: 40)
    let healthy = try await world.succeed("store", "check")
    expect(
      healthy.hasPrefix("checked ")
        && healthy.contains(" 40 users, 40 tokens, 0 campaigns, 0 slices: no problems found\n"))

    let partition = "{\(world.namespace):3}:"
    try await world.server.command("sadd", partition + "users", "ghost")
    try await world.server.command("hset", partition + "attributes", "ghost", "{}")
    try await world.server.command("set", partition + "something", "x")
    let found = try await world.run("store", "check")
    expect(found.exit == .status(1) && found.standardError.isEmpty)
    let lines = found.standardOutput.split(separator: "\n")
    expect(lines.count == 4 && lines.last?.hasSuffix("3 problems found, 0 repaired, 3 remaining") == true)
    expect(
      lines.contains {
        $0 == "\(partition)users ghost: the user is listed, but has no device; repair it: carillon store check --repair"
      })

    let repaired = try await world.run("store", "check", "--repair", "--json")
    expect(repaired.exit, is: .status(1))
    let objects = try repaired.standardOutput.split(separator: "\n").map { try JSONObject(String($0)) }
    expect(
      Set(objects.compactMap { $0.text("kind") }), is: ["userWithoutDevices", "attributesWithoutDevices", "unknownKey"])
    expect(Set(objects.compactMap { $0.text("standing") }), is: ["repaired", "open"])
    expect(objects.dropLast().allSatisfy { $0.text("problem") != nil && $0.text("hint") != nil })
    expect(objects.last?.number("repaired") == 2 && objects.last?.number("left") == 1)
    try await world.server.command("del", partition + "something")
    try await world.succeed("store", "check")
  }

  /// While one check follows another, workers are killed and others take over. An import moves tokens between users,
  /// another import loads a segment, and campaigns have bad and unregistered tokens.
  @Test(arguments: PushEngineKind.one(for: "checkIgnoresConcurrentChanges"))
  func checkIgnoresConcurrentChanges(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator("--latency", "20ms")
    let tokens = try await world.importDevices(2000)
    // Few enough that the guard does not trip, unless a worker takes over mostly these targets from the dead worker.
    try await simulator.load(
      tokens.prefix(10).map { #"{"token":"\#($0)","state":"bad"}"# }
        + tokens[40..<140].map { "\($0),unregistered,com.example.news,1790000000000" })
    let segment = try world.folder.write("vip", (0..<1500).map { "u\($0)\n" }.joined())
    try await world.succeed("segment", "import", "vip", segment)
    // Every token moves to another user.
    let moved = try world.folder.write(
      "moved.csv",
      "user,token,registeredAt\n"
        + tokens.enumerated().map { "u\(($0 + 1) % 2000),\($1),2026-02-01T00:00:00Z\n" }.joined())
    try await world.submit("a")
    try await world.submit("b", audience: #"{"segment":"vip"}"#, more: #","lane":"urgent","results":"all""#)
    let fleet = Fleet(world: world)
    let changing = [
      ["devices", "import", moved], ["segment", "import", "vip", segment, "--replace"],
      ["devices", "import", world.folder.path("devices.csv")], ["devices", "import", moved],
    ]
    async let changes: Void = fleet.importAgainAndAgain(changing)
    async let death: Void = fleet.killAndReplace()
    var checks = 0
    do {
      while try await !fleet.isOver(["a", "b"]) || checks < 3 {
        let output = try await world.run("store", "check")
        expect(output.exit, is: .status(0), "\(output.standardOutput)\(output.standardError)")
        checks += 1
      }
    } catch {
      // The third worker waits until these campaigns end.
      for id in ["a", "b"] { _ = try? await world.run("campaign", "cancel", id) }
      throw error
    }
    try await changes
    try await death
    try await world.succeed("store", "check")
  }

  private struct Fleet {
    let world: CarillonWorld

    func importAgainAndAgain(_ commands: [[String]]) async throws {
      for command in commands {
        let output = try await CarillonCommand.run(command, environment: world.environment)
        expect(output.exit, is: .status(0), "\(output.standardError)")
      }
    }

    /// Starts two workers and kills one during its work; a third worker takes over.
    func killAndReplace() async throws {
      let first = try await world.start("worker", "--name", "first")
      let second = try await world.start("worker", "--name", "second")
      try await world.until("a") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
      first.send(signal: SIGKILL)
      expect(await first.waitForExit(), is: .signal(SIGKILL))
      try await world.succeed("worker", "--drain", "--name", "third")
      expect(await second.terminate(), is: .status(0))
    }

    func isOver(_ ids: [String]) async throws -> Bool {
      for id in ids {
        let shown = try await world.show(id)
        let state = shown.text("state")
        if state == "paused" { try await world.succeed("campaign", "resume", id, "--unguarded") }
        if state != "completed" { return false }
      }
      return true
    }
  }
}
