import Foundation
import TestKit
import TestSupport
import Testing

/// The dashboard of `carillon admin` in a real Chromium against the real API, with `Browser/page_test.py`. The fleet is
/// sending, and there is a campaign in each state that needs an operator.
///
/// Campaigns send slowly, because they must still be sending when the browser shows them. The tests are not serialized:
/// tests of a serialized suite are the last of a run, and then no other test uses the second processor.
@Suite(
  .enabled(if: Browser.isPresent, "not to be had: deploy/install-browser makes .build/browser, and finds Chromium"),
  .timeLimit(.minutes(10)), .takesTurns)
struct PageTests {
  /// Names of tokens and their scopes.
  private static let people = [
    ("looker", "view"), ("writer", "submit,view"), ("operator", "operate,view"), ("boss", "admin"),
  ]
  private static let users = 900

  /// A worker that sends pushes, and `carillon admin`.
  private struct DashboardWorld {
    var world: CarillonWorld
    let simulator: SimulatorProcess
    let worker: ChildProcess
    let admin: ChildProcess
    /// Input of the scenarios, as JSON.
    let description: String

    static func open() async throws -> DashboardWorld {
      var world = try await CarillonWorld(engine: "native")
      let simulator = try await world.startSimulator()
      world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
      world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
      world.environment["CARILLON_GUARD_MINIMUM"] = "20"
      // The threshold is above the share of three bad tokens among the first twenty answers, in any order.
      world.environment["CARILLON_GUARD_THRESHOLD"] = "0.3"
      world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "800"
      var tokens: [String] = []
      for (name, scope) in PageTests.people {
        let token = try await world.succeed("admin", "token", name, "--scope", scope)
        tokens.append("\"\(scope)\":\"\(token.trimmingCharacters(in: .newlines))\"")
      }
      let worker = try await world.start("worker", "--name", "ada")
      let admin = try await world.start("admin", "--json")
      let url = try await admin.listeningURL()
      let dashboard = DashboardWorld(
        world: world, simulator: simulator, worker: worker, admin: admin,
        description: "{\"url\":\"\(url)\",\"tokens\":{\(tokens.joined(separator: ","))}}")
      try await dashboard.prepare()
      return dashboard
    }

    private func prepare() async throws {
      let tokens = (0..<PageTests.users).map { CarillonWorld.token($0) }
      let rows = tokens.enumerated().map { "u\($0),\($1),news,\($0 == 0 ? "Ada" : ""),\($0 < 40 ? "gold" : "")\n" }
      let file = try world.folder.write("devices.csv", "user,token,app,name,plan\n" + rows.joined())
      try await world.succeed("devices", "import", file)
      func segment(_ name: String, _ range: Range<Int>) async throws {
        try await world.succeed("segment", "import", name, "-", input: range.map { "u\($0)\n" }.joined())
      }
      try await segment("vip", 0..<200)
      try await segment("readers", 10..<500)
      try await segment("strangers", 500..<PageTests.users)
      // Good tokens need no entry: the simulator accepts every token without an entry.
      try await simulator.load(
        tokens[100..<103].map { #"{"token":"\#($0)","state":"bad"}"# }
          + tokens[500...].map { #"{"token":"\#($0)","environment":"sandbox"}"# })
      try await world.submit("spring-sale", audience: #"{"segment":"vip"}"#)
      try await world.until("spring-sale") { $0.text("state") == "completed" }
      try await world.submit("slow-news", audience: #"{"segment":"readers"}"#, more: #","rate":2,"lane":"bulk""#)
      try await world.submit("running", audience: #"{"segment":"readers"}"#, more: #","rate":1,"lane":"bulk""#)
      try await world.submit("everybody")
      let later = Date.now.addingTimeInterval(5 * 86_400).formatted(.iso8601)
      try await world.submit("next-week", audience: #"{"segment":"vip"}"#, more: #","sendAt":"\#(later)""#)
      try await beginRun(of: "digest")
      for job in [CarillonWorld.job("repaired", audience: #"{"segment":"later"}"#), "{broken"] {
        try await world.server.command("lpush", "{\(world.namespace)}:campaigns", job)
      }
      try await world.until("everybody") { $0.text("state") == "paused" }
      try await poll(until: "two jobs are dead") {
        try await world.server.command("XLEN", "{\(world.namespace)}:dead") == "2"
      }
      try await segment("later", 0..<50)
      try await world.submit("wrong-environment", audience: #"{"segment":"strangers"}"#, more: #","lane":"urgent""#)
      try await world.until("wrong-environment") { $0.text("state") == "paused" }
    }

    /// Submits a recurring campaign, and lets its first run begin now. The run sends for longer than a test takes.
    private func beginRun(of id: String) async throws {
      try await world.submit(
        id, audience: #"{"segment":"readers"}"#, more: #","rate":1,"lane":"bulk","repeat":{"cron":"0 9 1 1 *"}"#)
      try await world.until(id) { $0.text("state") == "scheduled" }
      let keys = "{\(world.namespace)}:"
      try await world.server.command("HSET", keys + "campaign:" + id, "sendAt", "1700000000000")
      try await world.server.command("ZADD", keys + "schedule", "XX", "1700000000000", id)
      try await world.until(id) { $0.object("repeat")?.number("runs") == 1 }
    }

    func close() async {
      for process in [admin, worker] {
        expect(await process.terminate(), is: .status(0))
      }
    }
  }

  private func play(_ scenario: String, in dashboard: DashboardWorld) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Browser/page_test.py").path
    let output = try await ChildProcess.run(
      Browser.python, [script, scenario], environment: ["PYTHONDONTWRITEBYTECODE": "1"],
      folder: dashboard.world.folder.url, input: dashboard.description)
    expect(
      output.exit == .status(0) && output.standardOutput.contains("ok \(scenario)"),
      "\(output.standardOutput)\(output.standardError)")
  }

  /// Scenarios that change nothing share one world. The server refuses each operation outside a token's scopes. `axe`
  /// finds nothing on any page: light, dark or on a phone. The same holds with 10,000 campaigns and 500 workers.
  @Test("scopes; every page; 10,000 campaigns and 500 workers; accessibility in light, dark and on a phone")
  func pages() async throws {
    let dashboard = try await DashboardWorld.open()
    try await play("scopes", in: dashboard)
    try await play("looks", in: dashboard)
    try await fill(dashboard)
    try await play("huge", in: dashboard)
    await dashboard.close()
  }

  @Test("progress, pause, resume, cancel, approve, dead jobs, quarantine and results with the mouse")
  func operate() async throws {
    let dashboard = try await DashboardWorld.open()
    try await play("operate", in: dashboard)
    expect(try await dashboard.world.show("slow-news").text("state"), is: "cancelled")
    expect(try await dashboard.world.show("repaired").object("outcomes")?.number("accepted"), is: 50)
    await dashboard.close()
  }

  @Test("a campaign is written, linted, previewed, counted and sent with the keyboard alone")
  func compose() async throws {
    let dashboard = try await DashboardWorld.open()
    let before = try await dashboard.simulator.counters()
    try await play("compose", in: dashboard)
    let campaign = try await dashboard.world.show("by-keyboard")
    expect(campaign.object("outcomes")?.numbers == ["accepted": 40] && campaign.text("lane") == "urgent")
    let after = try await dashboard.simulator.counters()
    // Other campaigns send slowly at the same time.
    expect((after.number("accepted") ?? 0) - (before.number("accepted") ?? 0) >= 40)
    await dashboard.close()
  }

  /// Fills the store with 10,000 campaigns and 500 workers.
  private func fill(_ dashboard: DashboardWorld) async throws {
    // Copies of the completed campaign and of the worker's report, in the store's format. A worker would change none of
    // them.
    let copies = """
      local ns, now = ARGV[1], redis.call('TIME')[1] * 1000
      local campaign, report = redis.call('HGETALL', ns .. 'campaign:spring-sale'), redis.call('HGET', ns .. 'reports', 'ada')
      local states = {'completed', 'completed', 'failed', 'cancelled'}
      for i = 1, 10000 do
        local id, at = string.format('campaign-of-an-ordinary-day-%05d', i), now - i * 60000
        redis.call('HSET', ns .. 'campaign:' .. id, unpack(campaign))
        redis.call('HSET', ns .. 'campaign:' .. id, 'createdAt', at, 'state', states[i % 4 + 1])
        redis.call('ZADD', ns .. 'all', at, id)
      end
      for i = 1, 500 do
        local name = string.format('carillon-worker-7f9c6d-%03d', i)
        redis.call('ZADD', ns .. 'workers', now + 600000, name)
        redis.call('HSET', ns .. 'reports', name, report)
      end
      """
    _ = try await dashboard.world.server.command("EVAL", copies, "0", "{\(dashboard.world.namespace)}:")
  }
}

/// Chromium and the Python that controls it.
private enum Browser {
  static let python = URL(filePath: #filePath)
    .appending(path: "../../../../.build/browser/bin/python").standardized.path
  static let isPresent =
    FileManager.default.isExecutableFile(atPath: python)
    && ["chromium-headless-shell", "chromium"].contains { name in
      ["/usr/bin/", "/usr/local/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + name) }
    }
}
