import APNs
import Foundation
import PushCore
import ServiceTools
import TLS
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// `carillon init`: writes a configuration from options or answers, then runs the checks of `doctor`.
struct InitTests {
  private func key(_ folder: ScratchFolder) throws -> String {
    try folder.writeSecret("AuthKey_ABC123DEFG.p8", ECPrivateKey.generate().pem)
  }

  @Test func fileIsWrittenOnceAndCheckedByDoctor() async throws {
    let world = try await CarillonWorld()
    let folder = world.folder
    _ = try key(folder)
    let words = [
      "init", "--redis", world.server.url, "--namespace", world.namespace, "--app", "news", "--topic",
      "com.example.news", "--environment", "sandbox",
      "--key-file", "AuthKey_ABC123DEFG.p8", "--team-id", "DEF123GHIJ", "--output", "conf/carillon.yaml",
    ]
    let url = URL(filePath: folder.path(""))
    let output = try await CarillonCommand.run(words, folder: url)
    // Apple may be unreachable from here; nothing else is wrong.
    expect(
      output.standardOutput.hasPrefix("wrote conf/carillon.yaml\n\nok  configuration  1 app, all keys are known\n"))
    expect(output.standardOutput.contains("ok  credential  news: key ABC123DEFG of team DEF123GHIJ can be read"))
    let written = try ConfigurationLoader(argument: folder.path("conf/carillon.yaml"), environment: [:]).load()
    let app = try #require(written.apps["news"]?.apns)
    expect(app.topic == "com.example.news" && app.environment == .sandbox && written.redis.url == world.server.url)
    guard case .token(let token) = app.credential else { throw TestSupportError("no token: \(app)") }
    expect(token.keyID == "ABC123DEFG" && token.keyFile.hasSuffix("/conf/../AuthKey_ABC123DEFG.p8"))

    let again = try await CarillonCommand.run(words, folder: url)
    expect(again.exit == .status(65) && again.standardError.contains("conf/carillon.yaml already exists"))
    expect(try ConfigurationLoader(argument: folder.path("conf/carillon.yaml"), environment: [:]).load(), is: written)
  }

  @Test(arguments: [
    (["--app", "news"], 64, "--topic is missing"), ([], 64, "--app is missing"),
    (
      ["--app", "a b", "--topic", "x", "--key-file", "k", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ"], 65,
      "the name of an app"
    ),
    (["--app", "a", "--topic", "x", "--key-file", "k", "--team-id", "DEF123GHIJ"], 64, "--key-id is missing"),
    (
      ["--app", "a", "--topic", "x", "--key-file", "k", "--key-id", "short", "--team-id", "DEF123GHIJ"], 65,
      "not ten letters"
    ),
    (
      [
        "--app", "a", "--topic", "x", "--key-file", "AuthKey_ABC123DEFG.p8", "--team-id", "DEF123GHIJ",
      ], 65, "AuthKey_ABC123DEFG.p8: No such file"
    ),
    (
      ["--app", "a", "--topic", "x", "--certificate", "c", "--key-file", "k"], 64,
      "--certificate and a signing key can't be combined"
    ),
    (
      [
        "--redis", "redis://:secret@h", "--app", "a", "--topic", "x", "--key-file", "k", "--key-id", "ABC123DEFG",
        "--team-id", "DEF123GHIJ",
      ], 64, "--redis contains a password"
    ),
  ])
  func invalidOptionsWriteNoConfiguration(options: [String], status: Int, says: String) async throws {
    let folder = try ScratchFolder()
    let output = try await CarillonCommand.run(
      ["init", "--output", "c.yaml"] + options, folder: URL(filePath: folder.path("")))
    expect(output.exit == .status(Int32(status)) && output.standardError.contains(says), "\(output.standardError)")
    expect(!output.standardError.contains("secret"))
    expect(!FileManager.default.fileExists(atPath: folder.path("c.yaml")))
  }

  /// script(1) provides a terminal and the typed text. An empty line accepts the value in brackets.
  @Test func questionsAreAskedForWhatTheOptionsLeaveOut() async throws {
    let world = try await CarillonWorld()
    let key = try key(world.folder)
    let file = world.folder.path("c.yaml")
    let command = "\(CarillonCommand.path) init --topic com.example.x --namespace \(world.namespace) --output \(file)"
    let output = try await ChildProcess.run(
      "script", ["--quiet", "--flush", "--return", "--command", command, "/dev/null"],
      input: [world.server.url, "mail", "", key, "", "DEF123GHIJ"].joined(separator: "\n") + "\n")
    let text = output.standardOutput
    for question in [
      "Where is Redis? [redis://127.0.0.1:6379/0]", "name in jobs? [news]", "[production]", "[ABC123DEFG]",
    ] {
      expect(text.contains(question), "\(text)")
    }
    expect(text.contains("wrote \(file)") && !text.contains("bundle id"))
    let written = try ConfigurationLoader(argument: file, environment: [:]).load()
    expect(written.redis.url == world.server.url && written.apps["mail"]?.apns?.topic == "com.example.x")
    expect(
      written.apps["mail"]?.apns?.credential, is: .token(.init(keyFile: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
    )
  }

  @Test func pathsLeadThereFromTheFile() {
    expect(InitCommand.path("k.p8", from: "c.yaml"), is: "k.p8")
    expect(InitCommand.path("/k.p8", from: "conf/c.yaml"), is: "/k.p8")
    expect(InitCommand.path("k.p8", from: "a/b/c.yaml"), is: "../../k.p8")
    expect(InitCommand.path("k.p8", from: "./a/c.yaml"), is: "../k.p8")
    expect(InitCommand.path("k.p8", from: "/etc/c.yaml").hasSuffix("/k.p8"))
    expect(InitCommand.path("/srv/k.json", from: "/srv/c.yaml"), is: "k.json")
    expect(InitCommand.path("/srv/keys/k.json", from: "/srv/./c.yaml"), is: "keys/k.json")
    expect(InitCommand.path("/srv/k.json", from: "/srv/conf/c.yaml"), is: "/srv/k.json")
    expect(InitCommand.path("/srv/x/../k.json", from: "/srv/c.yaml"), is: "/srv/x/../k.json")
    let here = FileManager.default.currentDirectoryPath
    expect(InitCommand.path("\(here)/k.json", from: "c.yaml"), is: "k.json")
    expect(InitCommand.path("keys/k.json", from: "\(here)/c.yaml"), is: "keys/k.json")
  }

  @Test func valuesAreReadBackAsTheyWereWritten() throws {
    for value in ["it's", "a: b", "# x", "true", "0x1", "-", "rediss://h:1/0", "ü", "1", "a:", "~"] {
      var draft = ConfigurationDraft()
      draft.app = "a"
      let options = ["topic": "x", "key-file": value, "key-id": "ABC123DEFG", "team-id": "DEF123GHIJ"]
      draft.services = [("apns", try APNsTools().setUp(SetupInterview(options: options, ask: nil) { $0 }))]
      let node = try ConfigurationNode.parse(yaml: draft.text, file: "f")
      let read = try ConfigurationReader(directory: "").read(node)
      expect(
        read.apps["a"]?.apns?.credential, is: .token(.init(keyFile: value, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")))
    }
  }
}
