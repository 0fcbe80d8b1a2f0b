import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct DevicesTests {
  private let token = CarillonWorld.token(1)

  @Test func importReportsBadRowsAndTakesTheGoodOnes() async throws {
    let world = try await CarillonWorld()
    let file = try world.folder.write(
      "devices.csv",
      """
      user,token,app,locale,registeredAt,name
      ada,\(token),news,de,2026-01-01T00:00:00Z,Ada
      ben,nonsense,news,de,,
      cleo,\(CarillonWorld.token(2)),news,en,yesterday,
      dora,\(CarillonWorld.token(3))
      emil,\(CarillonWorld.token(4)),news,en,1767225600000,"Emil, the ""second"" one"

      """)
    let output = try await world.run("devices", "import", file, "--json")
    expect(output.exit, is: .status(65))
    expect(output.standardError, is: "")
    let report = try JSONObject(output.standardOutput)
    expect(report.names, is: ["rows", "imported", "skipped", "outdated", "errors"])
    expect(report.numbers, is: ["rows": 5, "imported": 2, "skipped": 3, "outdated": 0])
    expect(report.objects("errors")?.map { $0.number("line") }, is: [3, 4, 5])
    expect(report.objects("errors")?.first?.text("message"), is: "token: not hex of 1 to 200 bytes")

    let people = try await world.run("devices", "import", file)
    expect(people.exit, is: .status(65))
    expect(people.standardError.contains("devices.csv:3: token: not hex of 1 to 200 bytes\n"))
    expect(people.standardError.contains("devices.csv:4: registeredAt: 'yesterday' is neither"))
    expect(people.standardOutput.hasSuffix("devices.csv: 5 rows, 2 imported, 3 bad rows skipped\n"))

    let emil = try JSONObject(await world.succeed("devices", "show", "emil", "--json"))
    expect(emil.object("attributes")?.text("name"), is: #"Emil, the "second" one"#)
    expect(emil.objects("devices")?.first?.text("registeredAt"), is: "2026-01-01T00:00:00.000Z")
  }

  @Test func tokensHaveAServiceAndAKind() async throws {
    let world = try await CarillonWorld()
    let rows = """
      user,token,service,kind
      ada,\(token),apns,voip
      ben,\(CarillonWorld.token(2)),,
      cleo,\(CarillonWorld.token(3)),pigeon,
      dora,\(CarillonWorld.token(4)),,carrier

      """
    let output = try await world.run("devices", "import", "-", "--format", "csv", "--json", input: rows)
    expect(output.exit, is: .status(65))
    let errors = try #require(try JSONObject(output.standardOutput).objects("errors")).map { $0.text("message") ?? "" }
    expect(errors[0], is: "service: 'pigeon' is not one of apns, fcm")
    expect(errors[1].hasPrefix("kind: 'carrier' is not one of alert, voip, complication"))
    try await world.succeed(
      "devices", "register", "--user", "emil", "--token", CarillonWorld.token(5), "--kind", "liveactivity-start")
    let exported = try await world.succeed("devices", "export", "--format", "ndjson")
    let devices = try exported.split(separator: "\n").map { try JSONObject(String($0)) }
    expect(
      Dictionary(uniqueKeysWithValues: devices.map { ($0.text("user") ?? "", $0.text("kind") ?? "") }),
      is: ["ada": "voip", "ben": "alert", "emil": "liveactivity-start"])
    expect(devices.allSatisfy { $0.text("service") == "apns" })
    let ada = try JSONObject(await world.succeed("devices", "show", "ada", "--json"))
    expect(ada.objects("devices")?.first?.text("kind"), is: "voip")
    expect(ada.objects("devices")?.first?.text("service"), is: "apns")
    let wrong = try await world.run("devices", "unregister", "--token", token, "--service", "apms")
    expect(wrong.exit == .status(65) && wrong.standardError.contains("did you mean 'apns'?"))
  }

  @Test func importTakesNDJSONFromStandardInput() async throws {
    let world = try await CarillonWorld()
    let row = #"{"user":"ada","token":"\#(token)","timezone":"Europe/Berlin","age":41}"# + "\n"
    let unclear = try await world.run("devices", "import", "-", input: row)
    unclear.expect(exit: 64, saying: "--format csv or --format ndjson")
    let report = try JSONObject(
      await world.succeed("devices", "import", "-", "--format", "ndjson", "--app", "news", "--json", input: row))
    expect(report.number("imported"), is: 1)
    let user = try JSONObject(await world.succeed("devices", "show", "ada", "--json"))
    expect(user.object("attributes")?.text("age"), is: "41")
    expect(user.objects("devices")?.first?.text("app"), is: "news")
  }

  @Test(arguments: [
    ("", "the file is empty"), ("user,tokn\n", "the header has no column 'token'"),
    ("user,token,user\n", "two columns are named 'user'"),
  ])
  func fileWithoutAHeaderIsRefused(text: String, says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("devices", "import", "-", "--format", "csv", input: text)
    output.expect(exit: 65, saying: says, "the first line names the columns")
  }

  @Test func unreadableImportIsAnError() async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("devices", "import", "/nowhere.csv", "--json")
    expect(output.exit, is: .status(65))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    expect(error.names, is: ["code", "message", "hint"])
    expect(error.text("code"), is: "input")
    expect(error.text("message"), is: "/nowhere.csv: No such file or directory")
  }

  @Test func tokenBelongsToTheLastUserOfAFile() async throws {
    let world = try await CarillonWorld(partitions: 16)
    // One token has enough owners that it moves between partitions several times within one batch.
    let rows = (0..<20).map { "u\($0),\(token)\n" }
    try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user,token\n" + rows.joined())
    let export = try await world.succeed("devices", "export", "--format", "ndjson")
    expect(try JSONObject.all(in: export).map { $0.text("user") }, is: ["u19"])
  }

  @Test func olderRowNeverUndoesANewerRegistration() async throws {
    let world = try await CarillonWorld()
    try await world.succeed("devices", "register", "--user", "ada", "--token", token)
    let report = try JSONObject(
      await world.succeed(
        "devices", "import", "-", "--format", "csv", "--json",
        input: "user,token,registeredAt\nben,\(token),1000000001000\n"))
    expect(report.numbers, is: ["rows": 1, "imported": 0, "skipped": 0, "outdated": 1])
    let late = try await world.run(
      "devices", "register", "--user", "ben", "--token", token, "--registered-at", "1000000001000")
    late.expect(exit: 1, saying: "the token has a newer registration, for 'ada'")
  }

  @Test(arguments: ["csv", "ndjson"])
  func exportIsWhatImportReads(format: String) async throws {
    let world = try await CarillonWorld()
    try await world.succeed(
      "devices", "import", "-", "--format", "csv",
      input: """
        user,token,app,environment,locale,timezone,appVersion,osVersion,registeredAt,lastSeen,name,plan
        ada,\(token),news,sandbox,de,Europe/Berlin,5.2,18.1,2026-01-01T00:00:00.000Z,2026-02-01T00:00:00.000Z,"A, b",
        ben,\(CarillonWorld.token(2)),,,,,,,,,,gold

        """)
    let export = try await world.succeed("devices", "export", "--format", format)
    let other = try await CarillonWorld()
    try await other.succeed("devices", "import", "-", "--format", format, input: export)
    let lines = { (text: String) in text.split(whereSeparator: \.isNewline).sorted() }
    expect(lines(try await other.succeed("devices", "export", "--format", format)), is: lines(export))
    expect(lines(export).count, is: format == "csv" ? 3 : 2)
    expect(export.contains("Europe/Berlin") && export.contains("gold"))
  }

  @Test func deviceIsRegisteredShownMovedAndUnregistered() async throws {
    let world = try await CarillonWorld()
    let registered = try JSONObject(
      await world.succeed(
        "devices", "register", "--user", "ada", "--token", "<\(token.uppercased())>", "--app", "news", "--locale", "de",
        "--attribute", "name=Ada", "--attribute", "motto=a=b", "--json"))
    expect(registered.text("token"), is: token)
    expect(registered.text("registeredAt")?.hasSuffix("Z"), is: true)
    try await world.succeed("segment", "import", "vip", "-", input: "ada\n")

    let ada = try JSONObject(await world.succeed("devices", "show", "ada", "--json"))
    expect(ada.names, is: ["user", "attributes", "segments", "suppression", "devices"])
    expect(ada.texts("segments"), is: ["vip"])
    expect(ada.object("attributes")?.text("motto"), is: "a=b")
    let device = try #require(ada.objects("devices")?.first)
    expect(
      device.names.isSuperset(of: ["token", "app", "environment", "locale", "timezone", "registeredAt", "lastSeen"]))
    expect(device.text("app") == "news" && device.text("locale") == "de" && device.isNull("timezone"))
    expect(try await world.succeed("devices", "show", "ada").contains("  locale        de\n"))

    try await world.succeed("devices", "register", "--user", "ben", "--token", token)
    expect(
      try JSONObject(await world.succeed("devices", "show", "ada", "--json")).objects("devices")?.isEmpty, is: true)
    try await world.succeed("devices", "unregister", "--token", token)
    let gone = try await world.run("devices", "unregister", "--token", token)
    expect(gone.exit == .status(1) && gone.standardError.contains("no device has the token \(token)"))
    let unknown = try await world.run("devices", "show", "ben")
    expect(unknown.exit == .status(1) && unknown.standardError.contains("there is no user 'ben'"))
  }

  @Test(arguments: [
    (["--user", "ada", "--token", "xyz"], 65, "token: not hex"),
    (["--user", "ada", "--token", "00", "--app", "nws"], 65, "no app 'nws' in the configuration"),
    (["--user", "ada", "--token", "00", "--environment", "prod"], 65, "neither production nor sandbox"),
    (["--user", "ada", "--token", "00", "--attribute", "name"], 64, "name=value"),
    (["--user", "a\nb", "--token", "00"], 65, "control characters"),
  ])
  func wrongRegistrationIsRefused(options: [String], status: Int32, says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(["devices", "register"] + options, environment: world.environment)
    expect(output.exit, is: .status(status))
    expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
