import Foundation
import PushTransport
import ServiceTools
import TLS
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// A configuration that changes while a worker or `carillon admin` runs.
struct ReloadTests {
  private static func read(_ text: String) throws -> CarillonConfiguration {
    try ConfigurationReader(directory: "").read(ConfigurationNode.parse(yaml: text, file: "f"))
  }

  private static func yaml(_ more: String = "", redis: String = "url: redis://a") -> String {
    """
    redis: { \(redis) }
    apps:
      news: { apns: { topic: x, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } }
    \(more)
    """
  }

  @Test(arguments: [
    (yaml(), [], [], false), (yaml("worker: { window: 5 }"), ["worker.window"], [], true),
    (yaml("retry: { attempts: 2 }"), ["retry"], [], true), (yaml("guard: { minimum: 5 }"), ["guard"], [], true),
    (
      yaml("worker: { engine: curl, connections: 3, deadline: 5s, answerTimeout: 5s }"),
      ["worker.engine", "worker.connections", "worker.answerTimeout", "worker.deadline"], [], true
    ),
    (yaml("log: { level: debug }"), ["log"], [], false),
    (
      yaml("  sport: { apns: { topic: y, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } }"),
      ["apps.sport (new)"],
      [], true
    ),
    (
      yaml().replacing("news:", with: "mail:").replacing("ABC123", with: "XYZ123"),
      ["apps.mail (new)", "apps.news (removed)"], [], true
    ),
    (yaml().replacing("ABC123", with: "XYZ123"), ["apps.news"], [], true),
    (
      yaml(
        redis:
          "url: redis://b, namespace: c, partitions: 8, feedbackLength: 5, devicesPerUser: 5, user: d, passwordFile: e"),
      [],
      [
        "redis.url", "redis.user", "redis.passwordFile", "redis.namespace", "redis.partitions", "redis.feedbackLength",
        "redis.devicesPerUser",
      ], false
    ),
  ])
  func changeIsNamedByItsKeys(text: String, applied: [String], restart: [String], concernsWork: Bool) throws {
    let change = ConfigurationChange(from: try Self.read(Self.yaml()), to: try Self.read(text))
    expect(change.applied == applied && change.restart == restart && change.concernsWork == concernsWork)
    expect(change.isEmpty, is: applied.isEmpty && restart.isEmpty)
  }

  /// `carillon admin` applies a new app after a signal, and also when it finds that the file has changed.
  @Test func adminAppliesAChangedConfiguration() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
    let token = try await world.succeed("admin", "token", "boss", "--scope", "view")
    func app(_ name: String) -> String {
      "  \(name): { apns: { topic: com.example.\(name), token: { keyFile: k.p8, keyID: ABC123DEFG, teamID: DEF123GHIJ } } }\n"
    }
    try world.folder.writeSecret("k.p8", ECPrivateKey.generate().pem)
    let file = try world.folder.write("carillon.yaml", "apps:\n" + app("news"))
    func write(_ text: String) throws {
      let next = try world.folder.write("next.yaml", text)
      expect(rename(next, file), is: 0)
    }
    let admin = try await ChildProcess.start(
      CarillonCommand.path, ["admin", "--listen", "127.0.0.1:0", "--json"],
      environment: world.environment.merging(["CARILLON_CONFIG": file]) { $1 })
    func next(_ event: String) async throws -> JSONObject {
      try JSONObject(try #require(await admin.errorLine(containing: #""event":"\#(event)""#)))
    }
    let url = try await admin.listeningURL()
    func lint(_ app: String) async throws -> String {
      let job = CarillonWorld.job("a", app: app, audience: #"{"segment":"*"}"#)
      let authorization = "Authorization: Bearer \(token.trimmingCharacters(in: .newlines))"
      return try await Curl.ask(
        url + "/api/v1/campaigns/lint",
        ["--data", job, "--header", "content-type: application/json", "--header", authorization]
      ).text
    }
    let (unknown, known) = (try await lint("sport"), try await lint("news"))
    expect(unknown != known && unknown.contains("sport"))
    try write("apps:\n" + app("news") + app("sport"))
    admin.send(signal: SIGHUP)
    expect(try await next("configurationReloaded").text("changed"), is: "apps.sport (new)")
    _ = try await next("configurationApplied")
    expect(try await lint("sport"), is: known)
    try write("apps: [")
    admin.send(signal: SIGHUP)
    expect(try await next("configurationKept").text("level"), is: "error")
    // The server finds the change without a signal.
    try write("apps:\n" + app("news") + app("sport") + app("weather"))
    expect(try await next("configurationReloaded").text("changed"), is: "apps.weather (new)")
    expect(await admin.terminate(), is: .status(0))
  }

  /// A new app with its own key, another window and another engine take effect while the worker sends. An unusable
  /// configuration does not, and no push is sent twice.
  @Test(arguments: PushEngineKind.one(for: "workerAppliesAChangedConfiguration"))
  func workerAppliesAChangedConfiguration(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator("--latency", "50ms")
    // From here on, the file sets the engine.
    world.environment["CARILLON_WORKER_ENGINE"] = nil
    world.environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = nil
    let original = try #require(world.environment["CARILLON_CONFIG"])
    let folder = URL(filePath: original).deletingLastPathComponent().path
    func app(_ name: String) -> String {
      """
        \(name):
          apns:
            topic: com.example.news
            endpoint: https://127.0.0.1:\(simulator.port)
            trustRoots: \(folder)/ca.pem
            token: { keyFile: \(folder)/AuthKey_SIMULATOR1.p8, keyID: SIMULATOR1, teamID: SIMULATION }
      """
    }
    let file = world.folder.path("carillon.yaml")
    func write(_ text: String) throws {
      // A new file replaces the old one, as editors do.
      let next = try world.folder.write("next.yaml", text)
      expect(rename(next, file), is: 0)
    }
    try write("apps:\n\(app("news"))\nworker: { engine: \(engine.rawValue), window: 20 }\n")
    // Commands use a second configuration, which does not change.
    world.environment["CARILLON_CONFIG"] = try world.folder.write(
      "all.yaml", "apps:\n\(app("news"))\n\(app("sport"))\n")
    try await world.importDevices(600)
    let worker = try await ChildProcess.start(
      CarillonCommand.path, ["worker", "--name", "ada", "--json"],
      environment: world.environment.merging(["CARILLON_CONFIG": file]) { $1 })
    // Log lines about a stop or a start: a reload causes neither.
    var stopLines: [String] = []
    func next(_ event: String) async throws -> JSONObject {
      for await line in worker.errorLines {
        let json = try JSONObject(line)
        if json.text("event") == event { return json }
        if ["started", "draining", "stopped"].contains(json.text("event")) { stopLines.append(line) }
      }
      throw TestSupportError("the worker ended without \(event)")
    }
    _ = try await next("started")
    try await world.submit("a")
    try await world.until("a") { ($0.object("outcomes")?.number("accepted") ?? 0) > 0 }

    // The reload comes while the worker sends. The worker completes the pushes in flight and then sends the others.
    let other = PushEngineKind.allCases.first { $0 != engine } ?? engine
    try write(
      "apps:\n\(app("news"))\n\(app("sport"))\nworker: { engine: \(other.rawValue), window: 300 }\nredis: { devicesPerUser: 7 }\n"
    )
    worker.send(signal: SIGHUP)
    let changed = try await next("configurationReloaded")
    expect(changed.text("changed"), is: "apps.sport (new), worker.engine, worker.window")
    expect(changed.text("restart"), is: "redis.devicesPerUser")
    _ = try await next("configurationApplied")
    try await world.until("a") { $0.text("state") == "completed" }
    let shown = try await world.show("a")
    expect(shown.object("outcomes")?.number("accepted") == 600 && shown.number("resent") == 0)
    try await world.succeed(
      "campaign", "submit", "-",
      input: CarillonWorld.job("b", app: "sport", audience: #"{"tokens":["\#(CarillonWorld.token(3))"]}"#))
    try await world.until("b") { $0.text("state") == "completed" }

    // An unusable configuration changes nothing. The worker reports it again after each signal.
    for (text, says) in [
      ("apps: [", "not valid YAML"), ("apps:\n\(app("news"))\nworker: { window: none }\n", "worker.window"),
      ("apps:\n\(app("news").replacing("AuthKey_SIMULATOR1", with: "none"))\n", "apps.news.apns.token.keyFile"),
    ] {
      try write(text)
      worker.send(signal: SIGHUP)
      let kept = try await next("configurationKept")
      expect(kept.text("message")?.contains(says) == true && kept.text("level") == "error", "\(kept)")
    }
    try await world.succeed(
      "campaign", "submit", "-",
      input: CarillonWorld.job("c", app: "sport", audience: #"{"tokens":["\#(CarillonWorld.token(4))"]}"#))
    try await world.until("c") { $0.text("state") == "completed" }

    // The worker finds the change without a signal.
    try write(
      "apps:\n\(app("news"))\n\(app("sport"))\nworker: { engine: \(other.rawValue), window: 301 }\nredis: { devicesPerUser: 7 }\n"
    )
    expect(try await next("configurationReloaded").text("changed"), is: "worker.window")
    _ = try await next("configurationApplied")
    expect(await worker.terminate(), is: .status(0))
    // The worker has stopped once, and its counts include the pushes before the reloads.
    let rest = await worker.errorLines.reduce(into: [String]()) { $0.append($1) }
    expect(rest.count { $0.contains(#""event":"stopped""#) }, is: 1)
    expect(stopLines.isEmpty, "\(stopLines)")
    expect(rest.contains { $0.contains(#""event":"stopped""#) && $0.contains(#""accepted":602"#) }, "\(rest)")
  }
}
