import Foundation
import TestKit
import TestSupport
import Testing

/// Resuming an import that stopped before the end of its file.
@Suite(.takesTurns) struct ImportResumeTests {
  private static let rows = 15_000

  /// Writes a file of `rows` users with one device each and two bad lines: the first row and the last row.
  private func file(in world: CarillonWorld, rows: Int = Self.rows) throws -> String {
    let good = (0..<rows).map { "u\($0),\(CarillonWorld.token($0)),2026-01-01T00:00:00Z,\($0 == 0 ? "PST" : "")\n" }
    return try world.folder.write(
      "devices.csv", "user,token,registeredAt,timezone\nbad,zz,,\n" + good.joined() + "bad,zz,,\n")
  }

  @Test func killedImportContinuesAtItsPosition() async throws {
    let world = try await CarillonWorld()
    let file = try file(in: world)
    // The command kills itself in the middle of its work.
    let killed = try await world.start(
      ["devices", "import", file, "--json"], environment: ["CARILLON_FAULT_STEP": "10"])
    expect(await killed.waitForExit(), is: .signal(SIGKILL))
    try #require(try await !world.server.command("keys", "{\(world.namespace)}:import:*").isEmpty)
    let output = try await world.run("devices", "import", file, "--resume")
    output.expect(exit: 65, saying: "devices.csv: resuming at line ")
    // The killed run reported the first bad line.
    expect(!output.standardError.contains("devices.csv:2:"))
    expect(output.standardError.contains("devices.csv:\(Self.rows + 3): token: "))
    expect(
      output.standardOutput.hasSuffix(
        "devices.csv: 15,002 rows, 15,000 imported, 2 bad rows skipped, 1 stored without a time zone\n"))
    let users = try await world.succeed("devices", "export", "--format", "csv").split(whereSeparator: \.isNewline)
      .dropFirst()
    expect(Set(users.map { $0.prefix { $0 != "," } }).count, is: Self.rows)
    // No position remains in Redis.
    let again = try await world.server.command("keys", "{\(world.namespace)}:import:*")
    expect(again.isEmpty)
  }

  @Test func interruptedImportNamesTheCommandToContinue() async throws {
    let world = try await CarillonWorld(server: RedisServer.start())
    let file = try file(in: world)
    // The first command creates the store. After that, the import begins with reads, and the server executes none of
    // its writes until it has its signal.
    try await world.succeed("segment", "import", "readers", "-", input: "u0\n")
    try await world.server.command("client", "pause", "600000", "write")
    let import_ = try await world.start("devices", "import", file)
    try await poll(until: "the import catches SIGINT") { import_.catches(SIGINT) || import_.exit != nil }
    import_.send(signal: SIGINT)
    try await world.server.command("client", "unpause")
    let hint = try #require(await import_.errorLine(containing: "--resume"))
    expect(hint.contains("continue with: carillon devices import \(file) --resume"))
    expect(hint.contains(" rows are imported"))
    expect(await import_.waitForExit(), is: .status(1))
    let report = try JSONObject(try await world.run("devices", "import", file, "--resume", "--json").standardOutput)
    expect(
      report.numbers,
      is: [
        "rows": Self.rows + 2, "imported": Self.rows, "skipped": 2, "outdated": 0, "withoutTimezone": 1,
      ])
  }

  @Test func importWithoutAPositionStartsAtTheBeginning() async throws {
    let world = try await CarillonWorld()
    let file = try file(in: world, rows: 3)
    let output = try await world.run("devices", "import", file, "--resume")
    expect(
      output.standardError.contains(
        "devices.csv: no interrupted import of this file is known; starting at the first row"))
    expect(
      output.standardOutput.hasSuffix(
        "devices.csv: 5 rows, 3 imported, 2 bad rows skipped, 1 stored without a time zone\n"))
  }

  @Test func standardInputCannotBeResumed() async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("devices", "import", "-", "--format", "csv", "--resume", input: "user,token\n")
    output.expect(exit: 64, saying: "--resume can't be used with standard input")
  }

  @Test func boundOfDevicesHoldsForImportAndRegister() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_REDIS_DEVICES_PER_USER"] = "2"
    let rows = (1...4).map { "ada,\(CarillonWorld.token($0)),202\($0)-01-01T00:00:00Z\n" }
    let output = try await world.succeed(
      "devices", "import", "-", "--format", "csv", "--json", input: "user,token,lastSeen\n" + rows.joined())
    expect(try JSONObject(output).numbers, is: ["rows": 4, "imported": 4, "skipped": 0, "outdated": 0, "evicted": 2])
    try await world.succeed("devices", "register", "--user", "ada", "--token", CarillonWorld.token(5))
    let ada = try JSONObject(await world.succeed("devices", "show", "ada", "--json"))
    expect(ada.objects("devices")?.map { $0.text("token") }, is: [4, 5].map(CarillonWorld.token))
  }
}
