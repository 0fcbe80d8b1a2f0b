import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// The users of `Config/redis.acl.example` on a Redis that has no other users. Each user can do exactly the work of its
/// role.
@Suite(.takesTurns) struct AccessRightsTests {
  /// A world on a Redis with these users, and the means to run commands as each role.
  private struct Company {
    let server: RedisServer
    var world: CarillonWorld

    /// - Parameters:
    ///   - example: the file with the users.
    ///   - program: the server that reads the file.
    init(_ example: String = "redis.acl.example", on program: RedisServer.Program = .distribution) async throws {
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/\(example)")
      let folder = try ScratchFolder("acl")
      let users = try folder.writeSecret("users.acl", String(contentsOf: file, encoding: .utf8))
      server = try await RedisServer.start(program: program, arguments: ["--aclfile", users])
      world = try await CarillonWorld(engine: PushEngineKind.native.rawValue, server: server)
      // The namespace in the file.
      world.environment["CARILLON_REDIS_NAMESPACE"] = "carillon"
      for role in ["producer", "worker", "admin", "reader", "maintainer"] {
        _ = try world.folder.writeSecret(role, role.uppercased() + "_PASSWORD\n")
      }
      // Redis has read the file by now.
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
      expect(output.exit, is: .status(0), "\(role): \(arguments): \(output.standardError)")
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

    /// Writes damaged data that every scan of `store check` can repair.
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
      // Copies all users of a partition to the next partition.
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

    // An administrator imports devices and segments.
    try await company.succeed("admin", "devices", "import", devices)
    try await company.succeed("admin", "segment", "import", "vip", users)
    try await company.succeed("admin", "segment", "add", "churned", "u1", "u28")
    try await company.succeed("admin", "segment", "count", "vip & !churned")

    // A producer submits with the program and without the program.
    try await company.succeed(
      "producer", "campaign", "submit", "-", input: CarillonWorld.job("a", more: #","results":"all""#))
    let payload = try company.world.folder.write("hello.json", #"{"apns":{"payload":{"aps":{"alert":"hi"}}}}"#)
    try await company.succeed("admin", "template", "put", "hello", payload)
    try await company.succeed("admin", "segment", "define", "loyal", "vip & !churned")
    for (id, job) in [
      ("s1", #""audience":{"segment":"vip & !churned"},"apns":{"payload":{"aps":{"alert":"hi"}}}"#),
      (
        "s2",
        #""audience":{"segment":"loyal","exclude":{"segment":"churned"}},"apns":{"payload":{"aps":{"alert":"hi"}}}"#
      ),
      ("s3", #""audience":{"segment":"*"},"template":"hello""#),
      ("s4", #""audience":{"campaign":"a"},"apns":{"payload":{"aps":{"alert":"hi"}}}"#),
    ] {
      try await company.succeed(
        "producer", "campaign", "submit", "-", input: "{\"id\":\"\(id)\",\"app\":\"news\",\(job)}")
    }
    let jobs = [CarillonWorld.job("b", audience: #"{"segment":"vip & !churned"}"#), #"{"id":"nonsense"}"#, "{}"]
    for job in jobs {
      expect(
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
    expect(shown.text("state"), is: "completed")

    // A reader can see everything.
    for words in [
      ["campaign", "list"], ["campaign", "watch", "a"], ["status"], ["results", "export", "a"],
      ["results", "show", "a", "--token", tokens[9]], ["dead", "list"], ["quarantine", "list"], ["segment", "list"],
      ["devices", "show", "u9"], ["devices", "export"],
    ] {
      let output = try await company.run("reader", words)
      // There are dead jobs and no worker, so `status` reports an alarm.
      let status: Int32 = words == ["status"] ? 1 : 0
      expect(output.exit == .status(status) && !output.standardOutput.isEmpty, "\(words): \(output.standardError)")
      expect(!output.standardOutput.contains("lacks a permission"), "\(words): \(output.standardOutput)")
    }

    // An administrator does everything else.
    let status = try await company.run("admin", ["status"])
    expect(status.exit == .status(1) && !status.standardOutput.contains("lacks a permission"))
    try await company.succeed("admin", "campaign", "pause", "later")
    try await company.succeed("admin", "campaign", "resume", "later")
    try await company.succeed("admin", "campaign", "cancel", "later")
    let dead = try JSONObject.all(in: await company.succeed("admin", "dead", "list", "--json"))
    expect(dead.count, is: 2)
    for key in dead.compactMap({ $0.text("key") }) { try await company.succeed("admin", "dead", "drop", key) }
    let quarantined = try JSONObject.all(in: await company.succeed("admin", "quarantine", "list", "--json"))
    let bad = quarantined.compactMap { $0.text("token") }
    expect(bad.count, is: 4)
    try await company.succeed("admin", "quarantine", "release", bad[0])
    try await company.succeed("admin", "quarantine", "purge", "--campaign", "a")
    try await company.succeed("admin", "devices", "register", "--user", "u8", "--token", tokens[9], "--app", "news")
    try await company.succeed("admin", "devices", "unregister", "--token", tokens[9])
    try await company.succeed("admin", "segment", "remove-users", "vip", "u8")
    for name in ["loyal", "vip"] { try await company.succeed("admin", "segment", "remove", name) }
    try await company.succeed("admin", "campaign", "submit", "-", input: CarillonWorld.job("c"))
    try await company.succeed("worker", "worker", "--drain", "--name", "w2")

    // A maintainer repairs the store, whatever the check finds.
    try await company.succeed("admin", "campaign", "pause", "held")
    try await company.succeed("maintainer", "store", "check")
    try await company.damage()
    let left = try await company.run("maintainer", ["store", "check"])
    expect(left.exit, is: .status(1), "\(left.standardError)")
    try await company.succeed("maintainer", "store", "check", "--repair")
    try await company.succeed("maintainer", "store", "check")
    try await company.succeed("admin", "campaign", "cancel", "held")
    try await company.succeed("worker", "worker", "--drain", "--name", "w3")
    try await company.succeed("admin", "store", "repartition", "16", "--yes")

    // Redis refused no command at all, also at places where the program ignores a refusal.
    expect(try await company.operate("acl", "log"), is: "")
    await company.server.kill(SIGKILL)
  }

  @Test func missingRightIsNamed() async throws {
    let company = try await Company()
    try await company.succeed("admin", "campaign", "submit", "-", input: CarillonWorld.job("a"))
    for (role, words, says) in [
      ("reader", ["campaign", "submit", "-"], "lacks a permission"),
      ("producer", ["campaign", "list"], "(LLEN, {carillon}:campaigns)"),
      ("producer", ["campaign", "show", "a"], "keys used as arguments (the script view, {carillon}:campaign:a, "),
      ("reader", ["worker", "--drain"], "the script"),
    ] {
      let output = try await company.run(role, words, input: CarillonWorld.job("b"))
      expect(output.exit, is: .status(65), "\(role): \(words)")
      expect(output.standardError.contains(says), "\(output.standardError)")
      expect(output.standardError.contains("ACL LOG") && output.standardError.contains("{carillon"))
    }
    // A producer can't read attributes: it submits a job that uses an attribute, without the warning.
    let personal = CarillonWorld.job("p", content: #""apns":{"payload":{"aps":{"alert":"Hi {{name}}"}}}"#)
    try await company.succeed("producer", "campaign", "submit", "-", input: personal)
    // The default user has no rights; a password would not help.
    let anonymous = try await CarillonCommand.run(["campaign", "list"], environment: company.world.environment)
    expect(anonymous.exit == .status(65) && anonymous.standardError.contains("NOAUTH"))
    await company.server.kill(SIGKILL)
  }

  /// The roles have the rights for the keys that only campaigns to Android devices use, such as the project's quota.
  @Test func rolesHaveTheRightsForAndroid() async throws {
    let company = try await Company()
    let scene = try await TwoServiceWorld(engine: .native, server: company.server)
    func succeed(_ role: String, _ arguments: String..., input: String = "") async throws {
      var environment = scene.world.environment
      environment["CARILLON_REDIS_NAMESPACE"] = "carillon"
      environment["CARILLON_REDIS_USER"] = "carillon-" + role
      environment["CARILLON_REDIS_PASSWORD_FILE"] = company.world.folder.path(role)
      let output = try await CarillonCommand.run(arguments, environment: environment, input: input)
      expect(output.exit, is: .status(0), "\(role): \(arguments): \(output.standardError)")
    }
    let rows = (0..<20).map { "u\($0),\(TwoServiceWorld.android)\($0),shop,fcm\n" }.joined()
    let file = try scene.world.folder.write("android.csv", "user,token,app,service\n" + rows)
    try await succeed("admin", "devices", "import", file)
    try await scene.control("/fcm/devices", "--data-binary", "\(TwoServiceWorld.android)3,unregistered")
    try await succeed(
      "producer", "campaign", "submit", "-",
      input: CarillonWorld.job("two", app: "shop", content: #""message":{"body":"B"}"#, more: #","results":"all""#))
    try await succeed("worker", "worker", "--drain", "--name", "w1")
    try await succeed("reader", "campaign", "show", "two")
    try await succeed("reader", "results", "show", "two", "--token", "\(TwoServiceWorld.android)1")
    try await succeed("reader", "campaign", "list")
    try await succeed("maintainer", "store", "check", "--repair")
    expect(try await company.operate("exists", "{carillon}:quota:fcm:simulator-project"), is: "1")
    expect(try await company.operate("acl", "log"), is: "")
    await scene.end()
    await company.server.kill(SIGKILL)
  }

  @Test func producerWaitsForReplicas() async throws {
    let company = try await Company()
    let job = CarillonWorld.job("a")
    try await company.succeed("admin", "segment", "add", "vip", "u1")
    let submitted = try await company.run("producer", ["campaign", "submit", "--replicas", "1", "-"], input: job)
    expect(submitted.standardError.contains("0 of 1 replicas"), "\(submitted.standardError)")
    expect(try await company.operate("acl", "log"), is: "")
    await company.server.kill(SIGKILL)
  }

  /// A test kills `users erase`. The worker's role has the rights to complete the erasure, including the streams.
  @Test(arguments: ["redis.acl.example", "redis-6.2.acl.example"])
  func workerCompletesTheErasureOfAKilledCommand(file: String) async throws {
    let isOld = file.contains("6.2")
    guard !isOld || RedisServer.Program.redis62.isPresent else { return }
    let company = try await Company(file, on: isOld ? .redis62 : .distribution)
    let devices = try company.world.folder.write("devices.csv", "user,token\nvictim,\(CarillonWorld.token(7))\n")
    try await company.succeed("admin", "devices", "import", devices)
    let event = #"{"user":"victim"}"#
    try await company.operate("xadd", "{carillon}:events", "*", "kind", "outcome", "json", event)
    try await company.operate("xadd", "{carillon}:dead", "*", "list", "receipts", "reason", "r", "job", event)
    // The command opens the store with three pipelines, reads data, and records the pending erasure.
    var environment = company.world.environment
    environment["CARILLON_REDIS_USER"] = "carillon-admin"
    environment["CARILLON_REDIS_PASSWORD_FILE"] = company.world.folder.path("admin")
    environment["CARILLON_FAULT_STEP"] = "12"
    let killed = try await CarillonCommand.run(["users", "erase", "victim", "--yes"], environment: environment)
    expect(killed.exit, is: .signal(SIGKILL))
    expect(try await company.operate("hlen", "{carillon}:erasing"), is: "1")
    environment["CARILLON_REDIS_USER"] = "carillon-worker"
    environment["CARILLON_REDIS_PASSWORD_FILE"] = company.world.folder.path("worker")
    environment["CARILLON_FAULT_STEP"] = nil
    let worker = try await ChildProcess.start(
      CarillonCommand.path, ["worker", "--name", "w1"], environment: environment)
    try await poll(until: "the erasure is complete") {
      if worker.exit != nil { return true }
      if try await company.operate("hlen", "{carillon}:erasing") != "1" { return true }
      return try await company.operate("acl", "log") != ""
    }
    expect(try await company.operate("acl", "log"), is: "")
    expect(try await company.operate("xlen", "{carillon}:events"), is: "0")
    expect(try await company.operate("xlen", "{carillon}:dead"), is: "0")
    expect(await worker.terminate(), is: .status(0))
    await company.server.kill(SIGKILL)
  }

  /// Commands that Redis must refuse to each role.
  private static let refused: [String: [String]] = [
    "producer": [
      "set {carillon}:campaign:a x", "set {carillon}:campaigns x", "set {carillon}:store x", "del {carillon}:campaigns",
      "del {carillon}:campaign:a", "hset {carillon}:campaign:a state cancelled", "hset {carillon}:store partitions 1",
      "rpush {carillon}:campaigns x", "lrange {carillon}:campaigns 0 -1", "lpush {carillon}:lane:urgent a",
      "lpush {carillon}:intake:w x", "lpush {carillon}:job:a x", "expire {carillon}:campaign:a 1",
      "expire {carillon}:campaigns 1", "set {carillon}:submitter:a x", "get {carillon}:submitter:a",
      "sadd {carillon}:segments x", "hset {carillon}:definitions x y", "hset {carillon}:template:hello 1 x",
      "smembers {carillon:0}:segment:vip", "hgetall {carillon:0}:devices", "hget {carillon:0}:owner t",
      "xrange {carillon}:dead - +", "xadd {carillon}:dead * a b", "hgetall {carillon}:campaign:a",
      "set {other}:job:a x", "lpush {other}:campaigns x", "publish {carillon}:wake x",
      "subscribe {carillon}:wake", #"eval "return 0" 0"#, "keys *", "scan 0", "flushall", "config get dir",
      "evalsha 0000000000000000000000000000000000000000 1 {carillon:0}:devices", "client unblock 1", "client list",
    ],
    "reader": [
      "set {carillon}:campaign:a x", "lpush {carillon}:campaigns x", "del {carillon}:store",
      "hset {carillon}:store a b",
      "sadd {carillon:0}:segment:vip x", "expire {carillon}:store 1", "publish {carillon}:wake x", "keys *", "scan 0",
      "get {other}:x", "config get dir", #"eval "return 0" 0"#,
    ],
    "worker": [
      "keys *", "scan 0", "flushall", "config get dir", "get {other}:x", "set other x", "zscan {carillon}:all 0",
      "client list", #"eval "return 0" 0"#, "acl list",
    ],
    "admin": [
      "keys *", "scan 0", "flushall", "config get dir", "get {other}:x", "blmove {carillon}:a {carillon}:b left left 0",
      "rename {carillon}:a {carillon}:b", "client list", #"eval "return 0" 0"#, "acl list",
    ],
    "maintainer": [
      "keys *", "flushall", "config get dir", "get {other}:x", "lpush {carillon}:campaigns x",
      "xadd {other}:dead * a b", "client list", #"eval "return 0" 0"#, "acl list",
    ],
  ]

  @Test(arguments: ["redis.acl.example", "redis-6.2.acl.example"])
  func everyRoleIsRefusedForbiddenCommands(file: String) async throws {
    let isOld = file.contains("6.2")
    guard !isOld || RedisServer.Program.redis62.isPresent else { return }
    let company = try await Company(file, on: isOld ? .redis62 : .distribution)
    for (role, commands) in Self.refused {
      let login = ["-u", "redis://carillon-\(role):\(role.uppercased())_PASSWORD@127.0.0.1:\(company.server.port)"]
      let output = try await ChildProcess.run(
        "redis-cli", login + ["--no-auth-warning"], input: commands.joined(separator: "\n") + "\n")
      let answers = output.standardOutput.split(separator: "\n")
      expect(answers.count, is: commands.count, "\(role): \(answers)")
      for (command, answer) in zip(commands, answers) {
        expect(answer.hasPrefix("NOPERM"), "\(role): \(command): \(answer)")
      }
    }
    for list in ["campaigns", "registrations", "receipts"] {
      let pushed = try await company.redis(
        "carillon-producer", "PRODUCER_PASSWORD", ["lpush", "{carillon}:\(list)", "{}"])
      expect(pushed, is: "1")
    }
    await company.server.kill(SIGKILL)
  }
}
