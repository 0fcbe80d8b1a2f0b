import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct SegmentTests {
  @Test func segmentsAreImportedCountedListedExportedAndRemoved() async throws {
    let world = try await CarillonWorld(devices: 10)
    try await world.succeed("segment", "import", "vip", "-", input: "u1\r\nu2\r\n\r\nu3\r\n")
    try await world.succeed("segment", "import", "vip", "-", input: "u3\nu4")
    let report = try JSONObject(
      await world.succeed("segment", "import", "churned", "-", "--json", input: "u4\nghost\n"))
    expect(report.names, is: ["rows", "imported", "skipped", "known", "errors"])
    expect(report.numbers, is: ["rows": 2, "imported": 2, "skipped": 0, "known": 1])

    let count = try JSONObject(await world.succeed("segment", "count", "vip&!churned", "--json"))
    expect(count.names, is: ["expression", "users", "devices"])
    expect(count.text("expression"), is: "vip & !churned")
    expect(count.number("users") == 3 && count.number("devices") == 3)
    expect(try await world.succeed("segment", "count", "*"), is: "10 users, 10 devices\n")

    let list = try JSONObject.all(in: await world.succeed("segment", "list", "--json"))
    expect(list.map { $0.text("segment") }, is: ["churned", "vip"])
    expect(list.map { $0.number("users") }, is: [2, 4])
    let members = try await world.succeed("segment", "export", "vip & !churned")
    expect(members.split(separator: "\n").sorted(), is: ["u1", "u2", "u3"])

    let shorter = try await world.run("segment", "import", "vip", "-", "--replace", input: "u9\n")
    expect(shorter.exit == .status(65) && shorter.standardError.contains("has 1 user; the list in use has 4"))
    try await world.succeed("segment", "import", "vip", "-", "--replace", "--allow-shrink", input: "u9\n")
    expect(try await world.succeed("segment", "export", "vip"), is: "u9\n")
    try await world.succeed("segment", "remove", "vip")
    let gone = try await world.run("segment", "remove", "vip")
    expect(gone.exit == .status(1) && gone.standardError.contains("there is no segment 'vip'"))
  }

  @Test func conditionCountsTheDevicesForWhichItHolds() async throws {
    let world = try await CarillonWorld()
    let rows = (0..<10).map {
      #"{"user":"u\#($0)","token":"\#(CarillonWorld.token($0))","locale":"\#($0 < 4 ? "en-US" : "de")","level":\#($0)}"#
    }
    try await world.succeed("devices", "import", "-", "--format", "ndjson", input: rows.joined(separator: "\n"))
    let count = try JSONObject(
      await world.succeed("segment", "count", "*", "--where", "locale = 'en' & level > 0", "--json"))
    expect(count.names, is: ["expression", "where", "users", "devices"])
    expect(count.number("users") == 3 && count.number("devices") == 3)
    expect(count.text("where"), is: "locale = 'en' & level > 0")
    let wrong = try await world.run("segment", "count", "*", "--where", "locale > 'en'")
    expect(wrong.exit == .status(65) && wrong.standardError.contains("--where, column 10: this field has no order"))
    let job = try await world.run(
      "campaign", "submit", "-",
      input: CarillonWorld.job("a", audience: #"{"segment":"*","where":"appVersoin > '5'"}"#))
    expect(job.exit == .status(65) && job.standardError.contains("audience.where: column 1"))
    expect(job.standardError.contains("did you mean 'appVersion'?"))
  }

  @Test func segmentsAreDefinedCountedListedAndRemoved() async throws {
    let world = try await CarillonWorld(devices: 10)
    try await world.succeed("segment", "import", "vip", "-", input: "u1\nu2\nu3\nghost\n")
    let text = try await world.succeed("segment", "define", "others", "!vip", "--where", "registeredAt < 3650d")
    expect(text, is: "defined others as !vip, where registeredAt < 3650d\n")
    try await world.succeed("segment", "define", "all", "vip | others")
    let count = try JSONObject(await world.succeed("segment", "count", "all & !vip", "--json"))
    let plain = try JSONObject(
      await world.succeed("segment", "count", "!vip", "--where", "registeredAt < 3650d", "--json"))
    expect(count.number("users"), is: plain.number("users"))
    let list = try await world.succeed("segment", "list")
    expect(
      list,
      is: """
        segment  users  definition
        all      –      vip | others
        others   –      !vip, where registeredAt < 3650d
        vip      4

        """)
    let objects = try JSONObject.all(in: await world.succeed("segment", "list", "--json"))
    expect(objects.map(\.names), is: [["segment", "definition"], ["segment", "definition"], ["segment", "users"]])
    for (arguments, says) in [
      (["define", "others", "all"], "it would contain itself: all → others → all"),
      (["define", "vip", "*"], "'vip' already exists as a segment"), (["define", "x", "vpi"], "did you mean vip?"),
      (["define", "x", "*", "--where", "locale > 'a'"], "--where, column 10"),
      (["define", "a b", "*"], "'a b' is not a valid segment name"), (["add", "others", "u1"], "is defined as !vip"),
      (["import", "all", "-"], "is defined as vip | others"),
      (["remove", "others"], "definitions use the segment 'others': all"),
    ] {
      let output = try await CarillonCommand.run(["segment"] + arguments, environment: world.environment)
      expect(output.exit == .status(65) && output.standardError.contains(says), "\(output.standardError)")
    }
    try await world.succeed("segment", "remove", "all")
    expect(try await world.succeed("segment", "remove", "others"), is: "removed others\n")
    expect(try await world.succeed("segment", "list"), is: "segment  users\nvip      4\n")
  }

  @Test func segmentOfAnEmptyFileExists() async throws {
    let world = try await CarillonWorld(devices: 2)
    try await world.succeed("segment", "import", "optedout", "-")
    expect(try await world.succeed("segment", "count", "!optedout"), is: "2 users, 2 devices\n")
  }

  @Test func badLinesAreReportedAndTheGoodOnesAreIn() async throws {
    let world = try await CarillonWorld()
    let long = String(repeating: "x", count: 257)
    let file = try world.folder.write("vip.txt", "\u{FEFF}u1\n\(long)\nu\u{7}2\n\(long)\(long)\nu3\n")
    let output = try await world.run("segment", "import", "vip", file)
    expect(output.exit, is: .status(65))
    expect(
      output.standardOutput.hasSuffix("vip.txt: 5 rows, 2 imported, 2 of them without a device, 3 bad rows skipped\n"))
    expect(output.standardError.contains("vip.txt:2: a user id has at most 256 bytes, this one has 257"))
    expect(output.standardError.contains("vip.txt:3: a user id must not have control characters"))
    expect(output.standardError.contains("vip.txt:4: a user id has at most 256 bytes, this one has 514"))
    expect(try await world.succeed("segment", "export", "vip").split(separator: "\n").sorted(), is: ["u1", "u3"])
  }

  @Test func fileIsReadAsCSVOfOneColumn() async throws {
    let world = try await CarillonWorld(devices: 4)
    let file = try world.folder.write("optedout.csv", "user\n\"u0\"\n  u1  \n\"a,b\"\n")
    let text = try await world.succeed("segment", "import", "optedout", file)
    expect(text.hasSuffix("optedout.csv: 3 rows, 3 imported, 1 of them without a device\n"))
    let members = try await world.succeed("segment", "export", "optedout").split(separator: "\n").sorted()
    expect(members, is: ["\"a,b\"", "u0", "u1"])
    let two = try await world.run("segment", "import", "optedout", "-", input: "u2,u3\n")
    expect(two.exit == .status(65) && two.standardError.contains(":1: has 2 columns"))
    expect(try await world.succeed("segment", "count", "* & !optedout"), is: "2 users, 2 devices\n")
  }

  @Test func replacedSegmentIsInForceUntilTheFileHasBeenRead() async throws {
    let world = try await CarillonWorld(devices: 6)
    try await world.succeed("segment", "import", "optedout", "-", input: "u0\nu1\nu2\n")
    // A user on a bad line would disappear from the segment, and a campaign would then reach this user.
    let bad = try await world.run("segment", "import", "optedout", "-", "--replace", input: "u3\nu4,u5\n")
    expect(bad.exit == .status(65) && bad.standardError.contains("nothing was replaced"))
    expect(try await world.succeed("segment", "count", "optedout"), is: "3 users, 3 devices\n")
    try await world.succeed("segment", "import", "optedout", "-", "--replace", input: "u2\nu3\n")
    let members = try await world.succeed("segment", "export", "optedout").split(separator: "\n").sorted()
    expect(members, is: ["u2", "u3"])
    let empty = try await world.run("segment", "import", "optedout", "-", "--replace")
    expect(empty.exit, is: .status(65))
    expect(empty.standardError.contains("has no user; the list in use has 2; nothing was"))
    expect(try await world.succeed("segment", "count", "optedout"), is: "2 users, 2 devices\n")
    try await world.succeed("segment", "import", "optedout", "-", "--replace", "--allow-shrink")
    expect(try await world.succeed("segment", "count", "optedout"), is: "0 users, 0 devices\n")
  }

  @Test func singleUsersAreAddedAndRemoved() async throws {
    let world = try await CarillonWorld(devices: 3)
    expect(
      try await world.succeed("segment", "add", "vip", "u0", "u1", "ghost"), is: "added 3 to vip, 1 without a device\n")
    expect(try await world.succeed("segment", "remove-users", "vip", "u0", "u2"), is: "removed 1 from vip\n")
    let members = try await world.succeed("segment", "export", "vip").split(separator: "\n").sorted()
    expect(members, is: ["ghost", "u1"])
    let none = try await world.run("segment", "remove-users", "vip", "u0")
    expect(none.exit, is: .status(1))
    let unknown = try await world.run("segment", "remove-users", "vipp", "u0")
    expect(unknown.exit == .status(1) && unknown.standardError.contains("did you mean 'vip'?"))
  }

  @Test(arguments: [
    (["count", "vip & (sports"], "the expression, column 14:"), (["count", "vipp"], "there is no segment 'vipp'"),
    (["export", "!"], "the expression, column 2:"), (["import", "v i p", "-"], "'v i p' is not a valid segment name"),
  ])
  func wrongInputIsRefusedWithItsPlace(arguments: [String], says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(["segment"] + arguments, environment: world.environment)
    expect(output.exit, is: .status(65))
    expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
