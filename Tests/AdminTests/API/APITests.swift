import Foundation
import TestKit
import TestSupport
import Testing
@testable import carillon

/// The HTTP API of `carillon admin`.
@Suite(.takesTurns) struct APITests {
  /// A running `carillon admin` with a token of all scopes and a token that can only view.
  private struct APIWorld {
    var world: CarillonWorld
    let process: ChildProcess
    let url: String
    let admin: String
    let viewer: String

    /// - Parameter above: number of targets above which a campaign needs approval; `nil` for no limit.
    static func open(above: Int? = nil) async throws -> APIWorld {
      var world = try await CarillonWorld(engine: "native")
      try await world.startSimulator()
      world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = above.map(String.init)
      world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
      world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
      let admin = try await world.succeed("admin", "token", "boss", "--scope", "admin")
      let viewer = try await world.succeed("admin", "token", "looker", "--scope", "view")
      let process = try await world.start("admin", "--json")
      return APIWorld(
        world: world, process: process, url: try await process.listeningURL(),
        admin: admin.trimmingCharacters(in: .newlines), viewer: viewer.trimmingCharacters(in: .newlines))
    }

    func ask(
      _ method: String, _ path: String, _ body: String? = nil, as token: String? = nil
    ) async throws -> (status: Int, text: String) {
      var options = ["--path-as-is", "--request", method, "--header", "Authorization: Bearer \(token ?? admin)"]
      if let body { options += ["--data-binary", body] }
      return try await Curl.ask(url + path, options)
    }

    /// Creates a token while the server runs, and waits until the server has read it.
    func token(_ name: String, _ scope: String) async throws -> String {
      let made = try await world.succeed("admin", "token", name, "--scope", scope)
      _ = try #require(await process.errorLine(containing: #""event":"tokensReloaded""#))
      return made.trimmingCharacters(in: .newlines)
    }

    func get(_ path: String) async throws -> JSONObject {
      let answer = try await ask("GET", "/api/v1" + path)
      guard answer.status == 200 else { throw TestSupportError("\(path): \(answer)") }
      return try JSONObject(answer.text)
    }

    func close() async {
      expect(await process.terminate(), is: .status(0))
    }
  }

  /// Requests read ids, names, times and zones as commands do (`CommandTextTests`), and return the warnings of
  /// `submit`.
  @Test func requestsReadTextByOneRuleAndWarnOfAnEmptyAudience() async throws {
    let api = try await APIWorld.open()
    let token = CarillonWorld.token(1)
    let device = #"{"user":" ada","token":"\#(token)","app":"news","timezone":"PST"}"#
    let registered = try await api.ask("POST", "/api/v1/devices", device)
    expect(registered.text.contains(#""user":"ada""#) && registered.text.contains("abbreviation"), "\(registered)")
    let ahead = #"{"user":"ada","token":"\#(token)","registeredAt":"2099-01-01T00:00:00Z"}"#
    expect(try await api.ask("POST", "/api/v1/devices", ahead).status, is: 422)
    expect(try await api.ask("GET", "/api/v1/users/%20ada").status, is: 200)
    expect(try await api.ask("POST", "/api/v1/segments/%20vip/add", #"{"users":["ada "]}"#).status, is: 200)
    expect(try await api.world.succeed("segment", "export", "vip"), is: "ada\n")
    expect(try await api.ask("POST", "/api/v1/segments/vip%20/remove", #"{"users":[" ada"]}"#).status, is: 200)
    // A segment that is a rule has no users of its own.
    _ = try await api.world.succeed("segment", "define", "readers", "*")
    for verb in ["add", "remove"] {
      let refused = try await api.ask("POST", "/api/v1/segments/readers/\(verb)", #"{"users":["ada"]}"#)
      expect(refused.status == 422 && refused.text.contains("is defined as"), "\(verb): \(refused)")
    }
    let job = CarillonWorld.job(
      "w", audience: #"{"users":["stranger"]}"#, content: #""apns":{"payload":{"aps":{"alert":"{{plan}}"}}}"#)
    let preview = try await api.ask("POST", "/api/v1/campaigns/preview?user=%20ada", job)
    expect(preview.status == 200 && preview.text.contains(#""user":"ada""#), "\(preview)")
    let invisible = try await api.ask("POST", "/api/v1/campaigns/preview?user=%E2%80%8Bada", job)
    expect(invisible.status == 422 && invisible.text.contains("U+200B"), "\(invisible)")
    let warned = try await api.ask("POST", "/api/v1/campaigns", job)
    let rules = try JSONObject(warned.text).objects("warnings")?.compactMap { $0.text("rule") }
    expect(warned.status == 201 && rules == ["unknown-attribute", "audience-reaches-no-user"], "\(warned)")
    let again = try await api.ask("POST", "/api/v1/campaigns", job)
    expect(again.status == 200 && !again.text.contains("audience-reaches-no-user"), "\(again)")
    let some = try await api.ask(
      "POST", "/api/v1/campaigns", CarillonWorld.job("s", audience: #"{"users":["ada"]}"#))
    expect(some.status == 201 && some.text.contains(#""warnings":[]"#), "\(some)")
    await api.close()
  }

  @Test("a complete campaign by HTTP: devices, segment, the job twice, end, results and audit trail")
  func wholeLife() async throws {
    let api = try await APIWorld.open()
    for user in ["ada", "ben"] {
      let token = CarillonWorld.token(user == "ada" ? 1 : 2)
      let answer = try await api.ask(
        "POST", "/api/v1/devices", #"{"user":"\#(user)","token":"\#(token)","app":"news","locale":"en","plan":"gold"}"#)
      expect(answer.status == 200 && answer.text.contains(token), "\(answer)")
    }
    let added = try await api.ask("POST", "/api/v1/segments/vip/add", #"{"users":["ada","ben"]}"#)
    expect(added.status, is: 200)
    expect(try await api.get("/audience?expression=vip%20%26%20*").numbers, is: ["users": 2, "devices": 2])
    expect(try await api.get("/segments").text("next"), is: nil)
    let job = CarillonWorld.job("a", audience: #"{"segment":"vip"}"#)
    // The operation looks up the template of a job. Every operation refuses a time in the past.
    _ = try await api.world.succeed(
      "template", "put", "hi", "-", input: #"{"apns":{"payload":{"aps":{"alert":"{{plam}}"}}}}"#)
    let named = CarillonWorld.job("t", audience: #"{"segment":"vip"}"#, content: #""template":"hi""#)
    let lint = try await api.ask("POST", "/api/v1/campaigns/lint", named)
    expect(lint.status == 200 && lint.text.contains(#""errors":0,"warnings":1"#) && lint.text.contains("mean 'plan'?"))
    let past = CarillonWorld.job("t", more: #","sendAt":"2020-01-01T00:00:00Z""#)
    for path in ["campaigns", "campaigns/estimate", "campaigns/preview?user=ada"] {
      let answer = try await api.ask("POST", "/api/v1/\(path)", past)
      expect(answer.status == 422 && answer.text.contains("sendAt: 2020-01-01"), "\(path): \(answer)")
    }
    let estimate = try await api.ask("POST", "/api/v1/campaigns/estimate", job)
    expect(estimate.status == 200 && estimate.text.contains(#""targets":2"#), "\(estimate)")
    // A proxy may send an absolute URL with a prefix before the path. `Location` is relative to the URL.
    let port = try #require(api.url.split(separator: ":").last.flatMap { Int($0) })
    let submitted = try await RawClient.exchange(
      "POST http://push.example/api/v1/campaigns HTTP/1.1\r\nHost: push.example\r\nConnection: close\r\n"
        + "Authorization: Bearer \(api.admin)\r\nContent-Length: \(job.utf8.count)\r\n\r\n\(job)", port: port)
    expect(submitted.hasPrefix("HTTP/1.1 201") && submitted.contains("Location: campaigns/a\r\n"), "\(submitted)")
    expect(try await api.get("/campaigns/a").text("state"), is: "queued")
    let again = try await api.ask("POST", "/api/v1/campaigns", job)
    expect(again.status == 200 && again.text.contains(#""duplicate":true"#))
    let other = try await api.ask("POST", "/api/v1/campaigns", CarillonWorld.job("a"))
    expect(other.status == 409 && other.text.contains(#""code":"conflict""#))
    expect(try await api.get("/queue").objects("jobs")?.first?.text("id"), is: "a")
    try await api.world.drain()
    let shown = try await api.get("/campaigns/a")
    expect(shown.text("state") == "completed" && shown.object("outcomes")?.numbers == ["accepted": 2])
    expect(try await api.ask("GET", "/api/v1/campaigns/a/job").text.contains(#""segment":"vip""#))
    let results = try await api.ask("GET", "/api/v1/campaigns/a/results")
    let exported = try await api.world.succeed("results", "export", "a")
    expect(results.text.trimmingCharacters(in: .newlines), is: exported.trimmingCharacters(in: .newlines))
    expect(try await api.ask("GET", "/api/v1/campaigns/a/results?only=failures").text, is: "")
    let late = try await api.ask("POST", "/api/v1/campaigns/a/pause", "{}")
    expect(late.status == 409 && late.text.contains("it is completed"), "\(late)")

    let user = try await api.ask("GET", "/api/v1/users/ada")
    expect(user.text.contains(#""plan":"gold""#) && user.text.contains(#""vip""#))
    let forgotten = try await api.ask("DELETE", "/api/v1/users/ada")
    expect(forgotten.status == 200 && forgotten.text.contains(#""devices":1,"segments":["vip"]"#), "\(forgotten)")
    expect(try await api.ask("GET", "/api/v1/users/ada").status, is: 404)
    let gone = try await api.ask("DELETE", "/api/v1/devices/\(CarillonWorld.token(2))")
    expect(gone.status, is: 200)
    expect(try await api.ask("DELETE", "/api/v1/devices/\(CarillonWorld.token(2))").status, is: 404)

    let audit = try await api.ask("GET", "/api/v1/audit")
    for entry in ["campaign.submit", "segment.add", "user.erase"] { expect(audit.text.contains(entry)) }
    expect(audit.text.contains(#""actor":"boss""#) && !audit.text.contains("ada"))
    await api.close()
  }

  @Test("scheduled campaigns are paused, resumed and cancelled; a list continues on its next page")
  func controlAndPages() async throws {
    let api = try await APIWorld.open()
    try await api.world.importDevices(5)
    let tomorrow = Date.now.addingTimeInterval(86_400).formatted(.iso8601)
    for number in 0..<5 {
      try await api.world.submit(
        "later-\(number)", audience: #"{"users":["u\#(number)"]}"#, more: #","sendAt":"\#(tomorrow)""#)
    }
    try await api.world.drain()
    expect(try await api.get("/schedule?limit=3").objects("scheduled")?.count, is: 3)
    var (ids, cursor, pages) = ([String](), "", 0)
    repeat {
      let page = try await api.get("/campaigns?limit=2&state=scheduled" + (cursor.isEmpty ? "" : "&cursor=\(cursor)"))
      ids += (page.objects("campaigns") ?? []).compactMap { $0.text("id") }
      cursor = page.text("next") ?? ""
      pages += 1
    } while !cursor.isEmpty && pages < 10
    expect(ids.sorted(), is: (0..<5).map { "later-\($0)" })
    for (verb, state) in [("pause", "paused"), ("resume", "scheduled"), ("cancel", "cancelled")] {
      let answer = try await api.ask("POST", "/api/v1/campaigns/later-0/\(verb)")
      expect(answer.status == 200 && answer.text.contains("\"state\":\"\(state)\""), "\(answer)")
    }
    expect(try await api.get("/campaigns?state=cancelled").objects("campaigns")?.count, is: 1)
    await api.close()
  }

  @Test("a large campaign needs approval by another token, and its manifest names the approver")
  func approvalAndManifest() async throws {
    let api = try await APIWorld.open(above: 2)
    try await api.world.importDevices(4)
    let grace = try await api.token("grace", "operate")
    // The token determines the submitter; the job can't set another one.
    let named = try await api.ask(
      "POST", "/api/v1/campaigns", CarillonWorld.job("big", more: #","submittedBy":"ada""#))
    expect(named.status == 422 && named.text.contains("submittedBy: differs from the name"), "\(named)")
    let job = CarillonWorld.job("big", more: #","also":["widgets"]"#)
    expect(try await api.ask("POST", "/api/v1/campaigns", job).status, is: 201)
    try await api.world.drain()
    let shown = try await api.get("/campaigns/big")
    expect(shown.bool("needsApproval") == true && shown.text("submittedBy") == "boss")
    expect(shown.text("state") == "paused" && shown.objects("parts")?.last?.text("state") == "paused")
    let own = try await api.ask("POST", "/api/v1/campaigns/big/approve", "{}")
    expect(own.status == 409 && own.text.contains("'boss' submitted campaign big"), "\(own)")
    expect(own.text.contains("ask another person to approve it"))
    let looker = try await api.ask("POST", "/api/v1/campaigns/big/approve", as: api.viewer)
    expect(looker.status == 403 && looker.text.contains("lacks the scope"))
    expect(try await api.ask("POST", "/api/v1/campaigns/big/resume", as: grace).status, is: 409)
    let more = try await api.ask("POST", "/api/v1/campaigns/big/approve", #"{"by":"ada"}"#, as: grace)
    expect(more.status == 422 || more.status == 400, "\(more)")
    let approved = try await api.ask("POST", "/api/v1/campaigns/big/approve", as: grace)
    expect(approved.status == 200 && approved.text.contains(#""state":"active""#), "\(approved)")
    let again = try await api.ask("POST", "/api/v1/campaigns/big/approve", as: grace)
    expect(again.status == 409 && again.text.contains("needs no approval"))
    expect(try await api.ask("POST", "/api/v1/campaigns/none/approve", as: grace).status, is: 404)
    try await api.world.drain()
    let done = try await api.get("/campaigns/big")
    expect(done.text("state") == "completed" && done.text("approvedBy") == "grace")

    let manifest = try await api.ask("GET", "/api/v1/campaigns/big/manifest", as: api.viewer)
    expect(manifest.status, is: 200)
    expect(
      manifest.text.contains(#""what":"submit","by":"boss""#)
        && manifest.text.contains(#""what":"approve","by":"grace""#))
    let copy = try api.world.folder.write("copy.json", manifest.text)
    // The command can read the manifest that the API returned.
    expect(
      try await api.world.succeed("campaign", "manifest", "big", "--check", copy).contains("matches its manifest"))
    let held = try await api.ask("POST", "/api/v1/campaigns/big/manifest", "@" + copy, as: api.viewer)
    expect(held.status == 200 && held.text == #"{"id":"big","holds":true}"#, "\(held)")
    let changed = try api.world.folder.write("changed.json", manifest.text.replacing("grace", with: "ada"))
    let broken = try await api.ask("POST", "/api/v1/campaigns/big/manifest", "@" + changed)
    expect(broken.status == 409 && broken.text.contains("its SHA-256 does not match"), "\(broken)")
    expect(try await api.ask("GET", "/api/v1/campaigns/none/manifest").status, is: 404)
    let audit = try await api.ask("GET", "/api/v1/audit").text
    expect(audit.contains(#""actor":"grace","action":"campaign.approve","subject":"big""#), "\(audit)")
    await api.close()
  }

  @Test func serverEnforcesScopes() async throws {
    let api = try await APIWorld.open()
    expect(try await api.ask("GET", "/api/v1/status", as: api.viewer).status, is: 200)
    for (method, path) in [
      ("POST", "/api/v1/campaigns"), ("POST", "/api/v1/campaigns/a/cancel"), ("POST", "/api/v1/campaigns/a/approve"),
      ("DELETE", "/api/v1/users/u"),
      ("POST", "/api/v1/quarantine/purge"), ("GET", "/api/v1/audit"), ("POST", "/api/v1/dead/drop"),
    ] {
      let answer = try await api.ask(method, path, "{}", as: api.viewer)
      expect(answer.status == 403 && answer.text.contains("lacks the scope"), "\(path): \(answer)")
    }
    expect(try await api.ask("GET", "/api/v1/status", as: "carillon_0").status, is: 401)
    // A new token is valid within seconds, and a revoked token is invalid within seconds.
    let second = try await api.world.succeed("admin", "token", "second", "--scope", "view")
    _ = try #require(await api.process.errorLine(containing: #""event":"tokensReloaded""#))
    let token = second.trimmingCharacters(in: .newlines)
    expect(try await api.ask("GET", "/api/v1/me", as: token).text, is: #"{"name":"second","scopes":["view"]}"#)
    let twice = try await api.world.run("admin", "token", "second", "--scope", "view")
    expect(twice.exit == .status(1) && twice.standardError.contains("already contains a token second"))
    await api.close()
  }

  @Test("every operation of the OpenAPI document exists and requires a token, and every schema that it names exists")
  func description() async throws {
    let api = try await APIWorld.open()
    let text = try await api.ask("GET", "/api/v1/openapi.json").text
    let document = try JSONObject(text)
    expect(document.text("openapi"), is: "3.1.0")
    let schemas = try #require(document.object("components")?.object("schemas")).names
    for match in text.replacing("\\/", with: "/").matches(of: /#\/components\/schemas\/([A-Za-z]+)/) {
      expect(schemas.contains(String(match.1)), "\(match.1)")
    }
    let paths = try #require(document.object("paths"))
    expect(paths.names.count > 25)
    for path in paths.names {
      for method in try #require(paths.object(path)).names {
        let place = path.replacing("{id}", with: "a").replacing("{key}", with: "1-1").replacing("{name}", with: "a")
          .replacing("{user}", with: "a").replacing("{token}", with: "aa")
        let answer = try await api.ask(method.uppercased(), place, as: "carillon_none")
        let isOpen = paths.object(path)?.object(method)?.isNull("x-scope") ?? false
        // The server delays a client after several wrong tokens.
        expect(
          isOpen ? answer.status == 200 : [401, 429].contains(answer.status), "\(method) \(path): \(answer.status)")
      }
    }
    let schema = try JSONObject(try await api.ask("GET", "/api/v1/job.schema.json").text)
    expect(
      schema.object("properties")?.names.isSuperset(of: ["id", "app", "audience", "message", "apns", "rate"]), is: true)
    await api.close()
  }

  private static let fuzzer = URL(filePath: #filePath)
    .appending(path: "../../../../.build/api-fuzzer/bin/schemathesis").standardized.path

  @Test(
    "whatever is asked by the description has an answer of the description, and none is a failure of the server",
    .enabled(
      if: FileManager.default.fileExists(atPath: fuzzer),
      "deploy/install-foreign-clients has not made .build/api-fuzzer"))
  func fuzzed() async throws {
    let api = try await APIWorld.open()
    try await api.world.importDevices(3)
    let seed = UInt32.random(in: 0..<1_000_000)
    print("seed of fuzzed: \(seed)")
    // `make fuzz` sets the number of examples for each operation: input that the description allows, input that it
    // forbids, edge cases, and operations that use the answers of others. A worker takes the submitted jobs.
    let examples = ProcessInfo.processInfo.environment["CARILLON_TEST_FUZZ"]
    let worker = examples == nil ? nil : try await api.world.start("worker", "--name", "fuzzed")
    let output = try await ChildProcess.run(
      Self.fuzzer,
      [
        "run", api.url + "/api/v1/openapi.json", "--header", "Authorization: Bearer \(api.admin)", "--checks",
        "not_a_server_error,response_schema_conformance,content_type_conformance", "--phases",
        examples == nil ? "fuzzing" : "examples,coverage,fuzzing,stateful", "--mode",
        examples == nil ? "positive" : "all",
        "--max-examples", examples ?? "3", "--continue-on-failure", "--no-shrink",
        // The rate is below the limit of one token: a 429 would be an answer of the server, not of the operation.
        "--rate-limit", "150/s", "--seed", String(seed),
        "--generation-database", "none", "--no-color",
      ], folder: api.world.folder.url)
    expect(output.exit, is: .status(0), "\(output.standardOutput)\(output.standardError)")
    if let worker {
      print(output.standardOutput)
      expect(await worker.terminate(), is: .status(0))
    }
    await api.close()
  }

  @Test("long lint requests of one token delay neither health checks nor jobs of another token")
  func longRequests() async throws {
    let api = try await APIWorld.open()
    let port = try #require(api.url.split(separator: ":").last.flatMap { Int($0) })
    func request(_ method: String, _ path: String, _ body: String = "", as token: String) -> String {
      "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
    let names = (0..<800).map { "\"alrt\($0)\":1" }.joined(separator: ",")
    let lint = request("POST", "/api/v1/campaigns/lint", "{\"aps\":{\(names)}}", as: api.viewer)
    let job = request("POST", "/api/v1/campaigns", CarillonWorld.job("a"), as: api.admin)
    let start = ContinuousClock.now
    // There are as many clients as one token may have waiting requests, and more clients than threads for tasks.
    let clients = try (0..<8).map { _ in try RawClient(port: port) }
    for client in clients { await client.send(lint) }
    expect(try await RawClient.exchange(request("GET", "/livez", as: ""), port: port).hasSuffix("ok\n"))
    expect(try await RawClient.exchange(job, port: port).hasPrefix("HTTP/1.1 201"))
    let others = start.duration(to: .now)
    // An operation that takes too long on a busy machine returns 503.
    for client in clients { expect(await client.read().hasPrefix("HTTP/1.1 ")) }
    expect(others < start.duration(to: .now) / 2)
    await api.close()
  }

  @Test("the dashboard has its content security policy, the fleet its metrics, and neither requires a token")
  func pageAndMetrics() async throws {
    let api = try await APIWorld.open()
    let page = try await ChildProcess.run("curl", ["--silent", "--include", api.url + "/"])
    expect(page.standardOutput.hasPrefix("HTTP/1.1 200"))
    expect(page.standardOutput.contains("Content-Security-Policy: default-src 'none'; script-src 'sha256-"))
    let metrics = try await Curl.get(api.url + "/metrics")
    expect(metrics.status == 200 && metrics.text.contains("carillon_fleet_up 1\n"), "\(metrics)")
    expect(metrics.text.contains("carillon_fleet_lane_oldest_age_seconds{lane=\"urgent\"} 0.0\n"))
    expect(try await Curl.get(api.url + "/livez").status, is: 200)
    expect(try await Curl.get(api.url + "/readyz").status, is: 200)
    await api.close()
  }

  @Test(.enabled(if: PromtoolCommand.isPresent, "promtool is missing: deploy/install-checkers"))
  func promtoolAcceptsTheMetricsOfTheFleet() async throws {
    let api = try await APIWorld.open()
    let metrics = try await Curl.get(api.url + "/metrics").text
    expect(metrics.contains("carillon_fleet_up 1\n"), "\(metrics)")
    expect(try await PromtoolCommand.complaints(about: metrics), is: "")
    await api.close()
  }

  @Test func withoutRedisItSaysSo() async throws {
    var world = try await CarillonWorld(url: "redis://127.0.0.1:1")
    world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
    let process = try await world.start("admin", "--json")
    let url = try await process.listeningURL()
    expect(try await Curl.get(url + "/livez").status, is: 200)
    let ready = try await Curl.get(url + "/readyz")
    expect(ready.status == 503 && ready.text.contains("127.0.0.1:1"), "\(ready)")
    expect(try await Curl.get(url + "/metrics").text.contains("carillon_fleet_up 0\n"))
    expect(await process.terminate(), is: .status(0))
  }

  @Test func listeningToOtherMachinesNeedsAToken() async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("admin", "--listen", "0.0.0.0:0")
    expect(output.exit == .status(65) && output.standardError.contains("carillon admin token"), "\(output)")
  }

  @Test func commandErasesAUser() async throws {
    let world = try await CarillonWorld(devices: 2)
    try await world.succeed("segment", "add", "vip", "u0")
    let forgotten = try await world.succeed("users", "erase", "u0", "--yes", "--json")
    expect(try JSONObject(forgotten).number("devices") == 1 && forgotten.contains(#""segments":["vip"]"#))
    expect(try await world.run("devices", "show", "u0").exit, is: .status(1))
    expect(try await world.run("users", "erase", "u0", "--yes").exit, is: .status(1))
    try await world.succeed("devices", "show", "u1")
    try await world.succeed("store", "check")
    // The audit log records that a user was erased, but not the name of the user. The name is personal data.
    let audit = try await world.server.command("xrange", "{\(world.namespace)}:audit", "-", "+")
    expect(audit.contains("user.erase") && audit.contains("1 devices") && !audit.contains("u0"), "\(audit)")
  }
}
