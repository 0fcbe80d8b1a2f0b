import FaultKit
import Redis
import TestKit
import TestSupport
import Testing

/// Replacement of a server that no longer is the right one. The same name may lead to another server.
@Suite struct RedisFailoverTests {
  private static let quick = RedisOptions.unhurried(backoff: Backoff(base: .milliseconds(1), cap: .milliseconds(20)))

  @Test func demotedPrimaryIsReplacedByTheNewOneOfThatName() async throws {
    let (old, new) = (try await RedisServer.start(), try await RedisServer.start())
    let proxy = try await TCPProxy.start(to: old.port)
    let client = RedisClient(url: try RedisURL("redis://127.0.0.1:\(proxy.port)"), options: Self.quick)
    expect(try await client.command("SET", "a", "1").error, is: nil)

    try await old.command("replicaof", "127.0.0.1", String(new.port))
    // The fault has fired, and the caller gets the error.
    expect(try await client.command("SET", "a", "2").error?.code, is: .readOnly)
    // As long as the name leads to a replica, the client has no server that it can use.
    let opened = await proxy.counters.accepted
    await proxy.wait { $0.accepted >= opened + 3 }
    let waiting = Task { try await client.command("SET", "a", "3") }
    try await proxy.retarget(to: new.port)
    expect(try await waiting.value.error, is: nil)
    expect(try await new.command("get", "a"), is: "3")

    await client.close()
    await proxy.stop()
    await old.stop()
    await new.stop()
  }

  @Test func replicaThatHasLostItsPrimaryIsLeft() async throws {
    let (old, new) = (try await RedisServer.start(), try await RedisServer.start())
    let proxy = try await TCPProxy.start(to: old.port)
    let client = RedisClient(url: try RedisURL("redis://127.0.0.1:\(proxy.port)"), options: Self.quick)
    try await client.connect()
    try await old.command("config", "set", "replica-serve-stale-data", "no")
    try await old.command("replicaof", "127.0.0.1", "1")
    expect(try await client.command("GET", "a").error?.code, is: .primaryDown)
    try await proxy.retarget(to: new.port)
    expect(try await client.command("SET", "a", "1").error, is: nil)
    expect(try await new.command("get", "a"), is: "1")
    await client.close()
    await proxy.stop()
    await old.stop()
    await new.stop()
  }

  @Test func replicaWithoutWritesCanBeRead() async throws {
    let primary = try await RedisServer.start()
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(primary.port)])
    let client = RedisClient(url: try RedisURL(replica.url), options: Self.quick)
    expect(try await client.connect().role, is: .replica)
    expect(try await client.command("GET", "a").isNull)
    await client.close()
    await replica.stop()
    await primary.stop()
  }
}
