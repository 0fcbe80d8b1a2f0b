import Foundation
import TestKit
import TestSupport
import Testing

/// Follows `deploy/operations/restore.md`: copies Redis during a campaign, sends more pushes, kills all processes, and
/// starts the copy.
@Suite(.takesTurns) struct RestoreTests {
  enum Backup: String, CaseIterable {
    /// `redis-cli --rdb` from the running server.
    case snapshot
    /// The folder of the append-only files. It is copied while the server runs and does not rewrite the files.
    case appendOnlyFiles

    var arguments: [String] { self == .snapshot ? [] : ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"] }
  }

  private static let devices = 600

  private func accepted(_ campaign: JSONObject) -> Int { campaign.object("outcomes")?.number("accepted") ?? 0 }

  @Test(arguments: Backup.allCases) func restoredCopyContinuesAndLosesNoUser(backup: Backup) async throws {
    let before = try await RedisServer.start(arguments: backup.arguments)
    var world = try await CarillonWorld(engine: "native", server: before)
    // The campaign takes 30 s, so it outlasts the slower of the two backup methods also on a busy machine.
    world.environment["CARILLON_WORKER_WINDOW"] = "20"
    let simulator = try await world.startSimulator("--latency", "1s")
    try await world.importDevices(Self.devices)
    let worker = try await world.start("worker", "--name", "before", "--json")
    _ = try #require(await worker.errorLine(containing: #""event":"started""#))
    try await world.submit("rehearsal")
    try await world.until("rehearsal") { accepted($0) >= 100 }

    let copy = try ScratchFolder("backup")
    try await take(backup, of: before, into: copy)
    // The copy has no data about pushes after this point.
    try await world.until("rehearsal") { accepted($0) >= 200 }
    worker.send(signal: SIGKILL)
    await worker.waitForExit()
    await before.kill(SIGKILL)
    let sent = try #require(try await simulator.counters().number("received"))

    let after = try await RedisServer.start(
      arguments: backup.arguments + ["--dir", copy.url.path, "--dbfilename", "dump.rdb"])
    world.environment["CARILLON_REDIS_URL"] = after.url
    let interim = try await world.show("rehearsal")
    expect(interim.text("state"), is: "active")
    expect((100..<Self.devices).contains(accepted(interim)), "\(interim)")
    try await simulator.setLatency(milliseconds: 0)
    try await world.drain("after")

    let campaign = try await world.show("rehearsal")
    expect(campaign.text("state"), is: "completed")
    expect(campaign.object("outcomes")?.numbers, is: ["accepted": Self.devices])
    let counters = try await simulator.counters()
    let duplicates = try #require(counters.number("duplicates"))
    // Every user gets the push. Only pushes that the copy does not contain were sent twice.
    expect(try #require(counters.number("accepted")) - duplicates, is: Self.devices)
    expect(duplicates <= sent - accepted(interim), "\(sent) sent, \(accepted(interim)) known to the copy")
    let check = try await world.run("store", "check")
    expect(check.exit, is: .status(0), "\(check.standardOutput)\(check.standardError)")
  }

  private func take(_ backup: Backup, of server: RedisServer, into folder: ScratchFolder) async throws {
    let output =
      switch backup {
      case .snapshot:
        try await ChildProcess.run(
          "redis-cli", ["-p", String(server.port), "--rdb", folder.path("dump.rdb")])
      case .appendOnlyFiles:
        try await ChildProcess.run(
          "cp", ["--recursive", server.folder.path("appendonlydir"), folder.path("appendonlydir")])
      }
    try #require(output.exit == .status(0), "\(output.standardError)")
  }
}
