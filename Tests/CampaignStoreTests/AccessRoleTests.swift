@testable import CampaignStore
import Foundation
import Redis
import TestKit
import TestSupport
import Testing

/// Commands that each role may use, and the round-trip times of servers.
struct AccessRoleTests {
  /// Compares the table in the code with the example ACL file for Redis.
  @Test(arguments: AccessRole.allCases)
  func roleUsesExactlyTheCommandsOfTheACLFile(role: AccessRole) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/redis.acl.example")
    let line = try #require(
      String(contentsOf: file, encoding: .utf8).split(separator: "\n").first {
        $0.hasPrefix("user carillon-\(role.rawValue) ")
      })
    // Commands that every role has, and commands that no check needs.
    let common: Set<Substring> = [
      "+ping", "+info", "+cluster|slots", "+asking", "+client|setname", "+client|id", "+client|unblock", "+script|load",
      "+evalsha", "+time", "+@pubsub", "+publish", "+wait",
    ]
    // Selectors are in brackets.
    let granted = Set(line.split { " ()".contains($0) }.filter { $0.hasPrefix("+") }).subtracting(common)
    let asked = Set(role.commands.map { Substring("+" + $0) }).subtracting(common)
    expect(granted, is: asked, "only granted: \(granted.subtracting(asked)), only asked: \(asked.subtracting(granted))")
  }

  /// Compares the producer's rights, each with its keys, with the ACL file.
  @Test func producerMayUseEachCommandOnTheKeysOfTheTable() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/redis.acl.example")
    let line = try #require(
      String(contentsOf: file, encoding: .utf8).split(separator: "\n").first {
        $0.hasPrefix("user carillon-producer ")
      })
    let selectors = line.split(separator: "(").dropFirst().map { $0.prefix { $0 != ")" }.split(separator: " ") }
    let granted = selectors.map { words in
      let commands = words.filter { $0.hasPrefix("+") }.map { $0.dropFirst() }.joined(separator: " ")
      return "\(commands): " + words.compactMap { $0.split(separator: "}:").dropFirst().first }.joined(separator: " ")
    }
    expect(granted, is: AccessRole.ofProducer.map { "\($0.commands): \($0.keys.joined(separator: " "))" })
  }

  @Test(arguments: Backend.allCases)
  func missingRightsAreFoundWithoutUsingThem(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    expect(try await world.store.fleet.missingRights(of: .worker), is: [])
    let latencies = try await world.store.fleet.serverLatencies(rounds: 3) { Int(Date().timeIntervalSince1970 * 1000) }
    expect(latencies.count == 1 && latencies[0].roundTrips.count == 3 && abs(latencies[0].clockAhead) < 60_000)
    expect(try await world.store.fleet.openSlots(), is: [])
    expect(try await world.store.repair.quickCheck(pause: .zero).findings.isEmpty)
  }
}
