import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

@testable import CommandSupport

/// Contents of a worker's log, and data that the log never contains.
@Suite(.takesTurns) struct LogTests {
  @Test func equalTokensHaveTheSamePlaceholder() {
    let scrubber = TokenScrubber(key: [1, 2, 3])
    let token = String(repeating: "0aB1", count: 16)
    let standIn = scrubber.scrub(token)
    expect(standIn.count == 14 && standIn.hasPrefix("token:"))
    expect(scrubber.scrub("a \(token.lowercased()), b"), is: "a \(standIn), b")
    expect(scrubber.scrub("\(token)x\(token)"), is: "\(standIn)x\(standIn)")
    expect(TokenScrubber(key: [9]).scrub(token) != standIn)
    for text in ["", "17:spring-sale", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", String(repeating: "a", count: 31), "ü€"]
    {
      expect(scrubber.scrub(text), is: text)
    }
  }

  /// Runs a campaign with bad and unregistered tokens, a worker that is killed during it, and invalid jobs and events.
  /// Each has a token and a text of its own. No log line of any level contains one of the tokens or texts.
  @Test(arguments: PushEngineKind.one(for: "noTokenAndNoPayloadIsLogged"))
  func noTokenAndNoPayloadIsLogged(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    // Sending is so slow that the first worker is killed before it finishes.
    world.environment["CARILLON_WORKER_WINDOW"] = "100"
    // The first answers may all be for bad tokens.
    world.environment["CARILLON_GUARD_THRESHOLD"] = "1"
    world.environment["CARILLON_GUARD_PRUNE_SHARE"] = "1"
    let simulator = try await world.startSimulator("--latency", "5ms")
    let tokens = try await world.importDevices(800)
    try await simulator.load(
      tokens.prefix(3).map { #"{"token":"\#($0)","state":"bad"}"# }
        + tokens[3..<10].map { "\($0),unregistered,com.example.news,1790000000000" })
    let secret = "TopSecretText"
    let payload = #""apns":{"payload":{"aps":{"alert":"\#(secret)","sound":"default"}}}"#
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"results":"all","rate":200,\#(payload)}"#
    let broken = [
      #"{"id":"b","app":"news","audience":{"tokens":["\#(tokens[0])","zz\#(tokens[1])"]},\#(payload)}"#,
      #"{"id":"c","app":"news","audience":{"tokens":["\#(tokens[0])"]},"apns":{"payload":{"aps":{"alert":7,"badge":"\#(secret)"}}}}"#,
      #"{"id":"d","app":"nobody","audience":{"tokens":["\#(tokens[0])"]},\#(payload)}"#, "{\(secret)",
      #"{"id":"e","app":"news","audience":{"tokens":["\#(tokens[0])"]},"apns":{"payload":"\#(secret)"}}"#,
    ]
    for text in broken { try await world.server.command("lpush", "{\(world.namespace)}:campaigns", text) }
    let events = [
      #"{"op":"register","user":"x","token":"zz\#(tokens[2])","app":"news","city":"\#(secret)"}"#,
      #"{"op":"login","user":"x","token":"not-\#(tokens[3])"}"#, #"{"op":"what","token":"\#(tokens[4])"}"#,
    ]
    for text in events { try await world.server.command("lpush", "{\(world.namespace)}:registrations", text) }
    let (first, second) = (
      try await world.start("worker", "--name", "first", "--log-level", "trace", "--json"),
      try await world.start("worker", "--name", "second", "--log-level", "trace")
    )
    try await world.succeed("campaign", "submit", "-", input: job)
    try await world.until("a") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
    first.send(signal: SIGKILL)
    await first.waitForExit()
    try await world.until("a") { $0.text("state") == "completed" }
    try await poll(until: "the worker has taken in the registrations") {
      try await world.server.command("llen", "{\(world.namespace)}:registrations") == "0"
    }
    second.send(signal: SIGTERM)
    await second.waitForExit()
    let lines = await [first, second].asyncFlatMap {
      await $0.errorLines.reduce(into: [String]()) { $0.append($1) }
    }
    expect(lines.count > 20)
    // The log has lines about the faults.
    for event in ["claimed", "sealed"] {
      expect(lines.contains { $0.contains(event) }, "\(event)")
    }
    expect(lines.contains { $0.contains("dead list") || $0.contains("deadLettered") })
    for line in lines {
      expect(!line.contains(secret), "\(line)")
      let lower = line.lowercased()
      expect(!tokens.contains { lower.contains($0.prefix(56) + $0.suffix(8)) }, "\(line)")
      expect(!lower.contains("0a0a0a0a0a"), "\(line)")
    }
    // Each line has the worker, the module, and the campaign if it has a slice.
    for line in lines where line.hasPrefix("{") {
      let json = try JSONObject(line)
      // The configuration contains the worker's name, so lines about the configuration do not have it.
      if json.text("module") == "configuration" { continue }
      expect(json.text("worker") == "first" && json.text("module") != nil, "\(line)")
      if let slice = json.text("slice") {
        expect(json.text("campaign"), is: slice.split(separator: ":").last.map(String.init))
      }
    }
    expect(
      lines.allSatisfy { $0.hasPrefix("{") || $0.contains("worker=second") || $0.contains("configuration") },
      "\(lines.filter { !$0.hasPrefix("{") && !$0.contains("worker=second") })")
  }

  /// The configuration sets format and levels; a reload changes a level while the worker runs.
  @Test func moduleLogLevelsFollowTheConfiguration() async throws {
    let world = try await CarillonWorld(engine: "native")
    let text = try String(contentsOfFile: try #require(world.environment["CARILLON_CONFIG"]), encoding: .utf8)
    let folder = URL(filePath: try #require(world.environment["CARILLON_CONFIG"])).deletingLastPathComponent().path
    // Paths in the configuration are relative to its file.
    let base = text.replacing("keyFile: ", with: "keyFile: \(folder)/").replacing(
      "trustRoots: ", with: "trustRoots: \(folder)/")
    let file = try world.folder.write(
      "carillon.yaml", base + "\nlog: { format: json, level: error, modules: { worker: info } }\n")
    let worker = try await world.start(["worker", "--name", "ada"], environment: ["CARILLON_CONFIG": file])
    let started = try JSONObject(try #require(await worker.errorLine(containing: "started")))
    expect(started.text("module") == "worker" && started.text("worker") == "ada")
    try world.folder.write(
      "next.yaml", base + "\nlog: { format: text, modules: { configuration: info, fleet: debug } }\n")
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.moveItem(atPath: world.folder.path("next.yaml"), toPath: file)
    worker.send(signal: SIGHUP)
    let line = try #require(await worker.errorLine(containing: "reloaded the configuration"))
    expect(line.contains(" info worker/configuration: ") && line.contains("changed=log"), "\(line)")
    expect(await worker.terminate(), is: .status(0))
  }
}

extension Array {
  fileprivate func asyncFlatMap<Result>(_ body: (Element) async throws -> [Result]) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results += try await body(element) }
    return results
  }
}
