import PushTransport
import APNs
import Foundation
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct QuarantineCommandTests {
  @Test(arguments: PushEngineKind.one(for: "badTokensAreListedReleasedAndPurged"))
  func badTokensAreListedReleasedAndPurged(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(20)
    try await simulator.load(tokens.prefix(3).map { #"{"token":"\#($0)","state":"bad"}"# })
    expect(try await world.succeed("quarantine", "list", "--json"), is: "[]\n")
    try await world.submit("one")
    try await world.drain()

    let listed = try JSONObject.all(in: await world.succeed("quarantine", "list", "--json"))
    expect(Set(listed.compactMap { $0.text("token") }), is: Set(tokens.prefix(3)))
    expect(listed.allSatisfy { $0.text("reason") == "BadDeviceToken" && $0.text("campaign") == "one" })
    expect(listed.allSatisfy { $0.names == ["token", "user", "app", "reason", "campaign", "at"] })
    try await world.submit("two", audience: #"{"users":["u9"]}"#)
    expect(try await world.succeed("quarantine", "list", "--campaign", "two", "--json"), is: "[]\n")
    // An unknown name may be mistyped.
    for (filter, says) in [
      (["--campaign", "tow"], "there is no campaign 'tow'"), (["--app", "nwes"], "no app 'nwes' in the configuration"),
    ] {
      for verb in ["list", "release", "purge"] {
        let unknown = try await CarillonCommand.run(["quarantine", verb] + filter, environment: world.environment)
        expect(unknown.exit != .status(0) && unknown.standardOutput.isEmpty)
        expect(unknown.standardError.contains(says), "\(unknown.standardError)")
      }
    }
    let line = try await world.succeed("quarantine", "list", "--app", "news")
    expect(line.split(separator: "\n").count == 3 && line.contains("BadDeviceToken\tone\t"))

    // Without a terminal the command can't ask for confirmation.
    let unasked = try await world.run("quarantine", "purge", "--all")
    expect(unasked.exit == .status(64) && unasked.standardError.contains("this removes 3 devices for good"))
    expect(try await world.succeed("quarantine", "release", tokens[0]), is: "1 device released\n")
    expect(try await world.succeed("quarantine", "purge", "--campaign", "two"), is: "0 devices purged\n")
    expect(try await world.succeed("quarantine", "purge", "--campaign", "one", "--json"), is: #"{"purged":2}"# + "\n")
    let last = try await world.run("quarantine", "purge", "--all")
    expect(last.exit == .status(0) && last.standardOutput == "0 devices purged\n")
    expect(try await world.run("quarantine", "purge").exit, is: .status(64))
    let missing = try await world.run("quarantine", "release", tokens[0])
    expect(missing.exit == .status(1) && missing.standardError.contains("is not in quarantine"))
    expect(!missing.standardError.contains(tokens[0]))
    expect(try await world.run("quarantine", "release", "--all", "--app", "news").exit, is: .status(64))
    expect(try await world.run("quarantine", "release", "xyz").exit, is: .status(65))
    expect(try await world.succeed("segment", "count", "*", "--json").contains(#""devices":18"#))
  }
}

/// The probe that finds whether bad tokens belong to the other environment. Two simulators run as production and as
/// sandbox.
@Suite(.takesTurns) struct QuarantineProbeTests {
  /// Creates a world whose workers push to `production`, with `devices` users. `sandbox` runs alongside.
  private func made(_ engine: PushEngineKind, _ devices: Int) async throws -> (
    world: CarillonWorld, production: SimulatorProcess, sandbox: SimulatorProcess, tokens: [String]
  ) {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let sandbox = try await world.startSimulator("--environment", "sandbox")
    let production = try await world.startSimulator()
    return (world, production, sandbox, try await world.importDevices(devices))
  }

  private func address(_ simulator: SimulatorProcess) -> String { "https://127.0.0.1:\(simulator.port)" }

  /// The steps of an operator: inspect, probe, repair, resume.
  @Test(arguments: PushEngineKind.one(for: "pausedCampaignIsProbedRepairedAndResumed"))
  func pausedCampaignIsProbedRepairedAndResumed(engine: PushEngineKind) async throws {
    let (world, production, sandbox, tokens) = try await made(engine, 900)
    let lines = tokens.map { #"{"token":"\#($0)","environment":"sandbox"}"# }
    try await production.load(lines)
    try await sandbox.load(lines)
    let wrong = try await world.start("worker", "--name", "wrong")
    try await world.submit("sale")
    try await world.until("sale") { $0.text("state") == "paused" && $0.number("inDoubt") == 0 }
    let shown = try await world.succeed("campaign", "show", "sale")
    expect(shown.contains("probably the wrong environment for app news"), "\(shown)")
    expect(try await world.succeed("quarantine", "list").isEmpty)

    let before = try await sandbox.counters().number("received") ?? -1
    let unasked = try await world.run(
      "quarantine", "probe", "--campaign", "sale", "--endpoint", address(sandbox))
    expect(unasked.exit == .status(64) && unasked.standardError.contains("--yes"), "\(unasked.standardError)")
    let elsewhere = try await world.run("quarantine", "probe", "--campaign", "sale", "--yes")
    expect(elsewhere.exit == .status(64) && elsewhere.standardError.contains("--endpoint"))
    expect(try await sandbox.counters().number("received"), is: before)

    let probe = try await world.run(
      "quarantine", "probe", "--campaign", "sale", "--yes", "--endpoint", address(sandbox))
    expect(probe.exit, is: .status(0), "\(probe.standardError)")
    expect(
      probe.standardOutput.contains(
        "the sandbox environment accepts 3 of 3 tokens: apps.news.apns.environment (production) is wrong for these tokens"
      ))
    expect(probe.standardOutput.contains("carillon campaign resume sale"))
    expect(try await sandbox.counters().number("received"), is: before + 3)
    let first = try #require(probe.standardOutput.split(separator: " ").first?.prefix(4))
    expect(tokens.contains { $0.hasPrefix(first) })

    // The operator restarts the worker with the right address, and every user gets the push.
    expect(await wrong.terminate(), is: .status(0))
    let right = try await world.start(
      ["worker", "--name", "right"], environment: ["CARILLON_APPS_NEWS_APNS_ENDPOINT": address(sandbox)])
    try await world.succeed("campaign", "resume", "sale")
    try await world.until("sale") { $0.text("state") == "completed" }
    expect(try await world.show("sale").object("outcomes")?.numbers, is: ["accepted": 900])
    expect(try await world.succeed("segment", "count", "*", "--json").contains(#""devices":900"#))
    right.send(signal: SIGTERM)
    await right.waitForExit()
  }

  /// The engine is that of the campaign that quarantined the token. Each engine has two rows.
  @Test(arguments: [
    (PushEngineKind.curl, "sandbox", "registered", "otherEnvironment", 0), (.native, "sandbox", "bad", "bad", 0),
    (.native, "sandbox", "wrongTopic", "otherTopic", 0), (.curl, "production", "registered", "bad", 0),
  ])
  func probeClassifiesATokenByItsAnswer(
    engine: PushEngineKind, environment: String, state: String, verdict: String, exit: Int32
  ) async throws {
    let (world, production, sandbox, tokens) = try await made(engine, 12)
    try await production.load([#"{"token":"\#(tokens[0])","state":"bad"}"#])
    try await sandbox.load([#"{"token":"\#(tokens[0])","state":"\#(state)","environment":"\#(environment)"}"#])
    try await world.submit("one")
    try await world.drain()
    let probe = try await world.run(
      "quarantine", "probe", tokens[0], "--yes", "--json", "--endpoint", address(sandbox))
    expect(probe.exit, is: .status(exit), "\(probe.standardError)")
    let answer = try JSONObject(probe.standardOutput)
    expect(answer.text("verdict"), is: verdict, "\(probe.standardOutput)")
    expect(answer.text("environment"), is: "sandbox")
    expect(answer.number("asked"), is: 1)
    // The token is still in quarantine.
    expect(try await world.succeed("quarantine", "list").contains(tokens[0]))
  }

  @Test(arguments: PushEngineKind.one(for: "probeReportsTokensThatItCannotJudge"))
  func probeReportsTokensThatItCannotJudge(engine: PushEngineKind) async throws {
    let (world, production, sandbox, tokens) = try await made(engine, 12)
    let nothing = try await world.run("quarantine", "probe", "--all", "--yes", "--endpoint", address(sandbox))
    expect(nothing.exit == .status(1) && nothing.standardError.contains("nothing to probe"))
    let unknown = try await world.run("quarantine", "probe", "--campaign", "nope", "--yes")
    expect(unknown.exit == .status(1) && unknown.standardError.contains("nope"))
    expect(try await world.run("quarantine", "probe", "--all", "--count", "11").exit, is: .status(64))
    expect(try await world.run("quarantine", "probe", "--all", "--endpoint", "http://x").exit, is: .status(64))

    try await production.load([
      #"{"token":"\#(tokens[0])","state":"bad"}"#, #"{"token":"\#(tokens[1])","state":"wrongTopic"}"#,
    ])
    try await world.submit("two")
    try await world.drain()
    // Carillon knows without a request that a token belongs to another topic.
    let topic = try await world.run("quarantine", "probe", tokens[1], "--yes", "--endpoint", address(sandbox))
    expect(topic.exit == .status(1) && topic.standardError.contains("nothing to probe"))
    let refusal =
      #"{"tokenFailures":[{"token":"\#(tokens[0])","status":403,"reason":"BadEnvironmentKeyIdInToken","times":1}]}"#
    try await sandbox.set(refusal)
    let refused = try await world.run("quarantine", "probe", tokens[0], "--yes", "--endpoint", address(sandbox))
    expect(refused.exit, is: .status(1))
    expect(
      refused.standardOutput.contains("the sandbox environment gave no clear answer: 403 BadEnvironmentKeyIdInToken"),
      "\(refused.standardOutput)")
  }

  @Test(arguments: PushEngineKind.one(for: "certificateCannotProbeTheOtherEnvironment"))
  func certificateCannotProbeTheOtherEnvironment(engine: PushEngineKind) async throws {
    var (world, production, sandbox, tokens) = try await made(engine, 12)
    try await production.load([#"{"token":"\#(tokens[0])","state":"bad"}"#])
    try await world.submit("one")
    try await world.drain()
    let standard = try #require(world.environment["CARILLON_CONFIG"])
    let files = URL(fileURLWithPath: standard).deletingLastPathComponent().path
    let yaml = """
      apps:
        news:
          apns:
            topic: com.example.news
            environment: sandbox
            endpoint: \(address(sandbox))
            trustRoots: \(files)/ca.pem
            certificate: { file: \(files)/push-sandbox.pem }
      """
    world.environment["CARILLON_CONFIG"] = try world.folder.write("certificate.yaml", yaml)
    let refused = try await world.run("quarantine", "probe", tokens[0], "--yes", "--endpoint", address(production))
    expect(refused.exit, is: .status(65))
    expect(refused.standardError.contains("is for sandbox only"), "\(refused.standardError)")
    expect(refused.standardError.contains("signing key"))
  }
}
