import Foundation
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct SimulateTests {
  @Test func initWritesAFolderAndNeverReplacesIt() async throws {
    let scratch = try ScratchFolder()
    let folder = scratch.path("sim")
    let made = try await CarillonCommand.run(["simulate", "--init", folder, "--json"])
    expect(made.exit, is: .status(0))
    expect(try JSONObject(made.standardOutput).text("directory"), is: folder)
    let modes = [
      ("ca.pem", 0o644), ("server.key", 0o600), ("AuthKey_SIMULATOR1.p8", 0o600), ("service-account.json", 0o600),
    ]
    for (name, mode) in modes {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
      expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
    }
    let key = try String(contentsOfFile: folder + "/AuthKey_SIMULATOR1.p8", encoding: .utf8)
    let again = try await CarillonCommand.run(["simulate", "--init", folder])
    again.expect(exit: 1, saying: "File exists", "replaces no files")
    expect(try String(contentsOfFile: folder + "/AuthKey_SIMULATOR1.p8", encoding: .utf8), is: key)
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func signalEndsItWithWhatItCounted(signal: Int32) async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator("--latency", "1ms", "--threads", "2")
    try await world.succeed("send", "--app", "news", "--token", "00ff", #"{"aps":{"badge":1}}"#)
    simulator.process.send(signal: signal)
    let line = try #require(await simulator.process.line(containing: #""event":"stopped""#))
    expect(try JSONObject(line).object("counters")?.number("accepted"), is: 1)
    expect(await simulator.process.waitForExit(), is: .status(0))
  }

  @Test func folderWithoutAServiceAccountHasNoFCMSide() async throws {
    let scratch = try ScratchFolder()
    let folder = scratch.path("sim")
    expect(try await CarillonCommand.run(["simulate", "--init", folder]).exit, is: .status(0))
    let file = folder + "/service-account.json"
    let account = try JSONObject(try String(contentsOfFile: file, encoding: .utf8))
    expect(account.text("type"), is: "service_account")
    expect(account.text("private_key")?.hasPrefix("-----BEGIN PRIVATE KEY-----\n"), is: true)
    expect(account.text("token_uri"), is: "https://127.0.0.1:2200/token")
    try "{}".write(toFile: file, atomically: true, encoding: .utf8)
    let start = ["simulate", "--directory", folder, "--port", "0", "--control-port", "0", "--fcm-port", "0"]
    try await CarillonCommand.run(start).expect(exit: 65, saying: "is not a service account", "project_id")
    try FileManager.default.removeItem(atPath: file)
    try await CarillonCommand.run(start).expect(exit: 65, saying: "no service-account.json", "--init DIR")
  }

  @Test func takenPortIsAnErrorWithItsAddress() async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator()
    let folder = try ScratchFolder()
    try await world.succeed("simulate", "--init", folder.path("sim"))
    let output = try await world.run(
      "simulate", "--directory", folder.path("sim"), "--port", "\(simulator.port)", "--control-port", "0")
    output.expect(exit: 1, saying: "127.0.0.1:\(simulator.port)", "Address already in use")
  }

  @Test func logHasALineForEveryPushReceived() async throws {
    var world = try await CarillonWorld()
    let log = world.folder.path("requests.log")
    try await world.startSimulator("--log", log)
    try await world.succeed("send", "--app", "news", "--token", "00ff", #"{"aps":{"badge":1}}"#)
    let fields = try String(contentsOfFile: log, encoding: .utf8).split(separator: " ")
    expect(fields.count == 6 && fields[3] == "00ff" && fields[5] == "200\n", "\(fields)")
  }

  @Test func unwritableLogIsAnErrorWithItsPath() async throws {
    var world = try await CarillonWorld()
    let folder = world.folder.path("sim")
    try await world.succeed("simulate", "--init", folder)
    let unopened = try await world.run(
      "simulate", "--directory", folder, "--port", "0", "--control-port", "0", "--log", "/nowhere/log")
    unopened.expect(exit: 1, saying: "/nowhere/log: No such file")
    let full = try await world.startSimulator("--log", "/dev/full")
    _ = try await world.run("send", "--app", "news", "--token", "00ff", #"{"aps":{"badge":1}}"#)
    expect(await full.process.waitForExit(), is: .status(1))
    expect(await full.process.errorLine(containing: "/dev/full: No space left") != nil)
  }

  @Test func wrongFolderNamesTheCommandThatCreatesOne() async throws {
    let output = try await CarillonCommand.run(["simulate", "--directory", "/nowhere"])
    output.expect(exit: 65, saying: "/nowhere/server.pem: No such file", "carillon simulate --init /nowhere")
  }

  @Test func knobsComeFromAFileFromArgumentsAndByTheClock() async throws {
    var world = try await CarillonWorld()
    let knobs = try world.folder.write(
      "knobs.json", #"{"unknownTokens":"bad","spellings":{"BadDeviceToken":"BadOne"}}"#)
    let timeline = try world.folder.write("timeline.json", #"[{"at":3600,"action":"goAway"}]"#)
    try await world.startSimulator(
      "--knobs", knobs, "--knob", "spellings={}", "--timeline", timeline, "--seed", "1", "--environment", "sandbox")
    let output = try await world.run("send", "--app", "news", "--token", "00ff", #"{"aps":{"badge":1}}"#)
    expect(output.standardOutput.contains("BadDeviceToken") && output.standardOutput.contains("apns-unique-id"))
  }

  @Test(arguments: [
    ("--knobs", #"{"refused":1}"#, "no knob refused"), ("--timeline", #"[{"at":1}]"#, "event 1: neither knobs"),
    ("--keys", "{}", "not a list of keys"),
  ])
  func unusableFileIsAnErrorWithItsPath(option: String, text: String, says: String) async throws {
    let scratch = try ScratchFolder()
    let folder = scratch.path("sim")
    expect(try await CarillonCommand.run(["simulate", "--init", folder]).exit, is: .status(0))
    let file = try scratch.write("file.json", text)
    let output = try await CarillonCommand.run(
      ["simulate", "--directory", folder, "--port", "0", "--control-port", "0", option, file])
    expect(output.exit, is: .status(65))
    expect(output.standardError.contains(file) && output.standardError.contains(says), "\(output.standardError)")
  }

  @Test func keysOfAListAreBelieved() async throws {
    var world = try await CarillonWorld()
    let other = world.folder.path("other")
    try await world.succeed("simulate", "--init", other)
    let keys = try world.folder.write(
      "keys.json",
      #"[{"keyID":"SIMULATOR2","teamID":"SIMULATION","file":"other/AuthKey_SIMULATOR1.p8","environment":"sandbox"}]"#)
    try await world.startSimulator("--keys", keys)
    let key = [
      "CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE": other + "/AuthKey_SIMULATOR1.p8",
      "CARILLON_APPS_NEWS_APNS_TOKEN_KEY_ID": "SIMULATOR2",
    ]
    world.environment.merge(key) { $1 }
    let output = try await world.run("send", "--app", "news", "--token", "00ff", #"{"aps":{"badge":1}}"#)
    expect(
      output.standardOutput.contains("BadEnvironmentKeyIdInToken"), "\(output.standardOutput)\(output.standardError)")
  }

  @Test(arguments: [
    (["--latency", "20"], "--latency must be a duration"), (["--latency", "2m"], "at most a minute"),
    (["--threads", "0"], "--threads must be 1 to 64"), (["--unknown-tokens", "maybe"], "'accept' and 'bad'"),
    (["--knob", "refusedShare=2"], "a share goes from 0 to 1"), (["--knob", "x=1"], "no knob x"),
  ])
  func wrongOptionsAreUsageErrors(options: [String], says: String) async throws {
    let output = try await CarillonCommand.run(["simulate", "--directory", "x"] + options)
    expect(output.exit, is: .status(64))
    expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
