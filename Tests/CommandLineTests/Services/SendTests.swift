import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct SendTests {
  private let payload = #"{"aps":{"alert":"Hello"}}"#

  @Test func acceptedPushIsShownWithAllItsHeaders() async throws {
    var world = try await CarillonWorld()
    try await world.startSimulator()
    let text = try await world.succeed(
      "send", "--app", "news", "--token", "00FF", "--push-type", "voip", "--expiration", "0", "--collapse-id", "x",
      payload)
    for part in [
      "/3/device/00ff\n", "> apns-id: ", "> authorization: bearer eyJ", "> apns-topic: com.example.news.voip\n",
      "> apns-push-type: voip\n", "> apns-priority: 10\n", "> apns-expiration: 0\n", "> apns-collapse-id: x\n",
      "> content-length: 25\n", "> \(payload)\n> (25 bytes)\n", "\n< 200\n", "\n< apns-id: ",
      "accepted: APNs has the push", " ms, including the connection setup",
    ] { expect(text.contains(part), "\(part) in \(text)") }
    // A provider token is valid for an hour, so the output must not contain it.
    expect(!text.contains("." + "eyJpc3Mi"))
    let file = try world.folder.write("payload.json", payload)
    let json = try JSONObject(await world.succeed("send", "--app", "news", "--token", "00ff", "--json", file))
    expect(
      json.names, is: ["request", "findings", "sent", "response", "accepted", "meaning", "hint", "milliseconds"])
    expect(json.object("request")?.object("headers")?.text("apns-topic"), is: "com.example.news")
    expect(json.object("response")?.number("status"), is: 200)
    // The simulator echoes the id, as APNs does.
    let id = try #require(json.object("request")?.object("headers")?.text("apns-id"))
    expect(json.object("response")?.object("headers")?.text("apns-id"), is: id)
  }

  @Test func longTokensAreNeverShownWhole() async throws {
    var world = try await CarillonWorld()
    try await world.startSimulator()
    let token = CarillonWorld.token(7)
    let id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    let output = try await world.run("send", "--app", "news", "--token", token, "--apns-id", id, payload)
    expect(output.exit, is: .status(0))
    expect(!output.standardOutput.contains(token) && !output.standardError.contains(token))
    expect(output.standardOutput.contains("/3/device/\(token.prefix(8))…\(token.suffix(4))\n"))
    expect(
      output.standardOutput.contains("> apns-id: \(id)\n") && output.standardOutput.contains("< apns-id: \(id)\n"))
  }

  @Test func dryRunShowsAndChecksWithoutAConnection() async throws {
    var world = try await CarillonWorld()
    // No server listens at this port: a connection would be an error.
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:1"
    let good = try await world.succeed(
      "send", "--app", "news", "--token", "00ff", "--dry-run", #"{"aps":{"alert":"a","x-mine":1}}"#)
    expect(
      good.hasPrefix(
        "! warning: apns.payload.aps.x-mine: is not one of Apple's keys: the app can't read it inside aps "
          + "(move it out of aps, to the top level)\n> POST https://"
      ))
    expect(good.hasSuffix("no push was sent; the push breaks no rule\n"))
    let bad = try await world.run(
      "send", "--app", "news", "--token", "00ff", "--dry-run", "--json", "--push-type", "background", payload)
    expect(bad.exit, is: .status(65))
    let json = try JSONObject(bad.standardOutput)
    expect(json.bool("sent"), is: false)
    expect(json.objects("findings")?.compactMap { $0.text("rule") }, is: ["background-visible", "background-silent"])
    expect(json.object("request")?.object("headers")?.text("apns-priority"), is: "5")
  }

  @Test func invalidPushIsSentOnlyWithUnchecked() async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator()
    let push = ["send", "--app", "news", "--token", "00ff", "--push-type", "background", payload]
    let refused = try await CarillonCommand.run(push, environment: world.environment)
    expect(refused.exit == .status(65) && refused.standardOutput == "")
    expect(refused.standardError.contains("payload.aps.alert: is not allowed in a background push"))
    expect(refused.standardError.contains("(and 1 more: --dry-run shows all)"))
    expect(refused.standardError.contains("rule background-visible: Apple, “Pushing background updates to your App”"))
    expect(try await simulator.counters().number("received"), is: 0)
    let sent = try await CarillonCommand.run(push + ["--unchecked"], environment: world.environment)
    expect(sent.exit == .status(0) && sent.standardOutput.contains("! error: apns.payload.aps.alert: "))
  }

  @Test(arguments: [[], ["--unchecked"], ["--dry-run"]])
  func wholeJobIsRefused(options: [String]) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(
      ["send", "--app", "news", "--token", "00ff", CarillonWorld.job("whole")] + options,
      environment: world.environment)
    expect(output.exit == .status(65) && output.standardOutput == "")
    expect(output.standardError.contains("this is a job, not a payload"))
    expect(output.standardError.contains("hint: submit it: carillon campaign submit FILE"))
  }

  @Test func givenTopicIsSentUnchanged() async throws {
    let world = try await CarillonWorld()
    let text = try await world.succeed(
      "send", "--app", "news", "--token", "00", "--topic", "com.example.other.voip", "--push-type", "voip",
      "--dry-run", "{}")
    expect(text.contains("> apns-topic: com.example.other.voip\n"))
    let plain = try await world.run(
      "send", "--app", "news", "--token", "00", "--topic", "com.example.other", "--push-type", "voip", "--dry-run", "{}"
    )
    expect(plain.exit, is: .status(65))
    expect(
      plain.standardOutput.contains(
        "topic: 'com.example.other' is not a topic for push type voip (use a topic that ends with .voip)"))
  }

  @Test func rejectionIsExplainedAndExits1() async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator("--unknown-tokens", "bad")
    try await simulator.load(["00ff,unregistered,com.example.news,1769904000000"])
    let bad = try await world.run("send", "--app", "news", "--token", "0001", payload)
    expect(bad.exit, is: .status(1))
    expect(bad.standardOutput.contains("< 400 BadDeviceToken\n"))
    expect(bad.standardOutput.contains("check the app's environment"))
    let gone = try await world.run("send", "--app", "news", "--token", "00ff", payload, "--json")
    expect(gone.exit, is: .status(1))
    let json = try JSONObject(gone.standardOutput)
    expect(json.bool("accepted"), is: false)
    expect(json.object("response")?.text("reason"), is: "Unregistered")
    expect(json.object("response")?.text("timestamp"), is: "2026-02-01T00:00:00.000Z")
  }

  @Test func missingServerIsUnreachable() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:1"
    let output = try await world.run("send", "--app", "news", "--token", "00ff", payload, "--json")
    expect(output.exit, is: .status(69))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    expect(error.text("code"), is: "unreachable")
    expect(error.text("message")?.hasPrefix("https://127.0.0.1:1: "), is: true)
  }

  @Test(arguments: [
    (["--app", "nws", "--token", "00", "{}"], "no app 'nws' in the configuration"),
    (["--app", "news", "--token", "0", "{}"], "--token: not hex"),
    (["--app", "news", "--token", "00", "{"], "payload: not valid JSON: line 1, column 2"),
    (["--app", "news", "--token", "00", "/nowhere"], "payload: /nowhere: No such file"),
    (["--app", "news", "--token", "00", "--push-type", "alrt", "{}"], "pushType: unknown value 'alrt'"),
    (["--app", "news", "--token", "00", "--priority", "7", "{}"], "apns.priority: must be the number 10, 5 or 1"),
    (["--app", "news", "--token", "00", "--apns-id", "7", "{}"], "--apns-id: not a UUID"),
    (["--app", "news", "--token", "00", "--push-type", "widgets", "{}"], "payload.aps: a widgets push needs"),
    (["--app", "news", "--token", "00", "--expiration", "soon", "{}"], "expiration: must be 0"),
  ])
  func wrongInputIsRefusedBeforeAnythingIsSent(arguments: [String], says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(["send"] + arguments, environment: world.environment)
    expect(output.exit, is: .status(65))
    expect(output.standardOutput, is: "")
    expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
