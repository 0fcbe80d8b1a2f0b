import Foundation
import TestKit
import TestSupport
import Testing

/// Output and exit status of `carillon status`.
@Suite(.takesTurns) struct StatusTests {
  @Test func statusShowsTheFleetAndExits1IfAnAlarmIsOpen() async throws {
    var world = try await CarillonWorld(engine: "native")
    let simulator = try await world.startSimulator()
    let lonely = try await world.run("status")
    expect(lonely.exit == .status(1) && lonely.standardError.isEmpty)
    let first = lonely.standardOutput.split(separator: "\n")
    expect(first[0].hasPrefix("\(world.namespace)  1 open alarm"))
    expect(first[1] == "  ! no worker runs" && first[2] == "    start one: carillon worker")

    try await world.importDevices(20)
    let worker = try await world.start("worker", "--name", "ada")
    try await world.submit("a")
    try await world.until("a") { $0.text("state") == "completed" }
    var healthy = try await world.run("status", "--json")
    // The worker publishes its counts with its next heartbeat.
    while try JSONObject(healthy.standardOutput).object("workers")?.objects("each")?.first?.number("accepted") != 20 {
      healthy = try await world.run("status", "--json")
      expect(healthy.exit, is: .status(0), "\(healthy.standardOutput)")
    }
    let json = try JSONObject(healthy.standardOutput)
    expect(json.bool("healthy") == true && json.objects("alarms")?.isEmpty == true)
    let ada = try #require(json.object("workers")?.objects("each")?.first)
    expect(ada.text("name") == "ada" && ada.text("version") == "0.1.0" && ada.text("engine") == "native")
    expect(ada.objects("pools")?.first?.text("endpoint"), is: "https://127.0.0.1:\(simulator.port)")
    expect(json.objects("redis")?.first?.number("usedBytes") ?? 0 > 0)
    let text = try await world.succeed("status")
    expect(text.hasPrefix("\(world.namespace)  ok  "))
    expect(text.contains("workers    1 live  version 0.1.0") && text.contains("\nada "))

    try await world.server.command("lpush", "{\(world.namespace)}:campaigns", "no job")
    var dead = try await world.run("status")
    try await poll(until: "the job is dead") {
      dead = try await world.run("status")
      return dead.exit != .status(0)
    }
    expect(dead.exit, is: .status(1))
    expect(
      dead.standardOutput.contains(
        "  ! 1 jobs or events could not be run\n    check the reasons with carillon dead list"))
    expect(await worker.terminate(), is: .status(0))
  }

  @Test func redisOutOfReachIs69() async throws {
    let world = try await CarillonWorld(url: "redis://127.0.0.1:1/0")
    let output = try await world.run("status", "--json")
    expect(output.exit == .status(69) && output.standardOutput.isEmpty)
    expect(try JSONObject(output.standardError).object("error")?.text("code"), is: "unreachable")
  }

  /// Text that other programs wrote to Redis must not control the terminal.
  @Test func namesFromRedisAreHarmless() async throws {
    let world = try await CarillonWorld()
    try await world.succeed("segment", "list")
    try await world.server.command("zadd", "{\(world.namespace)}:workers", "1", "evil\u{1B}[2J")
    let output = try await world.run("status")
    expect(output.exit == .status(1) && !output.standardOutput.contains("\u{1B}"))
  }
}
