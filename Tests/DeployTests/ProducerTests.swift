import Foundation
import TestSupport
import Testing

/// The producers of `deploy/producers`, each run as its page says.
@Suite(.timeLimit(.minutes(2))) struct ProducerTests {
  /// Beyond ASCII and with quotes: what breaks lengths that are counted in characters, and JSON that is put together.
  private static let user = #"Jürgen "J." of "#

  /// A Redis with a worker that sends, for all of them.
  private static let stage = Task {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    let worker = try await world.start("worker", "--name", "producers", "--json")
    guard await worker.errorLine(containing: #""event":"started""#) != nil else {
      throw TestSupportError("the worker ended at its start")
    }
    return (world: world, worker: worker)
  }

  @Test func python() async throws { try await run("python", 1, "python3", "by-redis.py") }
  @Test(.enabled(if: Deploy.has("node"), "no node")) func node() async throws {
    try await run("node", 2, "node", "by-redis.mjs")
  }
  @Test(.enabled(if: Deploy.has("go"), "no go")) func go() async throws {
    try await run("go", 3, "go", "run", "by-redis.go")
  }
  @Test(.enabled(if: Deploy.has("php"), "no php")) func php() async throws {
    try await run("php", 4, "php", "by-redis.php")
  }
  @Test(.enabled(if: Deploy.has("javac"), "no JDK")) func java() async throws {
    try await run("java", 5, "java", "ByRedis.java")
  }
  @Test(.enabled(if: Deploy.has("ruby"), "no ruby")) func ruby() async throws {
    try await run("ruby", 6, "ruby", "by-redis.rb")
  }
  @Test(.enabled(if: Deploy.has("jq") && Deploy.has("redis-cli"), "no jq or redis-cli")) func shell() async throws {
    try await run("shell", 7, "sh", "by-redis.sh")
  }
  @Test func swift() async throws {
    let folder = try ScratchFolder("producer")
    let program = folder.path("by-redis")
    let compiled = try await ChildProcess.run("swiftc", ["by-redis.swift", "-o", program], folder: here)
    try #require(compiled.exit == .status(0), "\(compiled.standardError)")
    try await run("swift", 8, program)
  }

  private var here: URL { URL(filePath: Deploy.path("producers")) }

  /// Runs a producer: its device must be the user's, and its campaign reach the user, who has another device already.
  private func run(_ language: String, _ number: Int, _ command: String...) async throws {
    let world = try await Self.stage.value.world
    let user = Self.user + language
    let id = "by-redis-\(language)"
    let (first, second) = (CarillonWorld.token(2 * number), CarillonWorld.token(2 * number + 1))
    try await world.succeed("devices", "register", "--user", user, "--token", first, "--app", "news")
    let output = try await ChildProcess.run(
      command[0], command.dropFirst() + [id, user, second],
      environment: ["REDIS_PORT": String(world.server.port), "CARILLON_NAMESPACE": world.namespace], folder: here)
    try #require(output.exit == .status(0), "\(output.standardError)")

    try await world.until(id) { $0.text("state") == "completed" }
    let campaign = try await world.show(id)
    #expect((1...2).contains(campaign.object("outcomes")?.number("accepted") ?? 0), "\(campaign)")
    let device = try await registered(second, of: user, in: world)
    #expect(device.text("app") == "news" && device.text("locale") == "en")

    // Whoever lost the answer does the same again: nothing is sent twice.
    let again = try await ChildProcess.run(
      command[0], command.dropFirst() + [id, user, second],
      environment: ["REDIS_PORT": String(world.server.port), "CARILLON_NAMESPACE": world.namespace], folder: here)
    #expect(again.exit == .status(0), "\(again.standardError)")
    while try await world.server.command("LLEN", "{\(world.namespace)}:campaigns") != "0" {}
    #expect(try await world.server.command("XLEN", "{\(world.namespace)}:dead") == "0")
  }

  /// Asks for the user's devices, with the command's own time for a pace, until the token is among them.
  private func registered(_ token: String, of user: String, in world: CarillonWorld) async throws -> JSONObject {
    while true {
      let shown = try JSONObject(await world.succeed("devices", "show", user, "--json"))
      if let device = shown.objects("devices")?.first(where: { $0.text("token") == token }) { return device }
    }
  }
}
