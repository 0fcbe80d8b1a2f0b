import TestSupport
import Testing

struct SendTests {
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
      "> \(payload)\n> (25 bytes)\n", "\n< 200\n", "accepted: APNs has the push", " ms, connecting included",
    ] { #expect(text.contains(part), "\(part) in \(text)") }
    // A provider token is good for an hour: what is shown must not be one.
    #expect(!text.contains("." + "eyJpc3Mi"))
    let file = try world.folder.write("payload.json", payload)
    let json = try JSONObject(await world.succeed("send", "--app", "news", "--token", "00ff", "--json", file))
    #expect(
      json.names == ["request", "response", "accepted", "meaning", "advice", "milliseconds"])
    #expect(json.object("request")?.object("headers")?.text("apns-topic") == "com.example.news")
    #expect(json.object("response")?.number("status") == 200)
  }

  @Test func rejectionIsExplainedAndExits1() async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator("--unknown-tokens", "bad")
    try await simulator.load(["00ff,unregistered,com.example.news,1769904000000"])
    let bad = try await world.run("send", "--app", "news", "--token", "0001", payload)
    #expect(bad.exit == .status(1))
    #expect(bad.standardOutput.contains("< 400 BadDeviceToken\n"))
    #expect(bad.standardOutput.contains("check the app's environment"))
    let gone = try await world.run("send", "--app", "news", "--token", "00ff", payload, "--json")
    #expect(gone.exit == .status(1))
    let json = try JSONObject(gone.standardOutput)
    #expect(json.bool("accepted") == false)
    #expect(json.object("response")?.text("reason") == "Unregistered")
    #expect(json.object("response")?.text("timestamp") == "2026-02-01T00:00:00.000Z")
  }

  @Test func serverThatIsNotThereIsUnreachable() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_ENDPOINT"] = "https://127.0.0.1:1"
    let output = try await world.run("send", "--app", "news", "--token", "00ff", payload, "--json")
    #expect(output.exit == .status(69))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    #expect(error.text("code") == "unreachable")
    #expect(error.text("message")?.hasPrefix("https://127.0.0.1:1: ") == true)
  }

  @Test(arguments: [
    (["--app", "nws", "--token", "00", "{}"], "no app 'nws' in the configuration"),
    (["--app", "news", "--token", "0", "{}"], "--token: not hex"),
    (["--app", "news", "--token", "00", "{"], "payload: not valid JSON: line 1, column 2"),
    (["--app", "news", "--token", "00", "/nowhere"], "payload: /nowhere: No such file"),
    (["--app", "news", "--token", "00", "--push-type", "alrt", "{}"], "pushType: unknown value 'alrt'"),
    (["--app", "news", "--token", "00", "--priority", "7", "{}"], "priority: must be the number 10, 5 or 1"),
    (["--app", "news", "--token", "00", "--expiration", "soon", "{}"], "expiration: must be 0"),
  ])
  func wrongInputIsRefusedBeforeAnythingIsSent(arguments: [String], says: String) async throws {
    let world = try await CarillonWorld()
    let output = try await CarillonCommand.run(["send"] + arguments, environment: world.environment)
    #expect(output.exit == .status(65))
    #expect(output.standardOutput == "")
    #expect(output.standardError.contains(says), "\(output.standardError)")
  }
}
