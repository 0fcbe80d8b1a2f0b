import FaultKit
import Foundation
import PushCore
import PushTransport
import TestKit
import TestSupport
import Testing

/// The pages of `deploy/stories`, run line by line, so that pages and program always agree. One page uses one engine,
/// the other page the other engine.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct StoryTests {
  /// A store with the namespace of the pages, its simulator with a log, and a worker.
  private struct Scene {
    var world: CarillonWorld
    let server: RedisServer
    let simulator: SimulatorProcess
    let folder: ScratchFolder
    var log: URL { URL(fileURLWithPath: folder.path("requests")) }

    init(_ engine: PushEngineKind, latency: String) async throws {
      server = try await RedisServer.start()
      folder = try ScratchFolder("story")
      world = try await CarillonWorld(partitions: 16, engine: engine.rawValue, server: server)
      world.environment["CARILLON_REDIS_NAMESPACE"] = "carillon"
      simulator = try await world.startSimulator(
        "--latency", latency, "--log", folder.path("requests"), "--log-bodies", "--knob", "tracksCollapse=true")
    }

    func worker() async throws -> ChildProcess {
      let worker = try await world.start("worker", "--name", "w", "--json")
      _ = try #require(await worker.errorLine(containing: #""event":"started""#))
      return worker
    }

    /// Lets the time after a stage pass, once the stage has completed. The stage's end moves into the past, and the
    /// check of its gate is due now.
    func pass(_ seconds: Int, afterStage part: String, of id: String) async throws {
      let key = "{carillon}:campaign:" + part
      try await until("\(part) has completed") { try await server.command("HGET", key, "finishedAt") != "" }
      let end = try #require(Int(try await server.command("HGET", key, "finishedAt")))
      try await server.command("HSET", key, "finishedAt", String(end - seconds * 1000))
      try await server.command("ZADD", "{carillon}:gates", "XX", "0", id)
    }

    /// Waits until the worker has counted this number of openings of a campaign.
    func opened(_ count: Int, of id: String) async throws {
      try await until("\(count) openings of \(id) count") {
        try await world.show(id).object("receipts")?.number("opened") ?? 0 >= count
      }
    }

    /// Returns the received pushes by their title, in the order of their arrival.
    func received() throws -> [String: [SimulatorLog.Request]] {
      let requests = try SimulatorLog(log).requests.sorted { $0.at < $1.at }
      return try Dictionary(grouping: requests) { request in
        let aps = try JSONObject(request.body).object("aps")
        return aps?.object("alert")?.text("title") ?? aps?.text("alert") ?? aps?.text("event") ?? ""
      }
    }

    /// Stops the worker, which has nothing in doubt, and checks every key.
    func close(_ worker: ChildProcess) async throws {
      expect(await worker.terminate(), is: .status(0))
      let check = try await world.run("store", "check")
      expect(check.exit, is: .status(0), "\(check.standardOutput)")
    }
  }

  private static func token(_ number: Int) -> String { CarillonWorld.token(0x5000_0000 + number) }

  // MARK: A newsroom's morning

  private static let zones = ["America/New_York", "Europe/Berlin", "Asia/Tokyo", "Australia/Sydney"]

  @Test func newsroomsMorning() async throws {
    let window = 100
    let readers = 2000
    var scene = try await Scene(.native, latency: "150ms")
    // Seven o'clock in UTC of the nearest day. A job is refused an hour after the last time zone, UTC-12, has shown
    // seven.
    var now = Int(Date().timeIntervalSince1970)
    var seven = now / 86_400 * 86_400 + 7 * 3600
    if seven - now < -(12 * 3600 + 2700) { seven += 86_400 }
    let clocks = try ScratchFolder("zones")
    var due: [String: Int] = [:]
    // A worker reads a zone when it first needs the zone, which is for the briefing. The clocks are set so that it is
    // not yet seven in Tokyo when the page shows that readers wait.
    func setClocks() throws {
      now = Int(Date().timeIntervalSince1970)
      due = ["Asia/Tokyo": now + 18, "Europe/Berlin": now + 20, "America/New_York": now + 22]
      var offsets = due.mapValues { seven - $0 }
      // It is around noon in Sydney, so seven has passed there. No time zone is farther east than UTC+14.
      offsets["Australia/Sydney"] = min(seven + 5 * 3600 - now, 14 * 3600)
      try ZoneFile.write(offsets, to: clocks.url)
    }
    try setClocks()
    scene.world.environment["CARILLON_WORKER_ZONEINFO"] = clocks.url.path
    scene.world.environment["CARILLON_WORKER_WINDOW"] = String(window)

    let rows = (4..<readers).map { "r\($0),\(Self.token($0)),news,en,\(Self.zones[$0 % 4])\n" }.joined()
    let run = try StoryRun(
      StoryPage("newsroom.md"), in: scene.world, folder: scene.folder, port: scene.server.port,
      replacing: [("2026-12-01T07:00:00", { [seven] in WallTime.format(seven) })], rows: ["readers.csv": rows])
    let worker = try await scene.worker()
    try await run.play { name in
      switch name {
      case "clocks": try setClocks()
      // The answers are so slow that no campaign ends before the next command of the page.
      case "slow answers": try await scene.simulator.setLatency(milliseconds: 1500)
      case "quick answers": try await scene.simulator.setLatency(milliseconds: 150)
      default: throw TestSupportError("no event \(name)")
      }
    }

    var zoneOf = Dictionary(uniqueKeysWithValues: (4..<readers).map { (Self.token($0), Self.zones[$0 % 4]) })
    for (index, mark) in ["aa01", "bb02", "cc03", "dd04"].enumerated() {
      zoneOf[String(repeating: mark, count: 4)] = Self.zones[index]
    }
    // The last pushes of the briefing may still be in flight.
    let received = try await Self.eventually(scene) { ($0["Good morning"]?.count ?? 0) >= readers * 3 / 4 }
    let briefing = try #require(received["Good morning"])
    expect(briefing.count, is: readers * 3 / 4)
    for request in briefing {
      let zone = zoneOf[request.token] ?? "?"
      expect(due[zone].map { request.at >= $0 * 1000 }, is: true, "\(zone)")
    }
    let flood = try #require(received["Dam breaks near Lyon"])
    let newsletter = try #require(received["The long read"])
    expect(flood.count == readers && newsletter.count == readers)
    // The worker still sends pushes that it holds, and uses the capacity that the flood leaves at its end.
    let beside = newsletter.count { $0.at > flood[0].at && $0.at < flood[flood.count * 9 / 10].at }
    expect(beside * 4 <= flood.count, "\(beside) of the newsletter were sent while the flood was")
    let wrong = try #require(received["Earthquake of magnitude 8.5"])
    let right = try #require(received["Correction: magnitude 5.8"])
    expect(wrong.count < readers && Set(right.map(\.token)) == Set(wrong.map(\.token)) && right.count == wrong.count)
    // Each correction replaced its wrong push, and no other push was replaced.
    expect(try await scene.simulator.counters().number("collapsed"), is: right.count)
    expect(received["The polls have closed"]?.count, is: 2)
    expect(received["update"]?.count == 2 && received["end"]?.count == 2)
    let culture = try #require(received["On stage tonight"])
    expect(culture.count == readers / 4 && culture.allSatisfy { zoneOf[$0.token] == "Australia/Sydney" })
    try await scene.close(worker)
  }

  private static func eventually(
    _ scene: Scene, _ condition: ([String: [SimulatorLog.Request]]) -> Bool
  ) async throws -> [String: [SimulatorLog.Request]] {
    var received = try scene.received()
    try await until("all is received") {
      received = try scene.received()
      return condition(received)
    }
    return received
  }

  // MARK: A shop's Friday

  @Test func shopsFriday() async throws {
    let customers = 3000
    var scene = try await Scene(.curl, latency: "20ms")
    let yesterday = Date(timeIntervalSinceNow: -86_400).formatted(.iso8601)
    let longAgo = Date(timeIntervalSinceNow: -90 * 86_400).formatted(.iso8601)
    let rows = (5..<customers).map { number in
      let locale = ["en", "de-AT", "fr"][number % 3]
      return "c\(number),\(Self.token(number)),shop,\(locale),Kim \(number),\(number % 2 == 0 ? "gold" : "silver"),"
        + "\(number % 10 == 9 ? longAgo : yesterday)\n"
    }
    let team = ["quinn", "quentin"].enumerated().map { index, name in
      "\(name),\(Self.token(3 + index)),shop,en,\(name.capitalized),gold,\(yesterday)\n"
    }
    let prices = (5..<customers).map { #"{"user":"c\#($0)","vars":{"price":\#($0 % 90)}}"# + "\n" }
    let keys = URL(fileURLWithPath: scene.world.environment["CARILLON_CONFIG"] ?? "").deletingLastPathComponent().path
    let app = [
      "apps:", "  shop:", "    apns:", "      topic: com.example.news", "      environment: production",
      "      token: { keyFile: \(keys)/AuthKey_SIMULATOR1.p8, keyID: SIMULATOR1, teamID: SIMULATION }",
      "      trustRoots: \(keys)/ca.pem", "      endpoint: https://127.0.0.1:\(scene.simulator.port)", "",
    ]
    scene.world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = nil
    scene.world.environment["CARILLON_CONFIG"] = scene.folder.path("carillon.yaml")
    let run = try StoryRun(
      StoryPage("shop.md"), in: scene.world, folder: scene.folder, port: scene.server.port,
      replacing: [
        ("2026-12-03T09:00:00Z", { yesterday }),
        ("2026-12-04T20:00:00Z", { Date(timeIntervalSinceNow: 12).formatted(.iso8601) }),
      ],
      rows: [
        "carillon.yaml begins": app.joined(separator: "\n"), "customers.csv": team.joined() + rows.joined(),
        "prices.ndjson": prices.joined(),
      ])
    try scene.folder.write("carillon.yaml", app.joined(separator: "\n"))
    // Some users have removed the app.
    try await scene.simulator.load(
      stride(from: 7, to: customers, by: 50).map { "\(Self.token($0)),unregistered,com.example.news,1893456000000" })
    var worker: ChildProcess?
    var openers: Set<String> = []
    try await run.play { name in
      switch name {
      case "workers": worker = try await scene.worker()
      case "ten minutes pass": try await scene.pass(600, afterStage: "friday~1", of: "friday")
      case "two hours pass": try await scene.pass(7200, afterStage: "sleepers~1", of: "sleepers")
      case "sleepers":
        // Users who have received the `brisk` variant by now open it.
        try await until("enough have the brisk words") {
          try scene.received()["Back in a minute?"]?.count ?? 0 >= 20
        }
        let users = try scene.received()["Back in a minute?", default: []].compactMap { request in
          Int(request.token.suffix(8), radix: 16).map { "c\($0 - 0x5000_0000)" }
        }
        try await scene.server.command(
          ["lpush", "{carillon}:receipts"]
            + users.map { #"{"event":"opened","campaign":"sleepers","user":"\#($0)"}"# })
        try await scene.opened(users.count, of: "sleepers")
      case "opened":
        // Every third user who received the push opens it.
        let csv = try await scene.world.succeed(
          "results", "export", "friday", "--only", "accepted", "--format", "csv")
        let users = csv.split(whereSeparator: \.isNewline).dropFirst().map { String($0.split(separator: ",")[1]) }
        openers = Set(users.enumerated().filter { $0.offset % 3 == 0 }.map(\.element))
        let events = openers.map { #"{"event":"opened","campaign":"friday","user":"\#($0)"}"# }
        for start in stride(from: 0, to: events.count, by: 500) {
          try await scene.server.command(
            ["lpush", "{carillon}:receipts"] + events[start..<min(start + 500, events.count)])
        }
        try await scene.opened(openers.union(users.filter { $0 == "ada" }).count, of: "friday")
      default: throw TestSupportError("no event \(name)")
      }
    }
    try await hold(scene, openers.union(["ada"]), customers)
    try await scene.close(try #require(worker))
  }

  /// Compares the pushes of every customer with the page.
  private func hold(_ scene: Scene, _ openers: Set<String>, _ customers: Int) async throws {
    func users(_ id: String, _ outcome: String) async throws -> Set<String> {
      let csv = try await scene.world.succeed("results", "export", id, "--only", outcome, "--format", "csv")
      return Set(csv.split(whereSeparator: \.isNewline).dropFirst().map { String($0.split(separator: ",")[1]) })
    }
    let (first, rest) = (try await users("friday~1", "accepted"), try await users("friday~rest", "accepted"))
    let reminded = try await users("reminder", "accepted")
    expect(first.isDisjoint(with: rest))
    expect(first.count > customers / 10, "\(first.count) first, \(rest.count) then")
    let all = first.union(rest)
    expect(try await users("friday", "accepted"), is: all)
    expect(reminded, is: all.subtracting(openers))
    // The campaign reached no user who opted out of offers, was away for months, or is in the app's control group.
    expect(all.isDisjoint(with: ["c100", "c101"]))
    expect(all.allSatisfy { user in Int(user.dropFirst()).map { $0 % 10 != 9 } ?? true })
    let control = Set(
      try await scene.world.succeed("results", "export", "friday", "--control").split(whereSeparator: \.isNewline)
        .map(
          String.init))
    expect(!control.isEmpty && control.isDisjoint(with: all))
    // A user gets two offers a week and no third one.
    let (capped, idea) = (try await users("idea", "capped"), try await users("idea", "accepted"))
    expect(capped == reminded && idea == all.subtracting(reminded))
    // Exactly the users who had to wait got the better variant.
    let sent = try scene.received()
    let (warm, brisk) = (sent["We have missed you", default: []], sent["Back in a minute?", default: []])
    let sleepers = try await users("sleepers", "accepted")
    expect(sleepers.allSatisfy { user in Int(user.dropFirst()).map { $0 % 10 == 9 } ?? false })
    expect(warm.count + brisk.count == sleepers.count && warm.count > 10 && brisk.count > 2 * warm.count)
    let later = (warm + brisk).sorted { $0.at < $1.at }.suffix(sleepers.count / 2)
    expect(later.allSatisfy { request in brisk.contains { $0.token == request.token } })
    // Each user gets the push with the right language, price and next badge count.
    var badges: [String: [Int]] = [:]
    for request in try SimulatorLog(scene.log).requests.sorted(by: { $0.at < $1.at }) {
      let push = try JSONObject(request.body)
      let alert = push.object("aps")?.object("alert")
      if let badge = push.object("aps")?.number("badge") { badges[request.token, default: []].append(badge) }
      guard push.text("push") != nil, let number = Int(request.token.suffix(8), radix: 16).map({ $0 - 0x5000_0000 }),
        5..<customers ~= number
      else { continue }
      let texts = [
        ("Kim \(number), it is Friday", "Your price: \(number % 90).00 €"),
        ("Kim \(number), es ist Freitag", "Dein Preis: \(number % 90),00 €"),
        ("Kim \(number), c’est vendredi", "Votre prix : \(number % 90),00 €"),
      ][number % 3]
      expect(alert?.text("title") == texts.0 && alert?.text("body") == texts.1, "\(request.body)")
    }
    expect(badges.values.allSatisfy { $0 == Array(1...$0.count) })
  }
}
