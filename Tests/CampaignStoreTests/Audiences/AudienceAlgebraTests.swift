@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Audience expressions in Redis, compared with set operations in plain Swift.
struct AudienceAlgebraTests {
  private static let names = ["a", "b", "c", "d"]

  @Test(arguments: Backend.allCases)
  func randomExpressionsEqualSetsInSwift(on backend: Backend) async throws {
    var seed = Seed("randomExpressionsEqualSetsInSwift")
    let world = try await TestStore(on: backend, partitions: 3)
    let allUsers = Set((0..<60).map { "u\($0)" })
    try await world.registerUsers(0..<60)
    var segments: [String: Set<String>] = [:]
    for name in Self.names {
      // Some members have never registered. They are in the segment, but no expression reaches them.
      let members = Set((0..<70).filter { _ in Bool.random(using: &seed) }.map { "u\($0)" })
      segments[name] = members
      try await world.store.audiences.add(Array(members), to: name)
    }
    for _ in 0..<40 {
      let expression = AudienceExpression(root: .random(of: Self.names, depth: 5, using: &seed))
      let expected = expression.root.members(segments, allUsers).intersection(allUsers)
      var found: Set<String> = []
      for partition in 0..<3 {
        try await world.store.expansion.forEachUser(of: AudienceSearch(expression), in: partition) { page in
          for user in page.members { expect(found.insert(user.string ?? "").inserted, "twice") }
        }
      }
      expect(found.intersection(allUsers), is: expected, "\(expression), seed \(seed.value)")
      expect(try await world.store.audiences.count(expression) == (expected.count, expected.count), "\(expression)")
    }
  }

  @Test(arguments: Backend.allCases)
  func longestExpressionIsEvaluated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    try await world.store.audiences.add(["u1", "u2"], to: "a")
    let text =
      Array(repeating: "!a", count: 128).joined(separator: " & ") + " | "
      + Array(
        repeating: "a", count: 127
      ).joined(separator: " | ")
    expect(try await world.store.audiences.count(AudienceExpression(parsing: text)).users, is: 10)
  }

  /// Sets of several pages, read in every order in which pages can follow each other.
  @Test func largeSetsEqualSetsInSwiftWithShortCommands() async throws {
    var seed = Seed("largeSetsEqualSetsInSwiftWithShortCommands")
    let server = try await RedisServer.start(.single)
    let world = try await TestStore(on: .single, partitions: 1, server: server)
    let count = 3000
    try await world.registerUsers(0..<count)
    let allUsers = Set((0..<count).map { "u\($0)" })
    var segments: [String: Set<String>] = [:]
    for (name, share) in zip(Self.names, [0.9, 0.5, 0.2, 0.01]) {
      let members = Set(
        (0..<count + 500).filter { _ in Double.random(in: 0..<1, using: &seed) < share }.map { "u\($0)" })
      segments[name] = members
      try await world.store.audiences.add(Array(members), to: name)
    }
    for _ in 0..<25 {
      let expression = AudienceExpression(root: .random(of: Self.names, depth: 4, using: &seed))
      let expected = expression.root.members(segments, allUsers).intersection(allUsers).count
      try await world.command("CONFIG", "RESETSTAT")
      expect(
        try await world.store.audiences.count(expression) == (expected, expected), "\(expression), seed \(seed.value)")
      let stats = RedisServerInfo(parsing: try await world.command("INFO", "commandstats").string ?? "").fields
      let calls = stats.compactMapValues { $0.firstMatch(of: /calls=(\d+)/).flatMap { Int($0.1) } }
      // A term that reads all users reads them page by page. Other commands handle at most about one page. There are
      // few definitions of segments.
      let allowed: Set = [
        "sscan", "hscan", "smismember", "hmget", "hgetall", "scard", "smembers", "config|resetstat", "info",
      ]
      let others = Set(calls.keys.map { $0.replacing("cmdstat_", with: "") }).subtracting(allowed)
      expect(others.isEmpty, "\(expression): \(others)")
      let pages = 2 + (calls["cmdstat_sscan"] ?? 0) + (calls["cmdstat_hscan"] ?? 0)
      expect(calls["cmdstat_smismember"] ?? 0 <= 2 * pages * Self.names.count, "\(expression)")
    }
    await server.stop()
  }

  @Test func expressionCostsWhatItsSmallestSetDoes() async throws {
    let server = try await RedisServer.start(.single)
    let world = try await TestStore(on: .single, partitions: 1, server: server, users: 0..<3000)
    try await world.store.audiences.add((0..<2500).map { "u\($0)" }, to: "a")
    try await world.store.audiences.add((2490..<2520).map { "u\($0)" }, to: "b")
    let many = Array(repeating: "!a | b & a", count: 80).joined(separator: " & ")
    for (text, users, commands) in [
      // The search reads names and definitions, gets sizes, reads b, checks its members in a, and reads records.
      ("b & a", 10, 8), ("a & b", 10, 8), ("!a & b", 20, 6), ("b & !a", 20, 6), ("* & b", 30, 6), ("b & *", 30, 6),
      ("b & (\(many))", 30, 11), ("b | b", 30, 5),
    ] {
      let expression = try AudienceExpression(parsing: text)
      let before = try await Self.commands(world)
      expect(try await world.store.audiences.count(expression).users, is: users, "\(text)")
      let spent = try await Self.commands(world) - before - 1
      expect(spent <= commands, "\(text): \(spent)")
    }
    await server.stop()
  }

  private static func commands(_ world: TestStore) async throws -> Int {
    let info = RedisServerInfo(parsing: try await world.command("INFO", "stats").string ?? "")
    return info.fields["total_commands_processed"].flatMap { Int($0) } ?? 0
  }

  @Test(arguments: [
    ("a", ["a"]), ("*", ["*"]), ("!a", ["*"]), ("!a & b", ["b"]), ("a & !b", ["a"]), ("a & b", ["b"]),
    ("b & a", ["b"]), ("a & *", ["a"]), ("a | b", ["a", "b"]), ("a & (b | c)", ["b", "c"]),
    ("(a | b) & (b | c)", ["b", "c"]),
    ("a | !b", ["a", "*"]), ("!a & !b", ["*"]), ("d", []), ("d & a", []),
  ])
  func fewestPossibleSetsAreRead(text: String, expected: [String]) throws {
    let search = AudienceSearch(try AudienceExpression(parsing: text))
    let sizes: [AudienceSet: Int] = [
      .users: 1000, .segment("a"): 500, .segment("b"): 100, .segment("c"): 50, .segment("d"): 0,
    ]
    let cover = search.cover(sizes)
    expect(cover, is: expected.map { $0 == "*" ? .users : .segment($0) })
    if let fixed = search.fixedCover { expect(Set(cover).isSubset(of: fixed)) }
  }
}
