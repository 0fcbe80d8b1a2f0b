import TestKit
import TestSupport
import Testing

/// `devices import --from`. `PushCoreTests/ForeignImportTests` tests how the files are read.
struct ForeignImportCommandTests {
  private static let token = CarillonWorld.token(1)
  private static let export = """
    id,identifier,device_type,language,tags,external_user_id,favourite
    6a1f,\(token),0,en,"{""plan"":""gold""}",ada,jazz
    6a2f,APA91b,1,en,,ben,
    6a3f,\(CarillonWorld.token(2)),0,klingon!,,cleo,
    6a4f,nonsense,0,en,,dora,

    """

  @Test func dryRunShowsTheMappingAndNeedsNoRedis() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_REDIS_URL"] = "redis://127.0.0.1:1/0"
    let file = try world.folder.write("users.csv", Self.export)
    let output = try await world.run("devices", "import", file, "--from", "onesignal", "--app", "news", "--dry-run")
    expect(output.exit, is: .status(65))
    expect(output.standardError, is: "\(file):5: token: not hex of 1 to 200 bytes\n")
    let lines = output.standardOutput.split(separator: "\n").map(String.init)
    expect(lines.contains("identifier        token"), "\(output.standardOutput)")
    expect(lines.contains("id                user, if no other column has it, as onesignal:…"))
    expect(lines.contains("favourite         UNKNOWN, omitted"))
    expect(
      lines.contains {
        $0.hasPrefix(#"{"user":"ada","token":"\#(Self.token)","service":"apns","kind":"alert","app":"news""#)
      })
    let counts = try #require(lines.first { $0.hasPrefix(file) })
    expect(counts.hasSuffix(": 3 rows, 2 imported, 1 bad row skipped, 1 omitted: Android"))
    expect(lines.contains("language: 1 values are omitted, such as klingon!"))
    expect(lines.last, is: "dry run: nothing was stored")

    let json = try await world.run("devices", "import", file, "--from", "onesignal", "--dry-run", "--json")
    let report = try JSONObject(json.standardOutput)
    expect(report.number("devices") == 2 && report.object("leftOut")?.numbers == ["Android": 1])
    expect(report.objects("columns")?.count == 7 && report.objects("first")?.count == 2)
    let column = try #require(report.objects("columns")?.first { $0.text("name") == "identifier" })
    expect(column.text("becomes"), is: "token")
  }

  @Test func importTakesUsableRowsAndReportsTheOthers() async throws {
    let world = try await CarillonWorld()
    let file = try world.folder.write("users.csv", Self.export)
    let output = try await world.run(
      "devices", "import", file, "--from", "onesignal", "--app", "news", "--allow-attribute", "favourite", "--json")
    expect(output.exit, is: .status(65))
    let report = try JSONObject(output.standardOutput)
    expect(report.numbers, is: ["rows": 3, "imported": 2, "skipped": 1, "outdated": 0])
    expect(report.object("leftOut")?.numbers, is: ["Android": 1])
    expect(report.object("unusable")?.numbers, is: ["language": 1])
    let ada = try JSONObject(await world.succeed("devices", "show", "ada", "--json"))
    expect(ada.object("attributes")?.text("plan") == "gold" && ada.object("attributes")?.text("favourite") == "jazz")
    expect(ada.objects("devices")?.first?.text("app"), is: "news")
    let cleo = try JSONObject(await world.succeed("devices", "show", "cleo", "--json"))
    expect(cleo.objects("devices")?.count == 1 && cleo.objects("devices")?.first?.text("locale") == nil)
  }

  @Test func invalidOptionsAreReportedBeforeReading() async throws {
    let unknown = try await CarillonCommand.run(["devices", "import", "a.csv", "--from", "urbanairship"])
    unknown.expect(exit: 64, saying: "onesignal", "gorush")
    let both = try await CarillonCommand.run(["devices", "import", "a.csv", "--dry-run", "--resume"])
    both.expect(exit: 64, saying: "remove --resume")
  }
}
