import Foundation
import TestKit
import TestSupport
import Testing

/// Variants in the output of commands. The worker that sends them is killed.
@Suite(.takesTurns) struct VariantTests {
  private static let more = #"""
    ,"variants":[{"name":"plain"},{"name":"short","weight":3,"apns":{"payload":{"aps":{"alert":"!"}}}}],
    "stages":[{"share":0.5,"winner":{"by":"opened"}}]
    """#

  @Test func variantsCountOnceAlthoughAWorkerIsKilled() async throws {
    var world = try await CarillonWorld(partitions: 4, engine: "native")
    try await world.startSimulator("--latency", "20ms")
    try await world.importDevices(400)
    let job = CarillonWorld.job("ab", more: Self.more)
    let lint = try await world.succeed("lint", "-", input: job)
    expect(lint.contains("variants: plain 25 %, short 75 %"), "\(lint)")
    try await world.submit("ab", more: Self.more)
    let names = Array(0..<20).map { "u\($0)" }
    var observed: [String: String] = [:]
    for name in names {
      let preview = try await world.run("campaign", "preview", "-", "--user", name, "--json", input: job)
      let report = try JSONObject(preview.standardOutput)
      expect(preview.exit == .status(0) && report.bool("waits") == report.isNull("variant"))
      observed[name] = report.text("variant")
      let alert = report.objects("pushes")?.first?.object("payload")?.object("aps")?.text("alert")
      expect(alert, is: ["plain": "hi", "short": "!"][observed[name] ?? ""], "\(name)")
    }
    expect((3...17).contains(observed.count))
    // The window is so small that the worker dies in the middle of the campaign.
    world.environment["CARILLON_WORKER_WINDOW"] = "20"
    let killed = try await world.start("worker", "--name", "killed")
    try await world.until("ab") { ($0.object("outcomes")?.number("accepted") ?? 0) > 20 }
    killed.send(signal: SIGKILL)
    _ = await killed.waitForExit()
    let heir = try await world.start("worker", "--name", "heir")
    // No user has opened the push, so the gate can't choose the best variant.
    try await world.until("ab") { $0.text("state") == "paused" }
    let waiting = try await world.show("ab")
    expect(waiting.object("winner")?.isNull("variant") == true && waiting.object("winner")?.text("by") == "opened")
    expect(waiting.text("reason")?.hasPrefix("stage 1: no winner: 0 opened in total"), is: true)
    expect(waiting.object("gate")?.number("stage") == 1 && waiting.object("gate")?.isNull("opensAt") == false)
    expect(waiting.objects("parts")?.map { $0.text("state") }, is: ["completed", "paused"])
    let unknown = try await world.run("campaign", "decide", "ab", "shrt")
    expect(unknown.exit == .status(65) && unknown.standardError.contains("did you mean 'short'?"))
    let decided = try await world.succeed("campaign", "decide", "ab", "short", "--by", "ada")
    expect(decided, is: "ab active: later stages get short\n")
    try await world.until("ab") { $0.text("state") == "completed" }
    expect(await heir.terminate(), is: .status(0))
    let other = try await world.run("campaign", "decide", "ab", "plain")
    expect(other.exit, is: .status(1))
    try await expectCounts(world, observed)
  }

  /// Compares the counts of each variant with the results of each target.
  private func expectCounts(_ world: CarillonWorld, _ observed: [String: String]) async throws {
    let show = try await world.show("ab")
    let winner = try #require(show.object("winner"))
    expect(winner.text("variant") == "short" && winner.text("decidedBy") == "ada" && !winner.isNull("decidedAt"))
    let results = try JSONObject.all(in: await world.succeed("results", "export", "ab"))
    expect(results.count == 400 && results.allSatisfy { $0.text("outcome") == "accepted" })
    var counted: [String: Int] = [:]
    for variant in show.objects("variants") ?? [] {
      let accepted = variant.object("outcomes")?.number("accepted") ?? 0
      expect(variant.number("targets") == accepted && variant.object("outcomes")?.numbers == ["accepted": accepted])
      counted[variant.text("name") ?? ""] = accepted
    }
    expect(counted, is: Dictionary(grouping: results) { $0.text("variant") ?? "" }.mapValues(\.count))
    expect(counted.values.reduce(0, +), is: 400)
    for result in results {
      let user = result.text("user") ?? ""
      if let variant = observed[user] { expect(result.text("variant"), is: variant, "\(user)") }
    }
    let text = try await world.succeed("campaign", "show", "ab")
    expect(text.contains("variant plain") && text.contains("short, by ada"), "\(text)")
    let csv = try await world.succeed("results", "export", "ab", "--format", "csv")
    expect(csv.hasPrefix("campaign,user,token,outcome,status,reason,apnsId,at,variant,stage\r\n"), "\(csv.prefix(80))")
    let manifest = try JSONObject(await world.succeed("campaign", "manifest", "ab"))
    expect(manifest.text("variants")?.count, is: 64, "\(manifest.names)")
  }
}
