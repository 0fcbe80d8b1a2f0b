import Foundation
import TestKit
import TestSupport
import Testing

/// The producers of `deploy/producers`, each run with the commands of its page: first through Redis, then through HTTP.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct ProducerTests {
  /// A name with quotes and characters outside ASCII. It breaks code that counts lengths in characters or concatenates
  /// JSON.
  private static let user = #"Jürgen "J." of "#

  /// A Redis, a worker that sends, and the API, shared by all producers.
  private struct Stage {
    let world: CarillonWorld
    /// Processes of the stage. A process ends with the last reference to it.
    let processes: [ChildProcess]
    /// URL of the API and a token with the scope `submit`.
    let api: [String: String]
  }

  private static let stage = Task {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
    world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
    let token = try await world.succeed("admin", "token", "producer", "--scope", "submit")
    let worker = try await world.start("worker", "--name", "producers", "--json")
    guard await worker.errorLine(containing: #""event":"started""#) != nil else {
      throw TestSupportError("the worker ended at its start")
    }
    let admin = try await world.start("admin", "--json")
    return Stage(
      world: world, processes: [worker, admin],
      api: ["CARILLON_URL": try await admin.listeningURL(), "CARILLON_TOKEN": token.trimmingCharacters(in: .newlines)])
  }

  @Test func python() async throws {
    try await run("python", 1, ["python3", "by-redis.py"], ["python3", "by-http.py"])
  }
  @Test(.enabled(if: Deploy.has("node"), "no node")) func node() async throws {
    try await run("node", 2, ["node", "by-redis.mjs"], ["node", "by-http.mjs"])
  }
  @Test(.enabled(if: Deploy.has("go"), "no go")) func go() async throws {
    try await run("go", 3, ["go", "run", "by-redis.go"], ["go", "run", "by-http.go"])
  }
  @Test(.enabled(if: Deploy.has("php"), "no php")) func php() async throws {
    try await run("php", 4, ["php", "by-redis.php"], ["php", "by-http.php"])
  }
  @Test(.enabled(if: Deploy.has("javac"), "no JDK")) func java() async throws {
    try await run("java", 5, ["java", "ByRedis.java"], ["java", "ByHttp.java"])
  }
  @Test(.enabled(if: Deploy.has("ruby"), "no ruby")) func ruby() async throws {
    try await run("ruby", 6, ["ruby", "by-redis.rb"], ["ruby", "by-http.rb"])
  }
  @Test(.enabled(if: Deploy.has("jq") && Deploy.has("redis-cli"), "no jq or redis-cli")) func shell() async throws {
    try await run("shell", 7, ["sh", "by-redis.sh"], ["sh", "by-http.sh"])
  }
  @Test func swift() async throws {
    let folder = try ScratchFolder("producer")
    let programs = ["by-redis", "by-http"].map { ($0, folder.path($0)) }
    for (name, program) in programs {
      let compiled = try await ChildProcess.run("swiftc", ["\(name).swift", "-o", program], folder: here)
      try #require(compiled.exit == .status(0), "\(compiled.standardError)")
    }
    try await run("swift", 8, [programs[0].1], [programs[1].1])
  }

  private var here: URL { URL(filePath: Deploy.path("producers")) }

  private func run(_ language: String, _ number: Int, _ byRedis: [String], _ byHTTP: [String]) async throws {
    let stage = try await Self.stage.value
    try await runByRedis(language, number, byRedis, stage)
    try await runByHTTP(language, number, byHTTP, stage)
  }

  private func start(
    _ command: [String], _ arguments: [String], _ environment: [String: String]
  ) async throws -> ChildProcess.Output {
    // A program that runs for one second needs no second compiler and no parallel collector.
    let quick = ["JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    return try await ChildProcess.run(
      command[0], command.dropFirst() + arguments, environment: environment.merging(quick) { $1 }, folder: here)
  }

  /// Runs a producer on an empty store with the commands of its page. The device must belong to the user, and the
  /// campaign must reach the user on exactly this device.
  private func runByRedis(
    _ language: String, _ number: Int, _ command: [String], _ stage: Stage
  ) async throws {
    let user = Self.user + language
    let id = "by-redis-\(language)"
    let token = CarillonWorld.token(2 * number)
    let world = try await CarillonWorld(engine: "native", simulator: stage.world)
    let worker = try await world.start("worker", "--name", "producer-\(language)", "--json")
    try #require(await worker.errorLine(containing: #""event":"started""#) != nil)
    let settings = ["REDIS_PORT": String(world.server.port), "CARILLON_NAMESPACE": world.namespace]
    let output = try await start(command, [id, user, token], settings)
    try #require(output.exit == .status(0), "\(output.standardError)")

    try await world.until(id) { $0.text("state") == "completed" }
    let campaign = try await world.show(id)
    expect(campaign.object("outcomes")?.numbers, is: ["accepted": 1], "\(campaign)")
    let device = try await registered(token, of: user, in: world)
    expect(device.text("app") == "news" && device.text("locale") == "en")

    // A producer that lost the answer repeats the command: no push is sent twice.
    let again = try await start(command, [id, user, token], settings)
    expect(again.exit, is: .status(0), "\(again.standardError)")
    try await poll(until: "the worker has taken in the job") {
      try await world.server.command("LLEN", "{\(world.namespace)}:campaigns") == "0"
    }
    expect(try await world.server.command("XLEN", "{\(world.namespace)}:dead"), is: "0")
    expect(await worker.terminate(), is: .status(0))
  }

  /// The same user through HTTP. The campaign is sent once although it is submitted twice, and the producer reports a
  /// refusal.
  private func runByHTTP(_ language: String, _ number: Int, _ command: [String], _ stage: Stage) async throws {
    let (user, id) = (Self.user + language, "by-http-\(language)")
    let token = CarillonWorld.token(2 * number + 1)
    try await stage.world.succeed("devices", "register", "--user", user, "--token", token, "--app", "news")
    for _ in 1...2 {
      let output = try await start(command, [id, user], stage.api)
      try #require(output.exit == .status(0), "\(output.standardOutput)\(output.standardError)")
    }
    try await stage.world.until(id) { $0.text("state") == "completed" }
    expect(try await stage.world.show(id).object("outcomes")?.numbers, is: ["accepted": 1])
    for (arguments, environment, problem) in [
      ([id, "somebody else"], [:], "conflict"),
      (["\(id)-2", user], ["CARILLON_TOKEN": "carillon_none"], "unauthorized"),
    ] {
      let refused = try await start(command, arguments, stage.api.merging(environment) { $1 })
      expect(
        refused.exit != .status(0) && (refused.standardOutput + refused.standardError).contains(problem),
        "\(refused.standardOutput)\(refused.standardError)")
    }
  }

  /// Queries the user's devices repeatedly until the token is one of them.
  private func registered(_ token: String, of user: String, in world: CarillonWorld) async throws -> JSONObject {
    var device: JSONObject?
    try await poll(until: "the device is registered") {
      let shown = try JSONObject(await world.succeed("devices", "show", user, "--json"))
      device = shown.objects("devices")?.first { $0.text("token") == token }
      return device != nil
    }
    return try #require(device)
  }
}
