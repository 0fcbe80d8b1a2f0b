import Foundation
import TestKit
import TestSupport
import Testing

/// `submit` warns of a job that reaches no user, and `campaign show` explains it.
struct EmptyAudienceTests {
  @Test func submitAndShowExplainAnEmptyAudience() async throws {
    let world = try await CarillonWorld()
    let unmatched = CarillonWorld.job("unmatched", audience: #"{"users":["ada","stranger"],"where":"locale = 'sv'"}"#)
    // No user is registered.
    let empty = try await world.run("campaign", "submit", "-", input: CarillonWorld.job("empty"))
    expect(empty.exit == .status(0) && empty.standardError.contains("warning: audience: the audience has no user now"))
    try await world.succeed("devices", "register", "--user", "ada", "--token", CarillonWorld.token(1), "--app", "news")
    let warned = try JSONObject(await world.succeed("campaign", "submit", "-", "--json", input: unmatched))
    let warning = try #require(warned.objects("warnings")?.first)
    expect(warning.text("rule") == "audience-reaches-no-user" && warning.text("severity") == "warning")
    let reasons = "1 without a device, 1 filtered out by the condition (where)"
    expect(warning.text("message"), is: "the audience has no user who gets a push now: \(reasons)")
    // `submit` does not warn of a job that reaches a user.
    let some = try await world.run("campaign", "submit", "-", input: CarillonWorld.job("some"))
    expect(some.exit == .status(0) && !some.standardError.contains("audience"), "\(some.standardError)")

    // The test runs no simulator, so the worker must find no campaign that reaches a user.
    for id in ["empty", "some"] { try await world.succeed("campaign", "cancel", id) }
    let worker = try await world.start("worker", "--drain", "--name", "w", "--json")
    expect(await worker.errorLine(containing: #""event":"reachedNoUser""#)?.contains("filtered out"), is: true)
    expect(await worker.waitForExit(), is: .status(0))
    let reach = try #require(try await world.show("unmatched").object("reach"))
    expect(reach.numbers["audience"] == 2 && reach.numbers["users"] == 0)
    expect(reach.object("leftOut")?.numbers, is: ["noDevice": 1, "notMatching": 1])
    expect(reach.text("noUserReason"), is: "2 users in its audience: \(reasons)")
    let text = try await world.succeed("campaign", "show", "unmatched")
    expect(text.contains("no recipients") && text.contains("2 in the audience, 0 get a push"))
    expect(text.contains("excluded") && text.contains("1 without a device") && !text.contains("registration events"))
    // Simulates a campaign that began before events were applied that had been queued before it.
    try await world.server.command("hset", "{\(world.namespace)}:campaign:unmatched", "eventsNotApplied", "3")
    expect(try await world.show("unmatched").object("reach")?.number("eventsNotApplied"), is: 3)
    let late = try await world.succeed("campaign", "show", "unmatched")
    let row = late.split(separator: "\n").first { $0.hasPrefix("events ") }
    expect(row?.contains("3 registration events were not applied at the start"), is: true, "\(late)")
  }
}
