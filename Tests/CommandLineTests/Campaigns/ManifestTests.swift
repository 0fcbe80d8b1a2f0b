import PushTransport
import TestKit
import TestSupport
import Testing

/// Manifests of campaigns, approvals, and sweeps for devices that have removed the app.
struct ManifestTests {
  @Test func manifestHoldsAndWhatWasChangedDoesNot() async throws {
    var world = try await CarillonWorld(engine: "native")
    _ = try await world.startSimulator()
    _ = try await world.importDevices(40)
    let job = CarillonWorld.job("story", more: #","lane":"bulk""#)
    expect(try await world.succeed("campaign", "submit", "-", "--by", "ada", input: job), is: "story\n")
    try await world.drain()
    let text = try await world.succeed("campaign", "manifest", "story")
    let manifest = try JSONObject(text)
    expect(manifest.text("campaign") == "story" && manifest.text("state") == "completed")
    expect(manifest.bool("isFinal"), is: true)
    expect(manifest.object("audience")?.number("targets"), is: 40)
    expect(manifest.object("audience")?.number("users"), is: 40)
    expect(manifest.object("audience")?.text("digest")?.count, is: 64)
    expect(manifest.object("outcomes")?.numbers, is: ["accepted": 40])
    expect(manifest.object("settings")?.text("lane"), is: "bulk")
    expect(text.contains(#""what":"submit","by":"ada""#) && text.contains(#""what":"completed""#))
    // The manifest contains no users and no texts.
    expect(!text.contains("u1") && !text.contains("alert"))
    expect(
      try await world.succeed("campaign", "manifest", "story", "--check", "-", input: text).contains("matches its"))
    // The manifest is the same for every user and at every time.
    expect(try await world.succeed("campaign", "manifest", "story"), is: text)
    let changed = text.replacing(#""accepted":40"#, with: #""accepted":41"#)
    let output = try await world.run("campaign", "manifest", "story", "--check", "-", input: changed)
    expect(output.exit == .status(1) && output.standardError.contains("its SHA-256 does not match"))
    // Another program has changed a field of the campaign in Redis.
    try await world.server.command("hincrby", "{\(world.namespace)}:campaign:story", "pruned", "1")
    let late = try await world.run("campaign", "manifest", "story", "--check", "-", input: text)
    expect(late.exit == .status(1) && late.standardError.contains("differs from its manifest: pruned"))
    try await world.submit("other")
    expect(try await world.run("campaign", "manifest", "other").exit, is: .status(1))
    let wrong = try await world.run("campaign", "manifest", "other", "--check", "-", input: text)
    expect(
      wrong.exit == .status(1) && wrong.standardError.contains("is the manifest of campaign 'story', not of 'other'"))
  }

  /// 20 users have a token for alerts, and 15 of them also have a token for widgets: 35 pushes to 20 users.
  @Test func approverSeesTheNumberOfTheEstimateWithWidgets() async throws {
    var world = try await CarillonWorld(engine: "native")
    world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "30"
    _ = try await world.startSimulator()
    _ = try await world.importDevices(20)
    let widgets = (0..<15).map {
      #"{"user":"u\#($0)","token":"\#(CarillonWorld.token(1000 + $0))","kind":"widgets"}"# + "\n"
    }
    try await world.succeed("devices", "import", "--format", "ndjson", "-", input: widgets.joined())
    let job = CarillonWorld.job("goal", more: #","also":["widgets"]"#)
    let estimate = try JSONObject(
      await world.succeed("campaign", "submit", "-", "--estimate", "--json", input: job))
    expect(estimate.number("targets") == 35 && estimate.number("users") == 20)
    let estimateText = try await world.succeed("campaign", "submit", "-", "--estimate", input: job)
    expect(estimateText.hasPrefix("20 users, 35 pushes, about"))
    try await world.succeed("campaign", "submit", "-", "--by", "ada", input: job)
    // Without the refresh of widgets the campaign stays below the limit, although the users have 35 tokens.
    try await world.submit("plain")
    try await world.drain()
    let show = try await world.show("goal")
    expect(show.bool("needsApproval") == true && show.number("estimate") == 35 && show.text("text") == "hi")
    expect(try await world.show("plain").text("state"), is: "completed")
    let text = try await world.succeed("campaign", "show", "goal")
    expect(text.contains("20 users, 35 pushes") && text.contains("needs approval: 35 targets when counted"))
    let status = try await world.run("status")
    expect(status.exit == .status(1) && status.standardOutput.contains("campaign goal waits for approval"))
    let approved = try await world.run("campaign", "approve", "goal", "--by", "grace")
    expect(approved.standardOutput, is: "goal active\n  goal~main active\n  goal~main.widgets active\n")
    expect(approved.standardError, is: "estimate  20 users, 35 pushes\naudience  *\ntext      hi\n")
  }

  /// Eight users have five devices each, all other users have one. An estimate from an average would be 40 pushes too
  /// low.
  @Test func usersWithManyDevicesAreCounted() async throws {
    var world = try await CarillonWorld(engine: "native")
    world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "30"
    _ = try await world.startSimulator()
    _ = try await world.importDevices(200)
    let more = (0..<32).map { #"{"user":"u\#($0 % 8)","token":"\#(CarillonWorld.token(1000 + $0))"}"# + "\n" }
    try await world.succeed("devices", "import", "--format", "ndjson", "-", input: more.joined())
    let users = (0..<8).map { "\"u\($0)\"" }.joined(separator: ",")
    try await world.submit("few", audience: #"{"users":[\#(users)]}"#)
    try await world.drain()
    let show = try await world.show("few")
    expect(show.bool("needsApproval") == true && show.number("estimate") == 40)
  }

  /// At a gate, the pushes of the next stage are not counted. The targets of the first stage are not their number.
  @Test func gateShowsNoEstimateOfAnEarlierStage() async throws {
    var world = try await CarillonWorld(engine: "native")
    _ = try await world.startSimulator()
    _ = try await world.importDevices(20)
    try await world.submit("staged", more: #","stages":[{"users":["u1","u2"],"approval":true}]"#)
    let worker = try await world.start("worker", "--name", "w")
    try await world.until("staged") { $0.bool("needsApproval") == true }
    let show = try await world.show("staged")
    expect(show.number("targets") == 2 && show.number("estimate") == nil, "\(show)")
    expect(try await !world.succeed("campaign", "show", "staged").contains("estimate"))
    expect(await worker.terminate(), is: .status(0))
  }

  @Test func largeCampaignIsSentAfterApprovalByAnotherPerson() async throws {
    var world = try await CarillonWorld(engine: "native")
    world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "30"
    _ = try await world.startSimulator()
    _ = try await world.importDevices(40)
    let job = CarillonWorld.job("big", more: #","results":"none""#)
    try await world.succeed("campaign", "submit", "-", "--by", "ada", input: job)
    // Another person submits the same job: it is the same campaign.
    expect(try await world.succeed("campaign", "submit", "-", "--by", "ben", input: job), is: "big\n")
    try await world.drain()
    var show = try await world.show("big")
    expect(show.text("state") == "paused" && show.bool("needsApproval") == true && show.text("submittedBy") == "ada")
    expect(
      show.text("reason")?.hasPrefix(
        "needs approval: 40 targets when counted, and app news requires approval above 30"), is: true)
    expect(show.number("estimate") == 40 && show.text("text") == "hi")
    let own = try await world.run("campaign", "approve", "big", "--by", "ada")
    expect(own.exit == .status(1) && own.standardError.contains("ask another person to approve it"))
    expect(try await world.run("campaign", "resume", "big").exit, is: .status(1))
    expect(try await world.succeed("campaign", "approve", "big", "--by", "grace"), is: "big active\n")
    try await world.drain()
    show = try await world.show("big")
    expect(show.text("state") == "completed" && show.text("approvedBy") == "grace")
    // The size of a defined segment is the number of users that its definition matches.
    try await world.succeed("segment", "define", "early", "*", "--where", "registeredAt > 1d")
    try await world.succeed(
      "campaign", "submit", "-", input: CarillonWorld.job("ruled", audience: #"{"segment":"early"}"#))
    try await world.drain()
    expect(try await world.show("ruled").bool("needsApproval"), is: true)
    let manifest = try await world.succeed("campaign", "manifest", "big")
    expect(manifest.contains(#""what":"approve","by":"grace""#))
  }

  @Test func sweepFindsUnregisteredDevicesSilently() async throws {
    var world = try await CarillonWorld(engine: "native")
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(20)
    try await simulator.load([
      "\(tokens[3]),unregistered,com.example.news,1769904000000",
      "\(tokens[4]),unregistered,com.example.news,1769904000000",
    ])
    expect(try await world.succeed("devices", "sweep", "news", "--rate", "1000", "--id", "sweep"), is: "sweep\n")
    try await world.drain()
    let show = try await world.show("sweep")
    expect(show.text("state") == "completed" && show.text("lane") == "bulk" && show.number("pruned") == 2)
    expect(show.object("outcomes")?.numbers, is: ["accepted": 18, "unregistered": 2])
    let output = try await world.run("devices", "sweep", "nwes")
    expect(output.exit == .status(65) && output.standardError.contains("no app 'nwes'"))
    expect(try await world.run("devices", "sweep", "news", "--rate", "0").exit, is: .status(64))
  }
}
