import Foundation
import TestSupport
import Testing

@Suite struct QuarantineCommandTests {
  @Test func badTokensAreListedReleasedAndPurged() async throws {
    var world = try await CarillonWorld()
    let simulator = try await world.startSimulator()
    let tokens = try await world.importDevices(20)
    try await simulator.load(tokens.prefix(3).map { #"{"token":"\#($0)","state":"bad"}"# })
    #expect(try await world.succeed("quarantine", "list", "--json") == "[]\n")
    try await world.submit("one")
    try await world.drain()

    let listed = try JSONObject.all(in: await world.succeed("quarantine", "list", "--json"))
    #expect(Set(listed.compactMap { $0.text("token") }) == Set(tokens.prefix(3)))
    #expect(listed.allSatisfy { $0.text("reason") == "BadDeviceToken" && $0.text("campaign") == "one" })
    #expect(listed.allSatisfy { $0.names == ["token", "user", "app", "reason", "campaign", "at"] })
    #expect(try await world.succeed("quarantine", "list", "--campaign", "two").isEmpty)
    let line = try await world.succeed("quarantine", "list", "--app", "news")
    #expect(line.split(separator: "\n").count == 3 && line.contains("BadDeviceToken\tone\t"))

    #expect(try await world.succeed("quarantine", "release", tokens[0]) == "1 device released\n")
    #expect(try await world.succeed("quarantine", "purge", "--campaign", "two") == "0 devices purged\n")
    #expect(try await world.succeed("quarantine", "purge", "--campaign", "one", "--json") == #"{"purged":2}"# + "\n")
    #expect(try await world.run("quarantine", "purge").exit == .status(64))
    let missing = try await world.run("quarantine", "release", tokens[0])
    #expect(missing.exit == .status(1) && missing.standardError.contains("is not in quarantine"))
    #expect(!missing.standardError.contains(tokens[0]))
    #expect(try await world.run("quarantine", "release", "--all", "--app", "news").exit == .status(64))
    #expect(try await world.run("quarantine", "release", "xyz").exit == .status(65))
    #expect(try await world.succeed("segment", "count", "*", "--json").contains(#""devices":18"#))
  }
}
