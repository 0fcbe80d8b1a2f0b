import ArgumentParser
import CommandSupport
import EventLoop
import Foundation
import HTTPServer
import TestKit
import TestSupport
import Testing

@testable import Admin
@testable import carillon

/// Every command and every operation of the API declares its effect, and every change leaves an entry in the audit log.
@Suite(.takesTurns) struct AuditTests {
  // MARK: Commands

  /// Keys of two jobs in the dead list.
  private static let dead = ["1763719200000-0", "1763719200000-1"]

  /// Command lines that change something, in an order in which each of them succeeds.
  private static let lines: [(command: String, arguments: [String], input: String)] = [
    ("devices import", ["-", "--format", "csv"], devices(0..<3)),
    ("devices register", ["--user", "u9", "--token", CarillonWorld.token(9)], ""),
    ("devices unregister", ["--token", CarillonWorld.token(9)], ""),
    ("segment add", ["vip", "u0", "u1"], ""), ("segment remove-users", ["vip", "u1"], ""),
    ("segment define", ["rest", "* & !vip"], ""), ("segment remove", ["rest"], ""),
    ("segment import", ["fans", "-"], "u1\nu2\n"), ("segment import", ["fans", "-", "--replace"], "u1\n"),
    ("suppression add", ["news", "u2"], ""), ("suppression remove", ["news", "u2"], ""),
    ("suppression import", ["news", "-"], "u1\nu2\n"), ("suppression import", ["news", "-", "--replace"], "u1\n"),
    ("template put", ["hi", "-"], #"{"message":{"body":"Hi"}}"#), ("template remove", ["hi"], ""),
    ("campaign vars", ["b", "-"], #"{"user":"u0","vars":{"price":1}}"# + "\n"),
    ("campaign submit", ["-"], later("a")), ("campaign submit", ["-"], later("big", #"{"segment":"*"}"#)),
    ("devices sweep", ["news", "--id", "sweep"], ""),
    ("campaign pause", ["a"], ""), ("campaign resume", ["a"], ""), ("campaign decide", ["big", "short"], ""),
    ("campaign approve", ["big", "--by", "grace"], ""), ("campaign cancel", ["a"], ""),
    ("quarantine release", ["--all"], ""), ("quarantine purge", ["--all", "--yes"], ""),
    ("channel create", ["--app", "news"], ""), ("channel delete", ["--app", "news", "a+b="], ""),
    ("dead retry", [dead[0]], ""), ("dead drop", [dead[1]], ""), ("store check", ["--repair"], ""),
    ("users erase", ["u2", "--yes"], ""), ("store repartition", ["16", "--yes"], ""),
  ]

  private static func devices(_ numbers: Range<Int>) -> String {
    "user,token\n" + numbers.map { "u\($0),\(CarillonWorld.token($0))\n" }.joined()
  }

  /// Returns a job of a campaign that starts tomorrow.
  private static func later(_ id: String, _ audience: String = #"{"users":["u0"]}"#) -> String {
    CarillonWorld.job(
      id, audience: audience,
      more: #"""
        ,"sendAt":"\#(Date.now.addingTimeInterval(86_400).formatted(.iso8601))","variants":[{"name":"plain"},
        {"name":"short","apns":{"payload":{"aps":{"alert":"!"}}}}],"stages":[{"share":0.5,"winner":{"by":"opened"}}]
        """#)
  }

  @Test func everyCommandDeclaresItsEffect() {
    let undeclared = Self.commands().filter { !($0.type is any AuditedCommand.Type) }.map(\.name)
    expect(undeclared, is: [])
  }

  @Test func everyChangingCommandLeavesAnEntry() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "1"
    var seen: [String: Set<AuditAction>] = [:]
    for (command, arguments, input) in Self.lines {
      if command == "campaign pause" { try await takeInJobs(world) }
      if command == "dead retry" { try await fillDeadList(world) }
      if command == "channel create" { try await startChannelServer(&world) }
      let before = try await Self.log(world).count
      let output = try await CarillonCommand.run(
        command.split(separator: " ").map(String.init) + arguments, environment: world.environment, input: input)
      expect(output.exit, is: .status(0), "\(command): \(output.standardError)")
      let entries = try await Self.log(world).dropFirst(before)
      expect(entries.count == 1 && entries.allSatisfy { $0.actor.hasPrefix("cli:") }, "\(command): \(entries)")
      seen[command, default: []].formUnion(entries.compactMap { AuditAction(rawValue: $0.action) })
    }
    var declared: [String: Set<AuditAction>] = [:]
    for (name, type) in Self.commands() {
      guard case .changes(let actions)? = (type as? any AuditedCommand.Type)?.effect else { continue }
      declared[name] = Set(actions)
    }
    expect(seen, is: declared)
    expect(Set(declared.values.joined()), is: Set(AuditAction.allCases))
  }

  /// Runs a worker that takes in the submitted jobs. The sweep then waits for workers, but the others are scheduled.
  private func takeInJobs(_ world: CarillonWorld) async throws {
    try await world.succeed("campaign", "cancel", "sweep")
    try await world.drain()
  }

  /// Starts a server that creates a channel and then deletes it.
  private func startChannelServer(_ world: inout CarillonWorld) async throws {
    let server = try await CannedServer.start([
      ["HTTP/1.1 201 Created", "apns-channel-id: a+b="], ["HTTP/1.1 204 No Content"],
    ])
    world.environment["CARILLON_APPS_NEWS_APNS_CHANNEL_ENDPOINT"] = "https://127.0.0.1:\(server.port)"
    world.environment["CARILLON_APPS_NEWS_APNS_TRUST_ROOTS"] = try world.folder.write("roots.pem", server.authorityPEM)
  }

  /// - Parameter prefix: the beginning of the jobs' ids.
  private func fillDeadList(_ world: CarillonWorld, _ prefix: String = "dead") async throws {
    for key in Self.dead {
      let job = CarillonWorld.job("\(prefix)-\(key)")
      try await world.server.command(
        "xadd", "{\(world.namespace)}:dead", key, "reason", "r", "hint", "h", "id", "\(prefix)-\(key)", "size",
        String(job.utf8.count), "job", job)
    }
  }

  /// Returns the entries of the audit log, the oldest first.
  private static func log(_ world: CarillonWorld) async throws -> [(actor: String, action: String)] {
    let words = try await world.server.command("xrange", "{\(world.namespace)}:audit", "-", "+")
      .split(separator: "\n", omittingEmptySubsequences: false)
    return words.indices.filter { words[$0] == "who" }.map { (String(words[$0 + 1]), String(words[$0 + 3])) }
  }

  /// Returns all commands that have no subcommands, with their names.
  private static func commands(
    of root: any ParsableCommand.Type = Carillon.self, path: [String] = []
  ) -> [(name: String, type: any ParsableCommand.Type)] {
    root.configuration.subcommands.flatMap { command in
      let path = path + [command._commandName]
      return command.configuration.subcommands.isEmpty
        ? [(path.joined(separator: " "), command)] : commands(of: command, path: path)
    }
  }

  // MARK: The API

  /// Requests that change something, in an order in which each of them succeeds.
  private static let requests: [(operation: String, parameters: [String: String], body: String)] = [
    ("submitCampaign", [:], later("c")), ("submitCampaign", [:], later("big", #"{"segment":"*"}"#)),
    ("pauseCampaign", ["id": "c"], "{}"), ("resumeCampaign", ["id": "c"], "{}"),
    ("decideCampaign", ["id": "big"], #"{"variant":"short"}"#), ("approveCampaign", ["id": "big"], "{}"),
    ("cancelCampaign", ["id": "c"], "{}"), ("addToSegment", ["name": "vip"], #"{"users":["u0"]}"#),
    ("removeFromSegment", ["name": "vip"], #"{"users":["u0"]}"#),
    ("releaseQuarantined", [:], #"{"all":true}"#), ("purgeQuarantined", [:], #"{"all":true}"#),
    ("retryOneDead", ["key": dead[0]], ""), ("dropOneDead", ["key": dead[1]], ""),
    ("retryDead", [:], #"{"keys":["\#(dead[0])"]}"#), ("dropDead", [:], #"{"keys":["\#(dead[1])"]}"#),
    ("eraseUser", ["user": "u2"], ""),
  ]

  /// Operations with another method than GET that change nothing.
  private static let readers: Set = ["estimateCampaign", "checkManifest", "lintCampaign", "previewCampaign"]

  @Test func everyChangingOperationLeavesAnEntry() async throws {
    var world = try await CarillonWorld(devices: 3)
    world.environment["CARILLON_APPS_NEWS_APPROVAL_ABOVE"] = "1"
    let configuration = try ConfigurationLoader(argument: nil, environment: world.environment).load()
    let api = API(configuration, try APIStore(configuration.redis, on: .init(label: "audit")), APIPools())
    for operation in api.operations {
      let changes = operation.method != "GET" && !Self.readers.contains(operation.name)
      expect(operation.effect != .reads, is: changes, "\(operation.name)")
    }
    var seen: [String: Set<AuditAction>] = [:]
    for (name, parameters, body) in Self.requests {
      if name == "pauseCampaign" { try await world.drain() }
      if name == "retryOneDead" { try await fillDeadList(world) }
      if name == "retryDead" {
        // Redis accepts a key again only in a new stream. The jobs of the first operations are in the queue.
        try await world.server.command("del", "{\(world.namespace)}:dead")
        try await fillDeadList(world, "more")
      }
      let operation = try #require(api.operations.first { $0.name == name })
      var request = HTTPRequest(method: operation.method, path: [])
      request.body = Array(body.utf8)
      // An approval by the submitter would be refused.
      let holder = AccessTokens.Holder(name: name == "approveCampaign" ? "grace" : "boss", scopes: [.admin])
      let before = try await Self.log(world).count
      _ = try await operation.run(RouteCall(request: request, parameters: parameters, holder: holder))
      let entries = try await Self.log(world).dropFirst(before)
      expect(entries.count == 1 && entries.allSatisfy { $0.actor == holder.name }, "\(name): \(entries)")
      seen[name, default: []].formUnion(entries.compactMap { AuditAction(rawValue: $0.action) })
    }
    var declared: [String: Set<AuditAction>] = [:]
    for operation in api.operations {
      if case .changes(let actions) = operation.effect { declared[operation.name] = Set(actions) }
    }
    expect(seen, is: declared)
  }

  // MARK: The page

  @Test func pageNamesEveryAction() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../deploy/operations/security.md")
    let page = try String(contentsOf: file, encoding: .utf8)
    for action in AuditAction.allCases { expect(page.contains("`\(action.rawValue)`"), "\(action.rawValue)") }
  }
}
