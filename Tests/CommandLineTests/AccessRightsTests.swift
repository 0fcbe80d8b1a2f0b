import Foundation
import PushTransport
import TestSupport
import Testing

/// The users of `Config/redis.acl.example` on a Redis that knows no others: each can do what its role does, and no more.
@Suite struct AccessRightsTests {
  /// A world on such a Redis, and who asks.
  private struct Company {
    let server: RedisServer
    var world: CarillonWorld

    init() async throws {
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Config/redis.acl.example")
      let folder = try ScratchFolder("acl")
      let users = try folder.writeSecret("users.acl", String(contentsOf: file, encoding: .utf8))
      server = try await RedisServer.start(arguments: ["--aclfile", users])
      world = try await CarillonWorld(engine: PushEngineKind.native.rawValue, server: server)
      // The one that the file is about.
      world.environment["CARILLON_REDIS_NAMESPACE"] = "carillon"
      for role in ["producer", "worker", "admin", "reader", "maintainer"] {
        _ = try world.folder.writeSecret(role, role.uppercased() + "_PASSWORD\n")
      }
      // Redis has read it.
      withExtendedLifetime(folder) {}
    }

    @discardableResult
    func run(_ role: String, _ arguments: [String], input: String = "") async throws -> ChildProcess.Output {
      var environment = world.environment
      environment["CARILLON_REDIS_USER"] = "carillon-" + role
      environment["CARILLON_REDIS_PASSWORD_FILE"] = world.folder.path(role)
      return try await CarillonCommand.run(arguments, environment: environment, input: input)
    }

    @discardableResult
    func succeed(_ role: String, _ arguments: String..., input: String = "") async throws -> String {
      let output = try await run(role, arguments, input: input)
      #expect(output.exit == .status(0), "\(role): \(arguments): \(output.standardError)")
      return output.standardOutput
    }

    func redis(_ user: String, _ password: String, _ words: [String]) async throws -> String {
      let login = ["-u", "redis://\(user):\(password)@127.0.0.1:\(server.port)", "--no-auth-warning"]
      return try await ChildProcess.run("redis-cli", login + words).standardOutput
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @discardableResult
    func operate(_ words: String...) async throws -> String {
      try await redis("operator", "OPERATOR_PASSWORD", words)
    }

    /// Something for every pass of `store check` to mend.
    func damage() async throws {
      for words in [
        ["set", "{carillon}:waiting:a", "x"], ["hset", "{carillon}:import:x", "offset", "1"],
        ["rpush", "{carillon}:intake:ghost", "{}"], ["zrem", "{carillon}:all", "a"], ["del", "{carillon}:open:held"],
        ["sadd", "{carillon:0}:audience:ghost", "u1"], ["sadd", "{carillon:0}:users", "ghost"],
        ["hset", "{carillon:0}:attributes", "ghost", "{}"], ["hset", "{carillon:0}:owner", "t", "1:ghost"],
        ["hset", "{carillon:0}:quarantine", "t", "x"], ["del", "{carillon:1}:owner"],
      ] {
        _ = try await redis("operator", "OPERATOR_PASSWORD", words)
      }
      // Everybody of a partition stands in the next one too.
      let copy =
        "for _, word in ipairs({'devices', 'attributes'}) do "
        + "local all = redis.call('HGETALL', '{carillon:0}:' .. word) "
        + "if #all > 0 then redis.call('HSET', '{carillon:1}:' .. word, unpack(all)) end end "
        + "for p = 0, 7 do redis.call('SADD', '{carillon:' .. p .. '}:segment:churned', 'u1', 'u2') end"
      try await operate("eval", copy, "0")
    }
  }

  @Test func everyRoleHasTheRightsThatItNeeds() async throws {
    var company = try await Company()
    let simulator = try await company.world.startSimulator()
    let tokens = (0..<30).map { CarillonWorld.token($0) }
    try await simulator.load(
      tokens.prefix(4).map { #"{"token":"\#($0)","state":"bad"}"# }
        + tokens[4..<6].map { "\($0),unregistered,com.example.news,1769904000000" })
    let rows = tokens.enumerated().map { "u\($0),\($1),2026-01-01T00:00:00Z\n" }
    let devices = try company.world.folder.write("devices.csv", "user,token,registeredAt\n" + rows.joined())
    let users = try company.world.folder.write("users", (0..<20).map { "u\($0)\n" }.joined())

    // An administrator brings devices and segments.
    try await company.succeed("admin", "devices", "import", devices)
    try await company.succeed("admin", "segment", "import", "vip", users)
    try await company.succeed("admin", "segment", "add", "churned", "u1", "u28")
    try await company.succeed("admin", "segment", "count", "vip & !churned")

    // A producer submits, by the program and without.
    try await company.succeed(
      "producer", "campaign", "submit", "-", input: CarillonWorld.job("a", more: #","results":"all""#))
    let jobs = [CarillonWorld.job("b", audience: #"{"segment":"vip & !churned"}"#), #"{"id":"nonsense"}"#, "{}"]
    for job in jobs {
      #expect(
        try await company.redis("carillon-producer", "PRODUCER_PASSWORD", ["lpush", "{carillon}:campaigns", job]) != "")
    }
    let later = ISO8601DateFormatter().string(from: .now + 86_400)
    for id in ["later", "held"] {
      try await company.succeed(
        "producer", "campaign", "submit", "-", input: CarillonWorld.job(id, more: #","sendAt":"\#(later)""#))
    }

    // A worker sends.
    try await company.succeed("worker", "worker", "--drain", "--name", "w1")
    let shown = try JSONObject(await company.succeed("reader", "campaign", "show", "a", "--json"))
    #expect(shown.text("state") == "completed")

    // Whoever reads sees all.
    for words in [
      ["campaign", "list"], ["campaign", "watch", "a"], ["status"], ["results", "export", "a"],
      ["results", "show", "a", "--token", tokens[9]], ["dead", "list"], ["quarantine", "list"], ["segment", "list"],
      ["devices", "show", "u9"], ["devices", "export"],
    ] {
      let output = try await company.run("reader", words)
      // There are dead jobs, and no worker: that is something for somebody.
      let status: Int32 = words == ["status"] ? 1 : 0
      #expect(output.exit == .status(status) && !output.standardOutput.isEmpty, "\(words): \(output.standardError)")
      #expect(!output.standardOutput.contains("lacks a right"), "\(words): \(output.standardOutput)")
    }

    // An administrator does everything else.
    let status = try await company.run("admin", ["status"])
    #expect(status.exit == .status(1) && !status.standardOutput.contains("lacks a right"))
    try await company.succeed("admin", "campaign", "pause", "later")
    try await company.succeed("admin", "campaign", "resume", "later")
    try await company.succeed("admin", "campaign", "cancel", "later")
    let dead = try JSONObject.all(in: await company.succeed("admin", "dead", "list", "--json"))
    #expect(dead.count == 2)
    for key in dead.compactMap({ $0.text("key") }) { try await company.succeed("admin", "dead", "drop", key) }
    let quarantined = try JSONObject.all(in: await company.succeed("admin", "quarantine", "list", "--json"))
    let bad = quarantined.compactMap { $0.text("token") }
    #expect(bad.count == 4)
    try await company.succeed("admin", "quarantine", "release", bad[0])
    try await company.succeed("admin", "quarantine", "purge", "--campaign", "a")
    try await company.succeed("admin", "devices", "register", "--user", "u8", "--token", tokens[9], "--app", "news")
    try await company.succeed("admin", "devices", "unregister", "--token", tokens[9])
    try await company.succeed("admin", "segment", "remove-users", "vip", "u8")
    try await company.succeed("admin", "segment", "remove", "vip")
    try await company.succeed("admin", "campaign", "submit", "-", input: CarillonWorld.job("c"))
    try await company.succeed("worker", "worker", "--drain", "--name", "w2")

    // A maintainer looks after the store, whatever is found there.
    try await company.succeed("admin", "campaign", "pause", "held")
    try await company.succeed("maintainer", "store", "check")
    try await company.damage()
    let left = try await company.run("maintainer", ["store", "check"])
    #expect(left.exit == .status(1), "\(left.standardError)")
    try await company.succeed("maintainer", "store", "check", "--mend")
    try await company.succeed("maintainer", "store", "check")
    try await company.succeed("admin", "campaign", "cancel", "held")
    try await company.succeed("worker", "worker", "--drain", "--name", "w3")
    try await company.succeed("admin", "store", "repartition", "16", "--yes")

    // Not even in a place where a refusal would be swallowed.
    #expect(try await company.operate("acl", "log") == "")
    await company.server.kill(SIGKILL)
  }

  @Test func aRightThatIsMissingIsNamed() async throws {
    let company = try await Company()
    try await company.succeed("admin", "campaign", "submit", "-", input: CarillonWorld.job("a"))
    for (role, words, says) in [
      ("reader", ["campaign", "submit", "-"], "lacks a right"),
      ("producer", ["campaign", "list"], "'llen' command (LLEN, {carillon}:campaigns)"),
      ("producer", ["campaign", "show", "a"], "keys used as arguments (the script view, {carillon}:campaign:a, "),
      ("reader", ["worker", "--drain"], "the script"),
    ] {
      let output = try await company.run(role, words, input: CarillonWorld.job("b"))
      #expect(output.exit == .status(65), "\(role): \(words)")
      #expect(output.standardError.contains(says), "\(output.standardError)")
      #expect(output.standardError.contains("ACL LOG") && output.standardError.contains("{carillon"))
    }
    // The default user has no rights, and no password would help.
    let nobody = try await CarillonCommand.run(["campaign", "list"], environment: company.world.environment)
    #expect(nobody.exit == .status(65) && nobody.standardError.contains("NOAUTH"))
    await company.server.kill(SIGKILL)
  }

  @Test func whatNeedsRedis7IsWhatThePageSays() async throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/redis-acl.md"),
      encoding: .utf8)
    let company = try await Company()
    for name in ["vip", "churned"] { try await company.succeed("admin", "segment", "add", name, "u1") }
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `carillon ") }
    #expect(rows.count == 1)
    for (row, user) in zip(rows, ["carillon-producer"]) {
      let rules = try #require(row.split(separator: "| `").last).prefix { $0 != "`" }
      // A selector is one word, blanks and all.
      let words = rules.replacing(/\([^)]*\)|\S+/) { $0.output + "\n" }.split(separator: "\n")
        .map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(
        try await company.redis("operator", "OPERATOR_PASSWORD", ["acl", "setuser", user] + words) == "OK")
    }
    let submitted = try await company.run(
      "producer", ["campaign", "submit", "--replicas", "1", "-"], input: CarillonWorld.job("a"))
    #expect(submitted.standardError.contains("0 of 1 replicas"), "\(submitted.standardError)")
    try await company.succeed("reader", "segment", "count", "vip & !churned")
    try await company.succeed("reader", "segment", "export", "vip | churned")
    #expect(try await company.operate("acl", "log") == "")
    await company.server.kill(SIGKILL)
  }
}
