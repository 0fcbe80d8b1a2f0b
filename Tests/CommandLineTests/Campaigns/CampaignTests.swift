import PushTransport
import APNs
import Foundation
import TestKit
import TestSupport
import Testing

@Suite(.takesTurns) struct CampaignTests {
  @Test func sameJobChangesNothingAndAnotherIsAConflict() async throws {
    let world = try await CarillonWorld()
    let job = CarillonWorld.job("spring")
    expect(try await world.succeed("campaign", "submit", "-", input: job), is: "spring\n")
    let again = try await world.run("campaign", "submit", "-", input: " " + job)
    expect(again.exit == .status(0) && again.standardOutput == "spring\n")
    expect(again.standardError.contains("nothing changes"))
    let json = try JSONObject(await world.succeed("campaign", "submit", "-", "--json", input: job))
    expect(json.text("id") == "spring" && json.bool("duplicate") == true)
    let other = try await world.run(
      "campaign", "submit", "-", "--json", input: CarillonWorld.job("spring", more: #","lane":"bulk""#))
    expect(other.exit, is: .status(65))
    expect(try JSONObject(other.standardError).object("error")?.text("code"), is: "conflict")
  }

  @Test func campaignBeforeIntakeIsShownAsQueued() async throws {
    let world = try await CarillonWorld()
    // A producer pushed this job itself. Carillon only knows that the job is in the list.
    let list = "{\(world.namespace)}:campaigns"
    try await world.server.command("lpush", list, CarillonWorld.job("first") + "\n")
    try await world.submit("early", more: #","lane":"bulk""#)
    let show = try await world.show("early")
    expect(show.text("state") == "queued" && show.text("lane") == "bulk" && show.text("app") == "news")
    expect(show.object("slices")?.numbers == ["done": 0, "sealed": 0, "total": 0] && show.number("pending") == 0)
    expect(try await !world.succeed("campaign", "show", "early", "--json").contains("0.0"))
    expect(show.object("queue")?.text("list"), is: list)
    expect(show.object("queue")?.numbers, is: ["position": 2, "length": 2])
    expect(show.object("waiting")?.text("reason")?.contains("no worker runs"), is: true)
    expect(
      try await world.succeed("campaign", "show", "early").contains("queued: in the queue, position 2 of 2"))
    let listed = try JSONObject.all(in: await world.succeed("campaign", "list", "--json"))
    expect(listed.map { $0.text("id") } == ["early", "first"] && listed.allSatisfy { $0.names == show.names })
    expect(try JSONObject.all(in: await world.succeed("campaign", "list", "--state", "queued", "--json")).count, is: 2)
    expect(try await world.succeed("campaign", "list", "--state", "active", "--json"), is: "[]\n")
    let text = try await world.run("campaign", "list")
    expect(text.standardOutput.contains("first  queued  news  normal  1 of 2 in the queue"))
    expect(text.standardError.contains("waiting: no worker runs"))
    let watch = try await world.start("campaign", "watch", "early")
    expect(
      await watch.line(containing: "early queued  in the queue, position 2 of 2  waiting: no worker") != nil)
    for verb in ["pause", "resume"] {
      let output = try await world.run("campaign", verb, "early")
      output.expect(
        exit: 1, saying: "its job is in the queue, position 2 of 2", "to remove the job: carillon campaign cancel early"
      )
    }
    let cancelled = try await world.run("campaign", "cancel", "first")
    expect(cancelled.exit == .status(0) && cancelled.standardOutput == "first cancelled\n")
    expect(cancelled.standardError.contains("removed"))
    expect(try await world.succeed("campaign", "cancel", "early", "--json").contains(#""state":"cancelled""#))
    expect(await watch.waitForExit(), is: .status(1))
    expect(try await world.server.command("llen", list), is: "0")
    expect(try await world.run("campaign", "show", "early").exit, is: .status(1))
    let unknown = try await world.run("campaign", "show", "late", "--json")
    expect(unknown.exit, is: .status(1))
    expect(try JSONObject(unknown.standardError).object("error")?.text("code"), is: "notFound")
    expect(try await world.succeed("campaign", "list", "--json"), is: "[]\n")
  }

  @Test(arguments: PushEngineKind.one(for: "finishedCampaignIsShownAsDocumented"))
  func finishedCampaignIsShownAsDocumented(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(40)
    try await simulator.load([
      "\(tokens[3]),unregistered,com.example.news,1769904000000", "\(tokens[4]),bad,com.example.news,",
    ])
    try await world.submit("done", more: #","lane":"bulk""#)
    try await world.drain()
    let show = try await world.show("done")
    expect(
      show.names,
      is: [
        "id", "state", "reason", "app", "lane", "audience", "rate", "targets", "estimate", "outcomes", "pending",
        "inDoubt", "retrying", "pruned", "quarantined", "resent", "receipts", "slices", "createdAt", "sendAt",
        "startedAt", "finishedAt", "reach",
      ])
    expect(show.text("state") == "completed" && show.text("lane") == "bulk" && show.isNull("reason"))
    expect(show.number("targets") == 40 && show.number("estimate") == 40)
    expect(show.object("outcomes")?.numbers, is: ["accepted": 38, "unregistered": 1, "badToken": 1])
    expect(show.number("pruned") == 1 && show.number("quarantined") == 1 && show.number("pending") == 0)
    expect(show.object("slices")?.numbers, is: ["done": 8, "sealed": 8, "total": 8])
    expect(show.text("finishedAt")?.hasSuffix("Z"), is: true)
    let list = try JSONObject.all(in: await world.succeed("campaign", "list", "--state", "completed", "--json"))
    expect(try await world.succeed("campaign", "list", "--state", "paused", "--json"), is: "[]\n")
    // The audience is only in the job, and the receipts are in every partition. `campaign list` reads neither.
    expect(list.map(\.names), is: [show.names.filter { $0 != "audience" && $0 != "receipts" }])
    expect(show.object("receipts")?.numbers, is: ["delivered": 0, "opened": 0, "dismissed": 0])
    expect(show.object("audience")?.text("segment"), is: "*")
    expect(try await world.succeed("campaign", "show", "done").contains("audience        *\n"))
    expect(try await world.succeed("campaign", "show", "done").contains("  accepted      38\n"))
    expect(try await world.succeed("campaign", "list").contains("done  completed  news  bulk  40 of 40 (100%)  8/8"))
    let watch = try await world.run("campaign", "watch", "done")
    expect(watch.exit, is: .status(0))
    expect(
      watch.standardOutput, is: "done completed  40 of 40 (100%)  accepted 38  unregistered 1  badToken 1\n")

    try await checkResults(world, tokens)
    let device = try JSONObject(await world.succeed("devices", "show", "u4", "--json")).objects("devices")?.first
    expect(device?.bool("quarantined"), is: true)
    expect(try await world.run("devices", "show", "u3").exit, is: .status(1))
  }

  private func checkResults(_ world: CarillonWorld, _ tokens: [String]) async throws {
    let all = try JSONObject.all(in: await world.succeed("results", "export", "done"))
    expect(Set(all.compactMap { $0.text("token") }), is: Set(tokens))
    expect(all.count, is: 40)
    let gone = try await world.succeed("results", "export", "done", "--only", "unregistered")
    let line = try JSONObject(gone)
    expect(line.names, is: ["campaign", "user", "token", "outcome", "status", "reason", "apnsId", "at"])
    expect(line.text("user") == "u3" && line.number("status") == 410 && line.text("reason") == "Unregistered")
    expect(line.text("apnsId")?.count, is: 36)
    expect(try await world.succeed("results", "show", "done", "--token", tokens[3], "--json"), is: gone)
    expect(
      try await world.succeed("results", "show", "done", "--token", tokens[4]).contains("reason    BadDeviceToken"))
    let csv = try await world.succeed("results", "export", "done", "--format", "csv", "--only", "badToken")
    expect(csv.hasPrefix("campaign,user,token,outcome,status,reason,apnsId,at\r\ndone,u4,\(tokens[4]),badToken,400,"))
    let ofUser = try await world.succeed("results", "show", "done", "--user", "u3", "--json")
    expect(ofUser, is: gone)
    expect(try await world.succeed("results", "show", "done", "--user", "u4").contains("reason    BadDeviceToken"))
    let other = try await world.run("results", "show", "done", "--user", "u99")
    expect(other.exit == .status(1) && other.standardError.contains("user 'u99' had no target of campaign 'done'"))
    expect(try await world.run("results", "show", "done").exit, is: .status(64))
    for command in [["results", "export", "done"], ["devices", "export"]] {
      let both = try await CarillonCommand.run(
        command + ["--format", "csv", "--json"], environment: world.environment)
      expect(both.exit == .status(64) && both.standardOutput.isEmpty)
      expect(both.standardError.contains("--format csv and --json contradict each other"))
    }
    expect(try await world.run("results", "export", "done", "--spreadsheet-safe").exit, is: .status(64))
    let stranger = try await world.run("results", "show", "done", "--token", "00ff")
    expect(stranger.exit == .status(1) && stranger.standardError.contains("was not a target"))
    let missing = try await world.run("results", "export", "other")
    expect(missing.exit == .status(1) && missing.standardError.contains("there is no campaign 'other'"))
  }

  @Test(arguments: PushEngineKind.one(for: "cellsThatASpreadsheetWouldRunAreMadeSafe"))
  func cellsThatASpreadsheetWouldRunAreMadeSafe(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator()
    try await world.succeed("devices", "register", "--user", "=1+1", "--token", "00ff")
    try await world.submit("cells")
    try await world.drain()
    expect(try await world.succeed("results", "export", "cells", "--format", "csv").contains("cells,=1+1,00ff"))
    let safe = try await world.succeed("results", "export", "cells", "--format", "csv", "--spreadsheet-safe")
    expect(safe.contains("cells,'=1+1,00ff"))
  }

  @Test(arguments: PushEngineKind.one(for: "watchFollowsPauseResumeAndCancel"))
  func watchFollowsPauseResumeAndCancel(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    try await world.startSimulator("--latency", "200ms")
    try await world.importDevices(2000)
    world.environment["CARILLON_WORKER_WINDOW"] = "20"
    let worker = try await world.start("worker", "--json")
    try await world.submit("slow")
    let watch = try await world.start("campaign", "watch", "slow", "--json")
    try await world.until("slow") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }
    let answer = try await world.succeed("campaign", "pause", "slow", "--reason", "lunch")
    expect(answer.contains(#/^slow paused: [\d,]+ accepted, [\d,]+ without an outcome\n$/#), "\(answer)")
    let paused = try await world.show("slow")
    expect(paused.text("state") == "paused" && paused.text("reason") == "lunch")
    // An open slice sends only sealed targets.
    expect(paused.object("slices")?.number("sealed") ?? 0 > 0)
    try await world.until("slow") { $0.number("inDoubt") == 0 }
    expect(try await world.succeed("campaign", "resume", "slow", "--json").contains(#""state":"active""#))
    expect(try await world.succeed("campaign", "cancel", "slow").hasPrefix("slow cancelled: "))
    try await world.until("slow") { $0.text("finishedAt") != nil }
    let ended = try await world.show("slow")
    expect(ended.text("state") == "cancelled" && ended.number("pending") == 0)
    expect(ended.object("outcomes")?.number("cancelled") ?? 0 > 0)
    let late = try await world.run("campaign", "resume", "slow")
    expect(late.exit == .status(1) && late.standardError.contains("can't resume campaign 'slow': it is cancelled"))
    // `watch` exits with 1: the campaign did not complete.
    expect(await watch.waitForExit(), is: .status(1))
    let lines = await watch.lines.reduce(into: "") { $0 += $1 + "\n" }
    expect(try JSONObject.all(in: lines).last?.text("state"), is: "cancelled")
    expect(await worker.terminate(), is: .status(0))
  }

  /// `list` counts only finished slices. It shows their targets as a share of the estimate for the whole campaign.
  @Test(arguments: PushEngineKind.one(for: "listShowsSharesOfTheEstimate"))
  func listShowsSharesOfTheEstimate(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(40)
    // One target is retried much later, so its slice stays open.
    let refusal = #"{"tokenFailures":[{"token":"\#(tokens[0])","status":503,"reason":"ServiceUnavailable","times":9}]}"#
    try await simulator.set(refusal)
    let worker = try await world.start("worker")
    try await world.submit("half")
    try await world.until("half") { $0.object("slices")?.number("done") == 7 }
    let list = try await world.succeed("campaign", "list")
    expect(list.contains(" of about "), "\(list)")
    let json = try #require(try JSONObject.all(in: await world.succeed("campaign", "list", "--json")).first)
    let (targets, estimate) = (json.number("targets") ?? 0, json.number("estimate") ?? 0)
    expect(targets < 40 && estimate == targets * 8 / 7)
    expect(await worker.terminate(), is: .status(0))
  }

  @Test(arguments: PushEngineKind.one(for: "watchEndsWhenTheCampaignPausesItself"))
  func watchEndsWhenTheCampaignPausesItself(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(40)
    try await simulator.load(tokens.map { #"{"token":"\#($0)","state":"bad"}"# })
    world.environment["CARILLON_GUARD_MINIMUM"] = "10"
    try await world.submit("wrong")
    let worker = try await world.start("worker")
    let watch = try await world.run("campaign", "watch", "wrong")
    expect(watch.exit, is: .status(1))
    expect(watch.standardOutput.contains("wrong paused: "), "\(watch.standardOutput)")
    expect(watch.standardOutput.contains("probably the wrong environment"), "\(watch.standardOutput)")
    expect(await worker.terminate(), is: .status(0))
  }

  @Test(arguments: PushEngineKind.one(for: "showReportsAMissingPushServiceOrFleet"))
  func showReportsAMissingPushServiceOrFleet(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:1"
    try await world.importDevices(3)
    try await world.submit("stuck")
    let worker = try await world.start("worker")
    try await world.until("stuck") {
      $0.object("waiting")?.text("reason")?.contains("push service unreachable at https://127.0.0.1:1") == true
    }
    expect(try await world.succeed("campaign", "show", "stuck").contains("waiting     push service unreachable"))
    let watch = try await world.start("campaign", "watch", "stuck")
    expect(await watch.line(containing: "waiting: push service unreachable") != nil)
    expect(await worker.terminate(), is: .status(0))
    let wait = try #require(try await world.show("stuck").object("waiting"))
    expect(wait.text("reason")?.contains("no worker runs; start one: carillon worker"), is: true)
    expect(await watch.line(containing: "waiting: no worker runs") != nil)
    expect(try await world.run("campaign", "list").standardError.contains("waiting: no worker runs"))
  }

  @Test func submitPrintsTheWarningsOfLint() async throws {
    let world = try await CarillonWorld(devices: 1)
    let job = CarillonWorld.job("typo").replacing(#""alert":"hi""#, with: #""alert":"hi","x-mine":1"#)
    let output = try await world.run("campaign", "submit", "-", input: job)
    expect(output.exit == .status(0) && output.standardOutput == "typo\n")
    expect(
      output.standardError,
      is: "warning: apns.payload.aps.x-mine: is not one of Apple's keys: the app can't read it inside aps "
        + "(move it out of aps, to the top level)\n"
    )
    let json = try JSONObject(await world.succeed("campaign", "submit", "-", "--json", input: job))
    expect(json.objects("warnings")?.compactMap { $0.text("rule") }, is: ["aps-custom"])
    let payload = try await world.run("campaign", "submit", "-", input: #"{"aps":{"alert":"hi"}}"#)
    expect(payload.exit == .status(65) && payload.standardError.contains("this is a payload, not a job"))
  }

  /// Redis stores an id longer than its campaign. Neither a lost nor an expired campaign is in a queue.
  @Test func lostOrExpiredCampaignIsNotShownAsQueued() async throws {
    let world = try await CarillonWorld(devices: 1)
    try await world.submit("lost")
    try await world.server.command("del", "{\(world.namespace)}:campaigns")
    try await world.submit("old", audience: #"{"segment":"* & !*"}"#)
    try await world.drain()
    try await world.server.command("del", "{\(world.namespace)}:campaign:old")
    for (id, says) in [
      ("lost", "is in no list of Redis\n  hint: the job may be lost"), ("old", "its results have expired"),
    ] {
      for verb in ["show", "watch", "cancel"] {
        let output = try await world.run("campaign", verb, id)
        expect(output.exit == .status(1) && output.standardError.contains(says), "\(output.standardError)")
      }
    }
  }

  @Test func scheduledCampaignIsShownPausedAndCancelled() async throws {
    let world = try await CarillonWorld(devices: 10)
    let sendAt = Date(timeIntervalSinceNow: 3600).ISO8601Format()
    try await world.submit("later", more: #","sendAt":"\#(sendAt)""#)
    // A scheduled campaign does not prevent the worker from draining.
    try await world.drain()
    let show = try await world.show("later")
    expect(show.text("state"), is: "scheduled")
    expect(show.text("sendAt")?.hasPrefix(sendAt.dropLast()), is: true)
    expect(show.isNull("startedAt"))
    expect(try await world.succeed("campaign", "show", "later").contains("scheduled for \(sendAt.dropLast())"))
    expect(try await world.succeed("campaign", "list").contains("later  scheduled for \(sendAt.dropLast())"))
    let watch = try await world.start("campaign", "watch", "later")
    expect(await watch.line(containing: "later scheduled for \(sendAt.dropLast())") != nil)
    expect(try await world.succeed("campaign", "pause", "later"), is: "later paused\n")
    expect(try await world.succeed("campaign", "resume", "later"), is: "later scheduled\n")
    expect(try await world.succeed("campaign", "cancel", "later", "--json").contains(#""unconfirmed":[]"#))
    expect(await watch.waitForExit(), is: .status(1))
    let ended = try await world.show("later")
    expect(ended.text("state") == "cancelled" && ended.number("targets") == 0 && !ended.isNull("finishedAt"))

    let far = Date(timeIntervalSinceNow: 400 * 86_400).ISO8601Format()
    let output = try await world.run(
      "campaign", "submit", "-", input: CarillonWorld.job("far", more: #","sendAt":"\#(far)""#))
    output.expect(exit: 65, saying: "more than 366 days ahead\n  hint: check the year")
  }

  @Test func watchReportsWhyAJobIsInvalid() async throws {
    let world = try await CarillonWorld()
    // The worker's configuration has no app `sport`; the submitter's configuration has this app.
    var producer = world
    let yaml = "apps: { sport: { apns: { topic: a, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } } }"
    producer.environment["CARILLON_CONFIG"] = try world.folder.write("producer.yaml", yaml)
    let job = CarillonWorld.job("lost").replacing(#""app":"news""#, with: #""app":"sport""#)
    try await producer.succeed("campaign", "submit", "-", input: job)
    try await world.drain()
    for verb in ["watch", "show"] {
      let output = try await world.run("campaign", verb, "lost")
      output.expect(exit: 1, saying: "could not be run: app: no app 'sport' in the configuration")
    }
  }

  @Test(arguments: PushEngineKind.one(for: "companionCampaignIsShownWithItsCampaign"))
  func companionCampaignIsShownWithItsCampaign(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    _ = try await world.importDevices(3)
    try await world.succeed(
      "devices", "register", "--user", "u1", "--token", CarillonWorld.token(9), "--kind", "widgets")
    try await simulator.load(["\(CarillonWorld.token(9)),registered,com.example.news.push-type.widgets,"])
    try await world.submit("goal", more: #","also":["widgets"]"#)
    try await world.drain()
    let also = try #require(try await world.show("goal").objects("parts")?.last)
    expect(also.text("id") == "goal~main.widgets" && also.text("state") == "completed" && also.number("targets") == 1)
    expect(also.object("outcomes")?.numbers, is: ["accepted": 1])
    let text = try await world.succeed("campaign", "show", "goal")
    expect(text.contains("goal~main.widgets completed: 1 of 1 (100%)"), "\(text)")
    expect(try await world.show("goal~main.widgets").objects("parts") == nil)
  }
}
