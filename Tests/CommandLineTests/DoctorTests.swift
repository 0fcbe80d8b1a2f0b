import Foundation
import PushTransport
import TestKit
import TestSupport
import Testing

/// `carillon doctor` on real servers and files, some of which are broken.
@Suite(.takesTurns) struct DoctorTests {
  private func doctor(
    _ world: CarillonWorld, _ changes: [String: String] = [:], _ options: String...
  ) async throws -> (exit: ChildProcess.Exit, findings: [JSONObject]) {
    let output = try await CarillonCommand.run(
      ["doctor", "--json"] + options, environment: world.environment.merging(changes) { $1 })
    let json = try JSONObject(output.standardOutput)
    expect(json.bool("healthy") == true, is: output.exit == .status(0), "\(output.standardOutput)")
    return (output.exit, try #require(json.objects("findings")))
  }

  private func problems(_ findings: [JSONObject]) -> [String] {
    findings.filter { $0.text("level") == "problem" }.map { "\($0.text("area") ?? ""): \($0.text("text") ?? "")" }
  }

  /// Starts a separate Redis with correct settings. The shared one has no append-only file and no memory limit.
  private func healthy() async throws -> (CarillonWorld, RedisServer) {
    let server = try await RedisServer.start(arguments: ["--appendonly", "yes", "--maxmemory", "100mb"])
    var world = try await CarillonWorld(engine: PushEngineKind.native.rawValue, server: server)
    try await world.startSimulator()
    return (world, server)
  }

  @Test func healthySystemHasNoFindingAndIsNotChanged() async throws {
    let (world, server) = try await healthy()
    try await world.importDevices(50)
    let worker = try await world.start("worker", "--name", "ada")
    // Waits until the worker is listed and has published its report.
    try await poll(until: "the worker has reported") {
      try await server.command("hlen", "{\(world.namespace)}:reports") == "1"
    }
    let before = try await server.command("info", "commandstats")
    let (exit, findings) = try await doctor(world)
    expect(exit, is: .status(0), "\(problems(findings))")
    let texts = findings.compactMap { $0.text("text") }
    for part in [
      "all keys are known", "Redis ", "has an append-only file", "of its memory", "answer",
      "the Redis user has all permissions of the role worker", "8 partitions; types and counts of keys agree",
      "can be read",
      "speaks TLSv1.3, h2", "in the chain", "limit of open files", "libcurl ",
      "1 live workers, all with this version, 0.1.0",
    ] {
      expect(texts.contains { $0.contains(part) }, "\(part): \(texts)")
    }
    // Commands that only the worker can have executed in this time are left out.
    let written = ["set", "sadd", "lpush", "rpush", "xadd", "del", "expire", "hincrby", "zrem", "unlink"]
    let after = try await server.command("info", "commandstats")
    for command in written {
      let line = { (text: String) in
        text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_\(command):") }?.prefix { $0 != "," }
      }
      if command == "set" { continue }
      expect(line(before), is: line(after), "\(command)")
    }
    worker.send(signal: SIGTERM)
    await worker.waitForExit()
    // The same report as text.
    let text = try await CarillonCommand.run(["doctor"], environment: world.environment).standardOutput
    expect(
      text.contains("ok  redis  ") && text.contains("?   versions  no worker runs, so version 0.1.0 can't be compared"))
    await server.stop()
  }

  @Test func eachProblemIsFoundWithItsHint() async throws {
    let (world, server) = try await healthy()
    try await world.succeed("segment", "list")
    try await world.importDevices(10)
    let folder = world.folder
    let exposed = try folder.write("exposed.p8", "x")
    let cases: [(changes: [String: String], problem: String)] = [
      (["CARILLON_REDIS_URL": "redis://127.0.0.1:1"], "redis: Redis at 127.0.0.1:1"),
      (["CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE": folder.path("none.p8")], "credential: apps.news.apns.token.keyFile"),
      (
        ["CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE": exposed],
        "credential: apps.news.apns.token.keyFile: \(exposed): every user"
      ),
      (["CARILLON_APPS_NEWS_APNS_ENDPOINT": "https://nobody.invalid"], "network: look up nobody.invalid"),
      (
        ["CARILLON_APPS_NEWS_APNS_ENDPOINT": "https://127.0.0.1:1"], "network: 127.0.0.1:1: connect: Connection refused"
      ),
      (["CARILLON_APPS_NEWS_APNS_TRUST_ROOTS": "/etc/hosts"], "network: apps.news.apns.trustRoots: /etc/hosts"),
      (["CARILLON_WORKER_WINDOW": "none"], "configuration: worker.window"),
      (["CARILLON_REDIS_PARTITIONS": "9"], "keys: the store has 8 partitions, but redis.partitions is 9"),
      (
        ["https_proxy": "http://127.0.0.1:9", "no_proxy": ""], "configuration: worker.engine: the engine native ignores"
      ),
    ]
    for (changes, problem) in cases {
      let (exit, findings) = try await doctor(world, changes)
      expect(exit, is: .status(1))
      expect(problems(findings).contains { $0.hasPrefix(problem) }, "\(problem): \(problems(findings))")
      expect(findings.allSatisfy { $0.text("level") == "healthy" || $0.text("hint")?.isEmpty == false })
    }
    // The certificate is not trusted: the simulator has an authority of its own.
    let roots = try await CarillonWorld(engine: "native", server: server).environment["CARILLON_CONFIG"]
    expect(roots != nil)
    await server.stop()
  }

  @Test func keysThatDisagreeAreFound() async throws {
    let (world, server) = try await healthy()
    try await world.importDevices(10)
    try await server.command("sadd", "{\(world.namespace):3}:users", "ghost")
    var findings = try await doctor(world).findings
    expect(problems(findings).contains { $0.hasPrefix("keys: the user is listed, but has no device") })
    expect(findings.contains { $0.text("hint") == "repair it: carillon store check --repair" })
    try await server.command("srem", "{\(world.namespace):3}:users", "ghost")
    try await server.command("set", "{\(world.namespace)}:schedule", "x")
    findings = try await doctor(world).findings
    expect(problems(findings).contains { $0.contains("string, not zset") })
    await server.stop()
  }

  /// A user who can only read lacks many rights of a worker, but none of a reader.
  @Test func rightsOfTheUserAreComparedWithItsRole() async throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/redis.acl.example")
    let users = try String(contentsOf: file, encoding: .utf8).replacing(
      "user default off", with: "user default on nopass ~* &* +@all")
    let folder = try ScratchFolder("acl")
    let server = try await RedisServer.start(arguments: ["--aclfile", try folder.writeSecret("users.acl", users)])
    let world = try await CarillonWorld(server: server)
    let base = ["CARILLON_REDIS_NAMESPACE": "carillon"]
    let added = try await CarillonCommand.run(
      ["segment", "add", "vip", "ada"], environment: world.environment.merging(base) { $1 })
    expect(added.exit, is: .status(0), "\(added.standardError)")
    for role in ["worker", "admin", "reader", "producer"] {
      let changes = base.merging([
        "CARILLON_REDIS_USER": "carillon-\(role)",
        "CARILLON_REDIS_PASSWORD_FILE": try folder.writeSecret(role, role.uppercased() + "_PASSWORD\n"),
      ]) { $1 }
      let (_, findings) = try await doctor(world, changes, "--role", role)
      expect(
        findings.contains { $0.text("text") == "the Redis user has all permissions of the role \(role)" },
        "\(role): \(findings)")
      guard role == "reader" else { continue }
      let missing = try await doctor(world, changes).findings
      expect(
        problems(missing).contains {
          $0.hasPrefix("redis: the Redis user lacks permissions of the role worker: bitpos")
        })
    }
    await server.kill(SIGKILL)
  }

  /// The doctor checks the endpoint through a proxy that does not exist, and also without the proxy.
  @Test func proxyIsTried() async throws {
    let (world, server) = try await healthy()
    let findings = try await doctor(world, ["CARILLON_APPS_NEWS_APNS_PROXY_URL": "http://127.0.0.1:1"]).findings
    expect(problems(findings).contains { $0.hasPrefix("network: unreachable through the proxy http://127.0.0.1:1") })
    expect(findings.contains { $0.text("text")?.contains("speaks TLSv1.3, h2") == true })
    await server.stop()
  }

  /// The doctor requests an access token, which shows a refused key and a token endpoint that can't be reached. FCM
  /// then validates a message, which shows a disabled API and a missing role.
  @Test func accessTokenIsRequested() async throws {
    let (fcm, tokens) = (try FreePort.find(), try FreePort.find())
    let folder = try ScratchFolder()
    let directory = folder.path("sim")
    let made = try await CarillonCommand.run(["simulate", "--init", directory])
    expect(made.exit, is: .status(0))
    let account = directory + "/service-account.json"
    let text = try String(contentsOfFile: account, encoding: .utf8).replacing(":2200", with: ":\(tokens)")
    try text.write(toFile: account, atomically: true, encoding: .utf8)
    _ = try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: account)
    let key = try #require(JSONObject(text).text("private_key_id"))
    let file = directory + "/carillon.yaml"
    let yaml = try String(contentsOfFile: file, encoding: .utf8)
    // The app `android` alone, without the apps that use APNs.
    let apps = try #require(yaml.firstRange(of: "  news:"))
    let android = try #require(yaml.firstRange(of: "  android:"))
    let shop = try #require(yaml.firstRange(of: "  shop:"))
    let rest = try #require(yaml.firstRange(of: "\nretry:"))
    let own =
      yaml[..<apps.lowerBound] + yaml[android.lowerBound..<shop.lowerBound] + yaml[rest.lowerBound...]
    try String(own).replacing(":2199", with: ":\(fcm)").write(toFile: file, atomically: true, encoding: .utf8)

    func findings(_ knob: String) async throws -> [String] {
      let simulator = try await ChildProcess.start(
        CarillonCommand.path,
        [
          "simulate", "--directory", directory, "--port", "0", "--control-port", "0", "--fcm-port", "\(fcm)",
          "--token-port", "\(tokens)", "--knob", knob,
        ])
      _ = try #require(await simulator.line(containing: "listening"))
      let output = try await CarillonCommand.run(
        ["doctor", "--json"],
        environment: ["CARILLON_CONFIG": file, "CARILLON_REDIS_URL": try await RedisServer.shared.url])
      expect(await simulator.terminate(), is: .status(0))
      let findings = try #require(JSONObject(output.standardOutput).objects("findings"))
      return findings.filter { $0.text("area") == "credential" }.compactMap { $0.text("text") }
    }
    let healthy = try await findings("fcm.latencyMilliseconds=0")
    expect(healthy.contains("https://127.0.0.1:\(tokens)/token issues an access token for FCM"), "\(healthy)")
    expect(healthy.contains { $0.hasPrefix("FCM accepts the access token") }, "\(healthy)")
    let disabled = try await findings("fcm.isDisabled=true")
    expect(disabled.contains { $0.hasPrefix("FCM answered 403 SERVICE_DISABLED: ") }, "\(disabled)")
    let refused = try await findings(#"fcm.revokedKeys=["\#(key)"]"#)
    expect(refused.contains { $0.hasPrefix("no access token for FCM: ") && $0.contains("key") }, "\(refused)")
    let down = try await findings("fcm.tokenEndpointIsDown=true")
    expect(down.contains { $0.hasPrefix("no access token for FCM: ") }, "\(down)")
  }
}
