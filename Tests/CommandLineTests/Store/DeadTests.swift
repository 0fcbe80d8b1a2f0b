import PushTransport
import APNs
import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct DeadTests {
  /// Pushes jobs as a producer does, and runs a worker that moves them to the dead list.
  private func deadLetter(_ jobs: [String], _ world: CarillonWorld) async throws -> [JSONObject] {
    for job in jobs { try await world.server.command("lpush", "{\(world.namespace)}:campaigns", job) }
    try await world.drain()
    return try await list(world)
  }

  private func list(_ world: CarillonWorld) async throws -> [JSONObject] {
    try JSONObject.all(in: await world.succeed("dead", "list", "--json"))
  }

  @Test func jobsAreListedShownAndDropped() async throws {
    let world = try await CarillonWorld()
    expect(try await world.succeed("dead", "list", "--json"), is: "[]\n")
    let long = CarillonWorld.job("long", more: #","collapseId":"\#(String(repeating: "x", count: 2000))""#)
    let jobs = try await deadLetter(["{broken", long], world)
    expect(
      jobs.map(\.names), is: Array(repeating: ["key", "at", "id", "reason", "hint", "size", "cut", "job"], count: 2))
    expect(jobs[0].text("id") == "long" && jobs[0].text("job")?.count == 1024)
    expect(jobs[1].isNull("id") && jobs[1].text("job") == "{broken")
    expect(jobs[1].text("reason")?.contains("not valid JSON"), is: true)
    let text = try await world.succeed("dead", "list")
    expect(text.hasPrefix("key ") && text.contains("  long  collapseId: 2000 bytes"))

    let key = try #require(jobs[0].text("key"))
    let shown = try JSONObject(await world.succeed("dead", "show", key, "--json"))
    expect(shown.text("job") == long && shown.bool("cut") == false)
    let whole = try await world.succeed("dead", "show", key)
    expect(whole.contains("reason  collapseId") && whole.hasSuffix(long + "\n"))
    // `campaign show` names the command that shows the dead job.
    let missing = try await world.run("campaign", "show", "long")
    expect(missing.exit == .status(1) && missing.standardError.contains("carillon dead show \(key)"))

    expect(try await world.succeed("dead", "drop", key), is: "\(key) dropped\n")
    for verb in ["show", "drop", "retry"] {
      let output = try await world.run("dead", verb, key)
      output.expect(exit: 1, saying: "there is no job '\(key)' in the dead list", "carillon dead list")
    }
    // Without a terminal the command can't ask for confirmation.
    let unasked = try await world.run("dead", "drop", "--all")
    expect(unasked.exit == .status(64) && unasked.standardError.contains("this drops 1 job for good"))
    expect(try await list(world).count, is: 1)
    expect(try await world.succeed("dead", "drop", "--all", "--yes", "--json").contains(#"{"dropped":[""#))
    expect(try await list(world).isEmpty)
    let empty = try await world.run("dead", "drop", "--all")
    expect(empty.exit == .status(0) && empty.standardError.contains("is empty"))
  }

  @Test(arguments: PushEngineKind.one(for: "retriedJobRunsAfterItsCauseIsRepaired"))
  func retriedJobRunsAfterItsCauseIsRepaired(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(3)
    let job = CarillonWorld.job("repaired", audience: #"{"segment":"vip"}"#)
    let key = try #require(try await deadLetter([job], world).first?.text("key"))
    // A job that is still invalid stays on the dead list.
    let early = try await world.run("dead", "retry", key)
    // The result is the same with the key and with `--all`.
    expect(early.exit, is: .status(1))
    expect(try await world.run("dead", "retry", "--all").exit, is: .status(1))
    expect(early.standardError.contains("job \(key): audience.segment: there is no segment 'vip'"))
    expect(try await list(world).count, is: 1)

    try await world.succeed("segment", "import", "vip", "-", input: "u1\n")
    expect(try await world.succeed("dead", "retry", key), is: "\(key) repaired is back in the queue\n")
    expect(try await list(world).isEmpty)
    try await world.drain()
    expect(try await world.show("repaired").object("outcomes")?.numbers, is: ["accepted": 1])
  }

  @Test(arguments: PushEngineKind.one(for: "failedRetryGivesItsReasonAndBlocksNoOther"))
  func failedRetryGivesItsReasonAndBlocksNoOther(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(3)
    try await world.submit("taken")
    let users = (0..<7000).map { "\"user\($0)\"" }.joined(separator: ",")
    let cut = CarillonWorld.job("cut", audience: #"{"users":[\#(users)],"where":"x"}"#)
    _ = try await deadLetter(
      [
        CarillonWorld.job("good", audience: #"{"segment":"later"}"#), "{broken",
        CarillonWorld.job("taken", audience: #"{"users":["u1"]}"#), cut,
      ], world)
    try await world.succeed("segment", "import", "later", "-", input: "u1\n")
    let output = try await world.run("dead", "retry", "--all")
    expect(output.exit, is: .status(1))
    expect(output.standardOutput.hasSuffix(" good is back in the queue\n"))
    for says in [
      "not valid JSON", "id: 'taken' is already used by another job", "the dead list stores only 65536",
      "3 of 4 jobs were not retried",
    ] {
      expect(output.standardError.contains(says), "\(output.standardError)")
    }
    expect(try await list(world).count, is: 3)
    try await world.drain()
    expect(try await world.show("good").text("state"), is: "completed")
  }

  /// Writes the jobs of the targets of users u0 to u3 to the dead list, in the form of a worker.
  private func deadLetterTargets(_ world: CarillonWorld) async throws {
    for number in 0..<4 {
      let (user, id) = ("u\(number)", "sale.0.\(number)")
      let job = try CampaignJob.forSingleDevice(
        Array(CarillonWorld.job("sale").utf8), token: CarillonWorld.token(number), of: user, suffix: "0.\(number)",
        for: APNsService())
      try await world.server.command(
        "xadd", "{\(world.namespace)}:dead", "*", "reason", "r", "hint", "h", "id", id, "size", String(job.count),
        "job", String(decoding: job, as: UTF8.self), "user", user)
    }
  }

  /// u0 opts out, u1 loses the device, and the device of u2 gets another user.
  private func leave(_ world: CarillonWorld) async throws {
    try await world.succeed("suppression", "add", "news", "u0")
    try await world.succeed("devices", "unregister", "--token", CarillonWorld.token(1))
    try await world.succeed(
      "devices", "register", "--user", "other", "--app", "news", "--token", CarillonWorld.token(2))
  }

  /// The job of one target has text for that user. A retry must not send it to the device's new user, nor to a user who
  /// opted out.
  @Test func targetWithoutItsUserIsNotRetried() async throws {
    let world = try await CarillonWorld(devices: 4)
    try await deadLetterTargets(world)
    try await leave(world)
    let output = try await world.run("dead", "retry", "--all")
    expect(output.exit, is: .status(1))
    expect(output.standardOutput.hasSuffix(" sale.0.3 is back in the queue\n"), "\(output.standardOutput)")
    for number in 0..<3 {
      expect(output.standardError.contains("user 'u\(number)' has opted out or no longer has the"))
    }
    expect(try await list(world).count, is: 3)
  }

  @Test(arguments: PushEngineKind.one(for: "retriedTargetOfAUserWhoLeftIsNotSent"))
  func retriedTargetOfAUserWhoLeftIsNotSent(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.importDevices(4)
    // Another device of the user, which the job does not name.
    try await world.succeed(
      "devices", "register", "--user", "u3", "--app", "news", "--token", CarillonWorld.token(9))
    try await deadLetterTargets(world)
    expect(try await world.run("dead", "retry", "--all").exit, is: .status(0))
    try await leave(world)
    try await world.drain()
    for number in 0..<3 { expect(try await world.show("sale.0.\(number)").object("outcomes")?.numbers, is: [:]) }
    expect(try await world.show("sale.0.3").object("outcomes")?.numbers, is: ["accepted": 1])
    let line = try await world.succeed("results", "show", "sale.0.3", "--token", CarillonWorld.token(3), "--json")
    expect(try JSONObject(line).text("outcome"), is: "accepted")
  }

  /// Writes an event to the dead list as a worker does if the app is unknown.
  @Test func eventThatWouldFailAgainStays() async throws {
    let world = try await CarillonWorld(devices: 1)
    func bury(_ event: String, _ list: String) async throws {
      try await world.server.command(
        "xadd", "{\(world.namespace)}:dead", "*", "reason", "event: r", "hint", "h", "size", String(event.utf8.count),
        "job", event, "list", list)
    }
    func register(_ app: String) -> String {
      #"{"op":"register","user":"x","token":"\#(CarillonWorld.token(1))","app":"\#(app)"}"#
    }
    try await bury(register("shop"), "registrations")
    try await bury(#"{"event":"opened"}"#, "receipts")
    // A retry would leave the device without a time zone again.
    try await bury(String(register("news").dropLast()) + #","timezone":"PST"}"#, "registrations")
    let output = try await world.run("dead", "retry", "--all")
    expect(output.exit, is: .status(1))
    for says in ["app: no app 'shop' in", "campaign: ", "'PST' is an abbreviation", "3 of 3 jobs were not retried"] {
      expect(output.standardError.contains(says), "\(output.standardError)")
    }
    let keys = try await list(world).compactMap { $0.text("key") }
    expect(keys.count, is: 3)
    let refused = try await world.run("dead", "retry", keys[0])
    expect(refused.exit == .status(1) && refused.standardError.contains("event \(keys[0]): "))
    expect(refused.standardError.contains("carillon dead drop \(keys[0])"))

    // An event goes back to its list if the configuration contains its app by now.
    try await bury(register("news"), "registrations")
    let known = try #require(try await list(world).compactMap { $0.text("key") }.first { !keys.contains($0) })
    let text = try await world.succeed("dead", "retry", known)
    expect(text, is: "\(known) the event \(known) is back on the list registrations\n")
    expect(try await world.server.command("llen", "{\(world.namespace)}:registrations"), is: "1")
    expect(try await list(world).count, is: 3)
  }

  @Test func logNamesTheJobThatWentToTheDeadList() async throws {
    let world = try await CarillonWorld()
    for job in [CarillonWorld.job("odd", app: "none"), "{broken"] {
      try await world.server.command("lpush", "{\(world.namespace)}:campaigns", job)
    }
    let output = try await world.run("worker", "--drain", "--json")
    let events = try JSONObject.all(in: output.standardError).filter { $0.text("event") == "deadLettered" }
    expect(events.map { $0.text("campaign") }, is: ["odd", "-"])
    expect(events.map { $0.text("key") }, is: try await list(world).reversed().map { $0.text("key") })
  }

  @Test(arguments: [["retry"], ["drop"], ["drop", "1-0", "--all"]])
  func selectionMustBeClear(arguments: [String]) async throws {
    let output = try await CarillonCommand.run(["dead"] + arguments)
    output.expect(exit: 64, saying: "either keys or --all")
  }
}
