import Foundation
import TestKit
import TestSupport
import Testing

/// Errors of commands if another program has written to Redis: the key, the field, and the expected value.
@Suite(.takesTurns) struct DamageTests {
  private let world: CarillonWorld
  private let redis: RedisServer

  init() async throws {
    world = try await CarillonWorld()
    redis = world.server
    for id in ["a", "b"] {
      let fields = [
        "state", "active", "app", "news", "service", "apns", "lane", "normal", "finished", "0", "slices", "8",
      ]
      try await write(["HSET", key("campaign:\(id)")] + fields)
      try await write(["ZADD", key("all"), "1", id])
    }
    try await write(["HSET", key("slice:a", 1), "phase", "sealed", "format", "1", "count", "1", "granted", "1"])
    try await write(["RPUSH", key("targets:a", 1), "\0\u{1}\0\u{1}tu"])
  }

  private func key(_ name: String, _ partition: Int? = nil) -> String {
    "{\(world.namespace)\(partition.map { ":\($0)" } ?? "")}:\(name)"
  }

  private func write(_ words: [String]) async throws {
    let script = "return redis.call(unpack(ARGV))"
    let output = try await ChildProcess.run("redis-cli", ["-u", redis.url, "eval", script, "0"] + words)
    guard output.exit == .status(0) else { throw TestSupportError(output.standardError) }
  }

  @Test(arguments: [("count", "4294967296"), ("count", "-9223372036854775808"), ("granted", "1e308"), ("count", "nan")])
  func valueOfASliceThatCannotBeRight(field: String, value: String) async throws {
    try await write(["HSET", key("slice:a", 1), field, value])
    for command in [["campaign", "show", "a"], ["results", "export", "a"]] {
      let output = try await CarillonCommand.run(command, environment: world.environment)
      expect(output.exit, is: .status(65), "\(output.standardError)")
      expect(
        output.standardError.contains("the field \(field) of the key \(key("slice:a", 1)) is '\(value)', expected")
      )
    }
    try await world.succeed("campaign", "list")
  }

  @Test(arguments: [("slices", "1e308"), ("createdAt", "-9223372036854775808"), ("targets", "9223372036854775807")])
  func valueOfACampaignThatCannotBeRight(field: String, value: String) async throws {
    try await write(["HSET", key("campaign:a"), field, value])
    let output = try await world.run("campaign", "list")
    expect(output.exit, is: .status(65))
    expect(output.standardOutput.contains("b ") && !output.standardOutput.contains("a "))
    expect(
      output.standardError.contains("the field \(field) of the key \(key("campaign:a")) is '\(value)', expected"))
    expect(try await world.run("campaign", "show", "a").exit, is: .status(65))
  }

  @Test func keyOfAnotherType() async throws {
    try await write(["SET", key("slice:a", 2), "x"])
    for command in [["campaign", "show", "a"], ["results", "export", "a"]] {
      let output = try await CarillonCommand.run(command, environment: world.environment)
      output.expect(exit: 65, saying: "the key \(key("slice:a", 2)) has type string, expected hash")
    }
  }
}
