import Foundation
import TestKit
import TestSupport
import Testing

@testable import Redis

/// Three sentinels, a primary and two replicas, with failures and changes.
@Suite(.takesTurns) struct SentinelTests {
  private func client(
    _ url: String, _ sentinel: SentinelOptions = SentinelOptions(timeout: .seconds(5)),
    certificates: RedisCertificates? = nil, waitTimeout: Duration = .seconds(60)
  ) throws -> RedisClient {
    var url = try RedisURL(url)
    url.isTLS = certificates != nil
    var options = RedisOptions.unhurried(backoff: Backoff(base: .milliseconds(1), cap: .milliseconds(50)))
    options.waitTimeout = waitTimeout
    options.sentinel = sentinel
    options.tls.trustRoots = certificates?.trustRoots
    return RedisClient(url: url, options: options)
  }

  /// Writes repeatedly until the write is acknowledged, whatever error occurs.
  private func write(_ client: RedisClient, _ value: String) async throws {
    try await poll(until: "the write is acknowledged", every: .milliseconds(1)) {
      guard let reply = try? await client.command("SET", "key", value) else { return false }
      return reply.error == nil
    }
  }

  private func port(_ client: RedisClient) async throws -> UInt16? {
    try await client.serverInfo(section: "server").fields["tcp_port"].flatMap { UInt16($0) }
  }

  @Test func primaryThatIsKilledIsReplaced() async throws {
    let world = try await RedisSentinels()
    let client = try client(world.url)
    try await write(client, "1")
    expect(try await port(client), is: world.servers[0].port)
    await world.servers[0].kill(SIGKILL)
    try await write(client, "2")
    try await world.awaitPrimary(otherThan: world.servers[0])
    let now = try #require(try await world.primary())
    expect(try await now.command("get", "key"), is: "2")
    await client.close()
    await world.stop()
  }

  @Test func connectionsToAFrozenPrimaryAreClosed() async throws {
    let world = try await RedisSentinels()
    let (one, other) = (try client(world.url), try client(world.url))
    try await write(one, "1")
    try await write(other, "1")
    await world.servers[0].kill(SIGSTOP)
    // The answer may take a minute. The sentinels report that none will come.
    let began = ContinuousClock.now
    func lose(_ client: RedisClient) async {
      let error = await #expect(throws: RedisError.self) { try await client.command("SET", "key", "lost") }
      expect(error?.code == .closed && error?.mayHaveExecuted == true)
    }
    async let first: Void = lose(one)
    async let second: Void = lose(other)
    _ = await (first, second)
    expect(ContinuousClock.now - began < .seconds(50))
    for client in [one, other] {
      try await write(client, "2")
      expect(try await port(client) != world.servers[0].port)
    }
    // When the server continues it still considers itself the primary, but no client uses it.
    await world.servers[0].kill(SIGCONT)
    try await write(one, "3")
    try await world.awaitPrimary(otherThan: world.servers[0])
    expect(try await world.primary()?.command("get", "key"), is: "3")
    for client in [one, other] { await client.close() }
    await world.stop()
  }

  @Test func plannedFailoverIsFollowed() async throws {
    let world = try await RedisSentinels()
    let (client, blocked) = (try client(world.url), try client(world.url))
    try await write(client, "1")
    async let answer = blocked.command("BLMOVE", "from", "to", "LEFT", "RIGHT", 60)
    try await poll(until: "a client is blocked") {
      try await world.servers[0].command("info", "clients").contains("blocked_clients:1")
    }
    try await world.failOver()
    try await world.awaitPrimary(otherThan: world.servers[0])
    // The blocking call neither waits a minute nor misses an element.
    let reply = try? await answer
    expect(reply?.error != nil || reply == nil)
    try await write(client, "2")
    let now = try #require(try await world.primary())
    for client in [client, blocked] {
      try await poll(until: "the client uses the new primary") { await (try? port(client)) == now.port }
    }
    for client in [client, blocked] { await client.close() }
    await world.stop()
  }

  @Test func messageOfASentinelIsEnough() async throws {
    let world = try await RedisSentinels()
    let client = try client(world.url, SentinelOptions(timeout: .seconds(5), pollInterval: .seconds(3600)))
    try await write(client, "1")
    let before = try await client.connectionNumber()
    try await world.failOver()
    // Nothing is written, so no rejection can show the change.
    try await poll(until: "the client reconnects") { try await client.connectionNumber() != before }
    expect(try await port(client) != world.servers[0].port)
    await client.close()
    await world.stop()
  }

  @Test func pollOfASentinelIsEnough() async throws {
    let (old, new) = (try await RedisServer.start(), try await RedisServer.start())
    func answer(_ server: RedisServer) -> FakeServer.Step {
      let port = String(server.port)
      return .send("*2\r\n$9\r\n127.0.0.1\r\n$\(port.count)\r\n\(port)\r\n")
    }
    // The sentinel accepts a subscription too, and then publishes nothing.
    let mute = try await FakeServer([FakeServer.welcome, answer(old), answer(old), answer(new), answer(new)])
    let client = try client(
      "sentinel://127.0.0.1:\(mute.port)/main",
      SentinelOptions(timeout: .seconds(5), pollInterval: .milliseconds(100)))
    expect(try await port(client), is: old.port)
    // A call in flight at the change fails, like any call of a lost connection.
    try await poll(until: "the client uses the new primary") { await (try? port(client)) == new.port }
    await client.close()
    for server in [old, new] { await server.stop() }
  }

  @Test func deadOrFrozenSentinelIsSkipped() async throws {
    let world = try await RedisSentinels()
    world.sentinels[0].process.send(signal: SIGKILL)
    await world.sentinels[0].process.waitForExit()
    world.sentinels[1].process.send(signal: SIGSTOP)
    let client = try client(world.url, SentinelOptions(timeout: .milliseconds(200)))
    try await write(client, "1")
    expect(try await port(client), is: world.servers[0].port)
    await client.close()
    await world.stop()
  }

  @Test func sentinelThatNamesAReplicaIsIgnored() async throws {
    let world = try await RedisSentinels()
    let replica = String(world.servers[1].port)
    // The sentinel behaves as if it had been separated from the others.
    let liar = try await FakeServer([
      FakeServer.welcome, .send("*2\r\n$9\r\n127.0.0.1\r\n$\(replica.count)\r\n\(replica)\r\n"),
    ])
    let url = world.url.replacing("sentinel://", with: "sentinel://127.0.0.1:\(liar.port),")
    let client = try client(url, SentinelOptions(timeout: .milliseconds(500)))
    try await write(client, "1")
    expect(try await port(client), is: world.servers[0].port)
    await client.close()
    await world.stop()
  }

  @Test func loginAndTLSOfSentinelsAreTheirOwn() async throws {
    let certificates = try RedisCertificates()
    // The user of deploy/operations/redis.md.
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../deploy/operations/redis.md"),
      encoding: .utf8)
    let line = try #require(page.split(separator: "\n").first { $0.contains("ACL SETUSER carillon on ") })
    let user = line.trimmingCharacters(in: .whitespaces).dropFirst("ACL SETUSER ".count)
    let world = try await RedisSentinels(
      replicas: 0, sentinels: 1, certificates: certificates, password: "secret",
      users: [String(user).replacing(">PASSWORD", with: ">theirs")])
    let folder = try ScratchFolder()
    let file = try folder.writeSecret("password", "secret\n")
    let tls = RedisTLS(trustRoots: certificates.trustRoots)
    let client = try client(
      world.url, SentinelOptions(passwordFile: file, tls: tls, timeout: .seconds(5)), certificates: certificates)
    try await write(client, "1")
    await client.close()
    let theirs = try folder.writeSecret("theirs", "theirs\n")
    let limited = try self.client(
      world.url, SentinelOptions(user: "carillon", passwordFile: theirs, tls: tls, timeout: .seconds(5)),
      certificates: certificates)
    try await write(limited, "2")
    await limited.close()
    let wrong = try self.client(
      world.url, SentinelOptions(tls: tls, timeout: .seconds(5)), certificates: certificates)
    let error = await #expect(throws: RedisError.self) { try await wrong.connect() }
    expect(error?.code == .authentication && error?.message.contains("no sentinel knows the address of main") == true)
    await wrong.close()
    await world.stop()
  }

  @Test func invalidSentinelsAreNamed() async throws {
    let redis = try await RedisServer.shared
    let noSentinel = try client("sentinel://127.0.0.1:\(redis.port)/main")
    let error = await #expect(throws: RedisError.self) { try await noSentinel.connect() }
    expect(
      error?.message.contains("this server is not a sentinel") == true && error?.endpoint == "127.0.0.1:\(redis.port)")
    await noSentinel.close()

    let world = try await RedisSentinels(replicas: 0, sentinels: 1)
    let stranger = try client(world.url.replacing("/main", with: "/other"), waitTimeout: .seconds(3))
    let unknown = await #expect(throws: RedisError.self) { try await stranger.connect() }
    expect(unknown?.code == .notReady && unknown?.message.contains("knows no primary named other") == true)
    await stranger.close()
    await world.stop()
  }
}
