import TestSupport
import Testing

struct SegmentTests {
  @Test func segmentsAreImportedCountedListedExportedAndRemoved() async throws {
    let world = try await CarillonWorld()
    try await world.importDevices(10)
    try await world.succeed("segment", "import", "vip", "-", input: "u1\r\nu2\r\n\r\nu3\r\n")
    try await world.succeed("segment", "import", "vip", "-", input: "u3\nu4")
    let report = try JSONObject(
      await world.succeed("segment", "import", "churned", "-", "--json", input: "u4\nghost\n"))
    #expect(report.names == ["rows", "imported", "skipped", "errors"])
    #expect(report.numbers == ["rows": 2, "imported": 2, "skipped": 0])

    let count = try JSONObject(await world.succeed("segment", "count", "vip&!churned", "--json"))
    #expect(count.names == ["expression", "users", "devices"])
    #expect(count.text("expression") == "vip & !churned")
    #expect(count.number("users") == 3 && count.number("devices") == 3)
    #expect(try await world.succeed("segment", "count", "*") == "10 users, 10 devices\n")

    let list = try JSONObject.all(in: await world.succeed("segment", "list", "--json"))
    #expect(list.map { $0.text("segment") } == ["churned", "vip"])
    #expect(list.map { $0.number("users") } == [2, 4])
    let members = try await world.succeed("segment", "export", "vip & !churned")
    #expect(members.split(separator: "\n").sorted() == ["u1", "u2", "u3"])

    try await world.succeed("segment", "import", "vip", "-", "--replace", input: "u9\n")
    #expect(try await world.succeed("segment", "export", "vip") == "u9\n")
    try await world.succeed("segment", "remove", "vip")
    let gone = try await world.run("segment", "remove", "vip")
    #expect(gone.exit == .status(1) && gone.standardError.contains("there is no segment 'vip'"))
  }

  @Test func segmentOfAnEmptyFileExists() async throws {
    let world = try await CarillonWorld()
    try await world.importDevices(2)
    try await world.succeed("segment", "import", "optedout", "-")
    #expect(try await world.succeed("segment", "count", "!optedout") == "2 users, 2 devices\n")
  }

  @Test func badLinesAreReportedAndTheGoodOnesAreIn() async throws {
    let world = try await CarillonWorld()
    let long = String(repeating: "x", count: 257)
    let file = try world.folder.write("vip.txt", "\u{FEFF}u1\n\(long)\nu\u{7}2\n\(long)\(long)\nu3\n")
    let output = try await world.run("segment", "import", "vip", file)
    #expect(output.exit == .status(65))
    #expect(output.standardOutput.hasSuffix("vip.txt: 5 rows, 2 imported, 3 bad ones skipped\n"))
    #expect(output.standardError.contains("vip.txt:2: longer than 256 bytes"))
    #expect(output.standardError.contains("vip.txt:3: a user id must not have control characters"))
    #expect(output.standardError.contains("vip.txt:4: longer than 256 bytes"))
    #expect(try await world.succeed("segment", "export", "vip").split(separator: "\n").sorted() == ["u1", "u3"])
  }

  @Test(arguments: [
    (["count", "vip & (sports"], "the expression, column 14:"), (["count", "vipp"], "there is no segment 'vipp'"),
    (["export", "!"], "the expression, column 2:"), (["import", "v i p", "-"], "'v i p' can't name a segment"),
  ])
  func wrongInputIsRefusedWithItsPlace(arguments: [String], says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(["segment"] + arguments, environment: world.environment)
    #expect(output.exit == .status(65))
    #expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
