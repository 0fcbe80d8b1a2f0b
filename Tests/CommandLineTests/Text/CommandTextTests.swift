import CommandSupport
import Foundation
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import carillon

/// Each command reads ids, names, times and time zones by the rules of `PastedTextTests`. The rows are commands.
struct CommandTextTests {
  private static let invisible = "\u{200B}ada"
  private static let token = CarillonWorld.token(1)
  /// A time in the future.
  private static let future = "2099-01-01T00:00:00Z"

  @Test func everyCommandRefusesTextThatCannotBeMeant() async throws {
    let world = try await CarillonWorld()
    let rows: [(arguments: [String], input: String, exit: Int32, says: String)] = [
      (["devices", "register", "--user", Self.invisible, "--token", Self.token], "", 65, "U+200B"),
      (["devices", "show", Self.invisible], "", 65, "U+200B"),
      (["users", "erase", Self.invisible, "--yes"], "", 65, "U+200B"),
      (["results", "show", "c", "--user", Self.invisible], "", 65, "U+200B"),
      (["segment", "add", "vip", Self.invisible], "", 65, "U+200B"),
      (["segment", "remove-users", "vip", Self.invisible], "", 65, "U+200B"),
      (["suppression", "add", "news", Self.invisible], "", 65, "U+200B"),
      (["suppression", "remove", "news", Self.invisible], "", 65, "U+200B"),
      (["campaign", "preview", "-", "--user", Self.invisible], CarillonWorld.job("c"), 65, "U+200B"),
      (
        ["devices", "register", "--user", "a", "--token", Self.token, "--registered-at", Self.future], "", 65,
        "more than a day ahead"
      ),
      (
        ["devices", "import", "-", "--format", "csv"], "user,token,lastSeen\na,\(Self.token),\(Self.future)\n", 65,
        "more than a day ahead"
      ),
      (["devices", "register", "--user", "a", "--token", Self.token, "--timezone", "PST"], "", 65, "abbreviation"),
      (
        ["devices", "import", "-", "--format", "csv"], "user,token,timezone\na,\(Self.token),PST\n", 65,
        "1 stored without a time zone"
      ),
      (
        ["suppression", "import", "news", "-", "--replace", "--as-of", Self.future], "a\n", 64, "more than a day ahead"
      ),
      (
        ["suppression", "import", "news", "-", "--as-of", "2026-01-01T00:00:00Z"], "a\n", 64, "--as-of needs --replace"
      ),
      (["suppression", "import", "news", "-", "--allow-shrink"], "a\n", 64, "--allow-shrink needs --replace"),
      // The command refuses an empty file even if the list is empty.
      (["suppression", "import", "news", "-", "--replace"], "", 65, "has no user"),
      (
        ["suppression", "import", "news", "-", "--replace", "--as-of", "2025-01-01T00:00:00Z"], "a\n", 65,
        "Carillon stores the times of opt-outs for only"
      ),
    ]
    for row in rows {
      let output = try await CarillonCommand.run(row.arguments, environment: world.environment, input: row.input)
      expect(output.exit, is: .status(row.exit), "\(row.arguments) \(output)")
      expect((output.standardError + output.standardOutput).contains(row.says), "\(row.arguments) \(output)")
    }
  }

  @Test func everyCommandReadsANameWithoutTheBlanksAroundIt() async throws {
    let world = try await CarillonWorld()
    try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user, token ,app\n ada,\(Self.token),news\n")
    try await world.succeed("segment", "add", " vip ", "ada ")
    expect(try await world.succeed("segment", "export", "vip"), is: "ada\n")
    try await world.succeed("segment", "remove-users", "\tvip", " ada")
    try await world.succeed("segment", "import", "vip ", "-", input: "ben\n")
    expect(try await world.succeed("segment", "export", "vip"), is: "ben\n")
    try await world.succeed("segment", "define", " rule ", "vip")
    try await world.succeed("segment", "remove", " rule")
    try await world.succeed("segment", "remove", "vip ")
    expect(try await world.succeed("segment", "list", "--json"), is: "[]\n")
  }

  /// No command prints a bidirectional control character of an id, a value or a reason to people. Exports that Carillon
  /// reads again keep it.
  @Test func textForPeopleHasNoBidirectionalControls() async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    let mark = "\u{202E}"
    let (user, city) = ("ad\(mark)a", "Os\(mark)lo")
    try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user,token,app,city\n\(user),\(Self.token),news,\(city)\n")
    try await world.server.command("LPUSH", "{\(world.namespace)}:campaigns", #"{"id":"dead","app":"ne\#(mark)ws"}"#)
    let job = CarillonWorld.job(
      "c", audience: #"{"users":["\#(user)"]}"#, more: #","submittedBy":"ev\#(mark)e","rate":1"#)
    try await world.succeed("campaign", "submit", "-", input: job)
    let tomorrow = Date.now.addingTimeInterval(86_400).formatted(.iso8601)
    try await world.submit("d", more: #","sendAt":"\#(tomorrow)""#)
    try await world.succeed("worker", "--drain")
    let rows: [(arguments: [String], input: String)] = [
      (["devices", "show", user], ""), (["segment", "add", "vip", user], ""),
      (["segment", "define", "city", "vip", "--where", "city = '\(city)'"], ""), (["segment", "list"], ""),
      (["suppression", "add", "news", user], ""), (["suppression", "remove", "news", user], ""),
      (["dead", "list"], ""), (["campaign", "list"], ""), (["campaign", "show", "c"], ""), (["status"], ""),
      (["campaign", "pause", "d", "--reason", "wro\(mark)ng", "--by", "gr\(mark)ace"], ""),
      (["campaign", "show", "d"], ""), (["campaign", "resume", "d"], ""), (["campaign", "cancel", "d"], ""),
      (["campaign", "preview", "c", "--user", user], ""), (["campaign", "submit", "-", "--estimate"], job),
      (["lint", "-"], job), (["results", "show", "c", "--user", user], ""),
      (["results", "export", "c", "--format", "csv", "--spreadsheet-safe"], ""), (["store", "check"], ""),
      (["users", "erase", user, "--yes"], ""), (["devices", "show", user], ""),
    ]
    var said = ""
    for row in rows {
      let output = try await CarillonCommand.run(row.arguments, environment: world.environment, input: row.input)
      let text = output.standardOutput + output.standardError
      expect(!text.isEmpty && !text.contains(mark), "\(row.arguments) \(output)")
      said += text
    }
    // The texts were printed, with a replacement for the mark.
    for text in [user, city, "wro\(mark)ng", "ne\(mark)ws", "ev\(mark)e"] {
      expect(said.contains(text.replacing(mark, with: "\u{FFFD}")), "\(text)")
    }
  }

  @Test func certificatesBehindAByteOrderMarkAreRefused() async throws {
    let folder = try ScratchFolder()
    _ = try folder.write("marked.pem", "\u{FEFF}-----BEGIN CERTIFICATE-----\n")
    _ = try folder.write("plain.pem", "-----BEGIN CERTIFICATE-----\n")
    let app =
      "apps: {news: {apns: {topic: a.b, environment: sandbox, token: {keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ}"
    let places = [
      (app + ", trustRoots: FILE}}}", "apps.news.apns.trustRoots"),
      (app + "}}}\nredis: {url: 'rediss://r', tls: {trustRoots: FILE}}", "redis.tls.trustRoots"),
      (
        app + "}}}\nredis: {url: 'sentinel://s/m?tls=true', sentinel: {tls: {trustRoots: FILE}}}",
        "redis.sentinel.tls.trustRoots"
      ),
      (
        app + "}, backend: {healthURL: 'https://h/', rate: 5, trustRoots: FILE}}}", "apps.news.backend.trustRoots"
      ),
      (
        app + "}}}\nwebhooks: {w: {url: 'https://h/', secretFile: s, trustRoots: FILE}}", "webhooks.w.trustRoots"
      ),
    ]
    for (text, key) in places {
      for file in ["plain.pem", "marked.pem"] {
        let yaml = try folder.write("carillon.yaml", text.replacing("FILE", with: file) + "\n")
        let load = { try ConfigurationLoader(argument: yaml, environment: [:]).load() }
        guard file == "marked.pem" else {
          _ = try load()
          continue
        }
        let error = #expect(throws: ConfigurationError.self) { _ = try load() }
        expect(error?.key == key && error?.message.contains("byte order mark") == true, "\(String(describing: error))")
      }
    }
  }
}
