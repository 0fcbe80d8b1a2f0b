@testable import CampaignStore
import PushCore
import Redis
import TestSupport
import Testing

/// Expressions as Redis evaluates them, against the same in plain Swift.
struct AudienceAlgebraTests {
  private static let names = ["a", "b", "c", "d"]

  @Test(arguments: Backend.allCases)
  func randomExpressionsMeanWhatSetsOfSwiftSay(on backend: Backend) async throws {
    var seed = Seed("randomExpressionsMeanWhatSetsOfSwiftSay")
    let world = try await TestStore(on: backend, partitions: 3)
    let everybody = Set((0..<60).map { "u\($0)" })
    try await world.registerUsers(0..<60)
    var segments: [String: Set<String>] = [:]
    for name in Self.names {
      // Some members have never registered: they are in the segment, and reached by no expression.
      let members = Set((0..<70).filter { _ in Bool.random(using: &seed) }.map { "u\($0)" })
      segments[name] = members
      try await world.store.add(Array(members), to: name)
    }
    for _ in 0..<40 {
      let expression = AudienceExpression(root: .random(of: Self.names, depth: 5, using: &seed))
      let expected = expression.root.members(segments, everybody).intersection(everybody)
      var found: Set<String> = []
      for partition in 0..<3 {
        try await world.store.forEachUser(of: expression, in: partition, scratch: "x") { page in
          for user in page.members { #expect(found.insert(user.string ?? "").inserted, "twice") }
        }
      }
      #expect(found.intersection(everybody) == expected, "\(expression), seed \(seed.value)")
      #expect(try await world.store.count(expression) == (expected.count, expected.count), "\(expression)")
    }
  }

  @Test(arguments: Backend.allCases)
  func longestExpressionIsEvaluated(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<10)
    try await world.store.add(["u1", "u2"], to: "a")
    let text =
      Array(repeating: "!a", count: 128).joined(separator: " & ") + " | "
      + Array(
        repeating: "a", count: 127
      ).joined(separator: " | ")
    #expect(try await world.store.count(AudienceExpression(parsing: text)).users == 10)
  }
}
