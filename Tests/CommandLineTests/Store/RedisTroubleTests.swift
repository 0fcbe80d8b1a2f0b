import Foundation
import TestKit
import TestSupport
import Testing

/// Errors of commands if Redis can't do an operation.
struct RedisTroubleTests {
  private func submit(_ world: CarillonWorld, _ options: String...) async throws -> ChildProcess.Output {
    try await CarillonCommand.run(
      ["campaign", "submit", "-"] + options, environment: world.environment, input: CarillonWorld.job("a"))
  }

  @Test func nearlyFullRedisTakesNoJob() async throws {
    let server = try await RedisServer.start()
    let world = try await CarillonWorld(server: server)
    try await world.succeed("campaign", "list")
    let used = try #require(
      try await server.command("info", "memory").split(whereSeparator: \.isNewline).first {
        $0.hasPrefix("used_memory:")
      }.flatMap { Int($0.dropFirst("used_memory:".count)) })
    try await server.command("config", "set", "maxmemory", String(used * 100 / 95))
    let output = try await submit(world)
    output.expect(exit: 69, saying: "above 90 % no new campaign starts", "hint: raise maxmemory")
    try await server.command("config", "set", "maxmemory", "0")
    expect(try await submit(world).exit, is: .status(0))
    await server.stop()
  }

  @Test func failedPersistenceOfRedisIsReported() async throws {
    let server = try await RedisServer.start(arguments: ["--save", "3600 1000000"])
    let world = try await CarillonWorld(server: server)
    try await world.succeed("campaign", "list")
    // A directory has the name of the snapshot file.
    try FileManager.default.createDirectory(atPath: server.folder.path("dump.rdb"), withIntermediateDirectories: false)
    try await server.command("bgsave")
    try await poll(until: "the snapshot has failed") {
      try await server.command("info", "persistence").contains("rdb_last_bgsave_status:err")
    }
    let output = try await submit(world)
    output.expect(exit: 69, saying: "Redis can't save its data and refuses writes", "usually the disk is full")
    // SIGTERM would not end Redis, because it has unsaved writes.
    await server.kill(SIGKILL)
  }

  @Test func replicaIsReported() async throws {
    let server = try await RedisServer.start()
    let world = try await CarillonWorld(server: server)
    try await server.command("replicaof", "127.0.0.1", "1")
    let output = try await submit(world)
    output.expect(exit: 69, saying: "read-only replica", "set redis.url to the primary")
    await server.stop()
  }

  @Test func submitWaitsForReplicas() async throws {
    let primary = try await RedisServer.start()
    let world = try await CarillonWorld(server: primary)
    let lonely = try await submit(world, "--replicas", "1")
    expect(lonely.exit, is: .status(69))
    expect(
      lonely.standardError.contains("0 of 1 replicas have confirmed the job 'a' within 5 s; the job is in the queue"))
    expect(lonely.standardError.contains("submitting it again is harmless"))
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(primary.port)])
    try await poll(until: "the replica is linked") {
      try await replica.command("info", "replication").contains("master_link_status:up")
    }
    let again = try await submit(world, "--replicas", "1")
    expect(again.exit == .status(0) && again.standardOutput == "a\n")
    expect(try await replica.command("llen", "{\(world.namespace)}:campaigns"), is: "1")
    expect(try await submit(world, "--replicas", "0").exit, is: .status(64))
    await replica.stop()
    await primary.stop()
  }
}
