import PushTransport
import Foundation
import TestKit
import TestSupport
import Testing

/// Suppression lists, and the number of users that an audience has after them.
@Suite(.takesTurns) struct SuppressionTests {
  @Test func everyCampaignObeysListsOfAppAndCategory() async throws {
    let world = try await CarillonWorld(devices: 20)
    try await world.succeed("suppression", "import", "news", "-", input: "user\nu1\nu2\nghost\n")
    expect(
      try await world.succeed("suppression", "add", "news", "u3", "u4", "--category", "offers"),
      is: "2 added to the suppression list of news, category offers\n")
    let lists = try JSONObject.all(in: await world.succeed("suppression", "list", "--json"))
    expect(lists.map(\.names), is: [["app", "category", "users"], ["app", "category", "users"]])
    expect(lists.map { $0.text("category") } == [nil, "offers"] && lists.map { $0.number("users") } == [3, 2])
    expect(try await world.succeed("suppression", "list").contains("news  offers    2"))
    let members = try await world.succeed("suppression", "export", "news")
    expect(members.split(separator: "\n").sorted(), is: ["ghost", "u1", "u2"])
    // Suppression lists are not segments: a job can't name them, and `segment remove` can't remove them.
    expect(try await world.succeed("segment", "list", "--json"), is: "[]\n")
    expect(try await world.run("segment", "remove", "~news").exit, is: .status(1))
    let shown = try JSONObject(await world.succeed("devices", "show", "u3", "--json"))
    expect(shown.objects("suppression")?.map { $0.text("category") }, is: ["offers"])
    expect(try await world.succeed("devices", "show", "u1").contains(#/suppressed +by news\n/#))

    for (more, users) in [
      ("", 18), (#","category":"offers""#, 16), (#","category":"other""#, 18), (#","transactional":true"#, 20),
    ] {
      let job = CarillonWorld.job("c", audience: #"{"segment":"*"}"#, more: more)
      let count = try JSONObject(await world.succeed("campaign", "submit", "-", "--estimate", "--json", input: job))
      expect(count.names, is: ["id", "users", "targets", "bytes", "warnings"])
      expect(count.number("users") == users && count.number("targets") == users, "\(more)")
    }
    let listed = CarillonWorld.job("c", audience: #"{"users":["u1","u5","nobody"]}"#)
    expect(
      try await world.succeed("campaign", "submit", "-", "--estimate", input: listed),
      is: "1 user, 1 push, about 1 MiB of Redis' memory\n")
    // No job was submitted and no temporary key remains.
    expect(try await world.succeed("campaign", "list", "--json"), is: "[]\n")
    expect(try await world.server.command("keys", "{\(world.namespace)*:audience:*").isEmpty)

    expect(
      try await world.succeed("suppression", "remove", "news", "u1"),
      is: "removed 1 from the suppression list of news\n")
    expect(try await world.run("suppression", "remove", "news", "u1").exit, is: .status(1))
    try await world.succeed("suppression", "import", "news", "-", "--replace", "--allow-shrink", input: "u9\n")
    expect(try await world.succeed("suppression", "export", "news"), is: "u9\n")
  }

  @Test func invalidSuppressionListIsRefused() async throws {
    let world = try await CarillonWorld()
    let app = try await world.run("suppression", "add", "nwes", "u1")
    expect(app.exit == .status(65) && app.standardError.contains("no app 'nwes'"))
    expect(app.standardError.contains("news"))
    let category = try await world.run("suppression", "add", "news", "u1", "--category", "a~b")
    expect(category.exit == .status(65) && category.standardError.contains("is not a valid category name"))
  }

  @Test(arguments: PushEngineKind.one(for: "showCountsSuppressedUsers"))
  func showCountsSuppressedUsers(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.importDevices(4)
    let job = CarillonWorld.job("new", audience: #"{"segment":"*","exclude":{"campaign":"old"}}"#)
    let missing = try await world.run("campaign", "submit", "-", input: job)
    expect(missing.exit == .status(65) && missing.standardError.contains("campaign 'old', which does not exist"))
    // The job waits for a queued campaign, but the audience of that campaign is not known yet.
    try await world.submit("old", audience: #"{"users":["u1"]}"#)
    let early = try await world.run("campaign", "submit", "-", "--estimate", input: job)
    expect(early.exit == .status(65) && early.standardError.contains("campaign old, which has not ended"))
    try await world.succeed("campaign", "submit", "-", input: job)
    _ = try await world.startSimulator()
    try await world.drain()
    let show = try await world.show("new")
    expect(show.number("targets"), is: 3)
    let exclude = show.object("audience")?.object("exclude")
    expect(exclude?.names, is: ["campaign", "outcome"])
    expect(
      try await world.succeed("campaign", "show", "new").contains(
        "*, without accepted or unknown of campaign old"))
  }

  /// An import changes nothing if a newer list took effect while the import was still reading.
  @Test func listOlderThanTheCurrentOneIsRefused() async throws {
    let world = try await CarillonWorld()
    let pipe = world.folder.path("slow.csv")
    try #require(mkfifo(pipe, 0o600) == 0)
    // The pipe is open for reading and writing, so that neither end waits for the other (fifo(7)). Child processes must
    // not inherit it.
    let end = open(pipe, O_RDWR | O_CLOEXEC)
    try #require(end >= 0)
    let slow = try await world.start("suppression", "import", "news", pipe, "--replace")
    // The import has begun when it records new opt-outs.
    try await poll(until: "the import has begun") {
      try await world.server.command("exists", "{\(world.namespace):0}:arrivals:~news") == "1"
    }
    try await world.succeed("suppression", "import", "news", "-", "--replace", input: "ben\n")
    expect(write(end, "ada\n", 4), is: 4)
    close(end)
    expect(await slow.waitForExit(), is: .status(65))
    expect(await slow.errorLine(containing: "another import of a newer list finished first") != nil)
    expect(try await world.succeed("suppression", "export", "news"), is: "ben\n")
  }
}
