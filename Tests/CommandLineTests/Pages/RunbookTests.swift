import Foundation
import TestKit
import TestSupport
import Testing

/// The commands of the runbook and of the page about campaigns that do not send. They run in one world with a campaign
/// that paused itself and an entry of the dead list.
struct RunbookTests {
  /// Commands that only read. They run at the same time.
  private static let reading = [
    "campaign list", "campaign show", "dead list", "dead show", "doctor", "quarantine list", "results export", "status",
    "store check",
  ]
  /// Commands that change something, in the order in which they run, with their exit status in this world. Nothing
  /// waits for approval here, and the job on the dead list stays invalid.
  private static let acting: [(command: String, status: Int32)] = [
    ("campaign approve", 1), ("campaign resume ID", 0),
    ("quarantine release", 0), ("quarantine purge", 0), ("dead retry", 1), ("dead drop", 0), ("campaign cancel", 0),
  ]
  /// Commands that need a person at a terminal, a file, or a long time. `PageCommandTests` parses them.
  private static let unattended = ["lint", "quarantine probe", "send", "store repartition"]

  private func commands() throws -> [String] {
    let pages = try ["runbook", "campaigns"].map { try Pages.text(of: "deploy/operations/\($0).md") }
    return Set(pages.flatMap { PageCommand.all(in: $0).map(\.arguments) }).map { $0.joined(separator: " ") }.sorted()
  }

  @Test func everyCommandOfTheRunbookIsClassified() throws {
    let known = Self.reading + Self.acting.map(\.command) + Self.unattended
    for command in try commands() { expect(known.contains { command.hasPrefix($0) }, "\(command)") }
  }

  /// With the curl engine, `doctor` exits with 1 on a machine with libcurl 7.
  @Test func commandsOfTheRunbookWork() async throws {
    var world = try await CarillonWorld(engine: "native", server: try await RedisServer.start())
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(20)
    try await simulator.load(tokens.map { #"{"token":"\#($0)","state":"bad"}"# })
    world.environment["CARILLON_GUARD_MINIMUM"] = "5"
    try await world.server.command("lpush", "{\(world.namespace)}:campaigns", "{broken")
    try await world.submit("wrong")
    let worker = try await world.start("worker")
    // The command ends when the campaign has paused itself. The worker has already taken the broken job from the queue.
    expect(try await world.run("campaign", "watch", "wrong").exit, is: .status(1))
    let dead = try JSONObject.all(in: await world.succeed("dead", "list", "--json"))
    let key = try #require(dead.first?.text("key"))

    worker.send(signal: SIGTERM)
    expect(await worker.waitForExit(), is: .status(0))

    let values = ["ID": "wrong", "KEY": key, "NAME": "grace", "APP": "news"]
    let environment = world.environment
    let run = { @Sendable (command: String) in
      let arguments = command.split(separator: " ").map { values[String($0)] ?? String($0) }
      return try await CarillonCommand.run(arguments, environment: environment)
    }
    let all = try commands()
    let acting = Self.acting.map { verb in all.filter { $0.hasPrefix(verb.command) } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for command in all where starts(command, Self.reading) && !acting.joined().contains(command) {
        group.addTask {
          let output = try await run(command)
          // Alarms are open in this world, which `status` reports by 1.
          expect(
            output.exit, is: .status(command == "status" ? 1 : 0),
            "\(command): \(output.standardOutput)\(output.standardError)")
        }
      }
      try await group.waitForAll()
    }
    for (verb, commands) in zip(Self.acting, acting) {
      expect(!commands.isEmpty, "the runbook has no command \(verb.command)")
      for command in commands {
        let output = try await run(command)
        expect(output.exit, is: .status(verb.status), "\(command): \(output.standardError)")
      }
    }
    expect(try await world.show("wrong").text("state"), is: "cancelled")
    expect(try await world.succeed("dead", "list", "--json"), is: "[]\n")
  }

  private func starts(_ command: String, _ prefixes: [String]) -> Bool { prefixes.contains { command.hasPrefix($0) } }
}
