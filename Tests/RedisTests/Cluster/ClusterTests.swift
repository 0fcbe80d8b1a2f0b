import EventLoop
import Foundation
import Synchronization
import TestKit
import TestSupport
import Testing

@testable import Redis

/// A cluster of three primaries and three replicas, with failures and changes.
@Suite(.takesTurns) struct ClusterTests {
  /// Keys of the slots 12182, 5061 and 866, one on each primary.
  private static let keys = ["foo", "bar", "hello"]

  private func client(_ cluster: RedisCluster, home: String = "foo") throws -> RedisClient {
    var url = try RedisURL(cluster.url)
    url.isTLS = cluster.certificates != nil
    var options = RedisOptions.unhurried(backoff: Backoff(base: .milliseconds(1), cap: .milliseconds(50)))
    options.home = home
    options.tls.trustRoots = cluster.certificates?.trustRoots
    return RedisClient(url: url, options: options)
  }

  /// Writes repeatedly until the write is acknowledged, whatever error occurs.
  private func write(_ client: RedisClient, _ key: String, _ value: String) async throws {
    try await poll(until: "the write is acknowledged", every: .milliseconds(1)) {
      guard let reply = try? await client.command("SET", key, value) else { return false }
      return reply.error == nil
    }
  }

  private func values(_ client: RedisClient) async throws -> [String?] {
    var pipeline = RedisPipeline()
    for key in Self.keys { pipeline.append("GET", key) }
    return try await client.execute(pipeline).map(\.string)
  }

  @Test func pipelineIsSentToAllServersAndAnsweredInOrder() async throws {
    let cluster = try await RedisCluster.shared
    let client = try client(cluster)
    let script = RedisScript(name: "double", source: "return redis.call('get', KEYS[1]) .. ARGV[1]")
    var pipeline = RedisPipeline()
    pipeline.append("TIME")
    for number in 0..<200 {
      pipeline.append("SET", "order:\(number)", number)
      pipeline.script(script, keys: ["order:\(number)"]) { $0.append("!") }
    }
    let replies = try await client.execute(pipeline)
    expect(replies.count == 401 && replies[0].count == 2)
    for number in 0..<200 { expect(replies[2 + 2 * number].string, is: "\(number)!") }
    expect(try await client.serverStates(["server"]).count, is: 3)
    let states = try await client.serverStates(["server"])
    expect(await client.isConnected(by: RedisConnections(states.map(\.connection))))
    expect(await !client.isConnected(by: RedisConnections(states.dropLast().map(\.connection))))
    expect(states.count { $0.owns("foo") }, is: 1)
    // The server rejects a command that crosses slots.
    expect(try await client.command("MGET", "foo", "bar").error?.code, is: .crossSlot)
    // A call with admitted connections uses only these, one for each server.
    let some = RedisConnections(states.filter { $0.owns("foo") }.map(\.connection))
    expect(try await client.execute(self.pipeline(get: "foo"), on: some).count, is: 1)
    let error = await #expect(throws: RedisError.self) {
      try await client.execute(self.pipeline(get: "bar"), on: some)
    }
    expect(error?.code == .reconnected && error?.mayHaveExecuted == false)
    await client.close()
  }

  private func pipeline(get key: String) -> RedisPipeline {
    var pipeline = RedisPipeline()
    pipeline.append("GET", key)
    return pipeline
  }

  @Test func primaryThatIsKilledIsReplaced() async throws {
    let cluster = try await RedisCluster()
    let client = try client(cluster)
    for key in Self.keys { try await write(client, key, "1") }
    let slot = try await cluster.slot(of: "foo")
    let old = try await cluster.owner(of: slot)
    await old.kill(SIGKILL)
    // The other servers work without a break.
    expect(try await client.command("SET", "bar", "2").string, is: "OK")
    try await write(client, "foo", "2")
    try await write(client, "hello", "2")
    try await cluster.awaitOwner(of: slot, otherThan: old)
    expect(try await values(client), is: ["2", "2", "2"])
    expect(try await client.serverStates().count, is: 3)
    // The server comes back as a replica, and nothing is written to it.
    try await old.restart()
    try await write(client, "foo", "3")
    expect(try await cluster.owner(of: slot).command("get", "foo"), is: "3")
    await client.close()
    await cluster.stop()
  }

  @Test func primaryThatIsFrozenIsReplaced() async throws {
    let cluster = try await RedisCluster()
    let client = try client(cluster)
    for key in Self.keys { try await write(client, key, "1") }
    let slot = try await cluster.slot(of: "foo")
    let old = try await cluster.owner(of: slot)
    await old.kill(SIGSTOP)
    // This client would wait a minute for the server. Another client with a shorter timeout requests the map.
    let hanging = Task { try await client.command("SET", "foo", "lost") }
    let hasty = try self.client(cluster)
    try await poll(until: "another server has the slot") {
      _ = try? await hasty.execute(pipeline(get: "foo"), timeout: .seconds(1), waitTimeout: .zero)
      return try await cluster.owner(of: slot).port != old.port
    }
    try await write(hasty, "foo", "2")
    let error = await #expect(throws: RedisError.self) { try await hanging.value }
    expect(error?.mayHaveExecuted, is: true)
    await old.kill(SIGCONT)
    try await write(client, "foo", "3")
    expect(try await values(client), is: ["3", "1", "1"])
    for client in [client, hasty] { await client.close() }
    await cluster.stop()
  }

  @Test func plannedFailoverIsFollowedAndNothingIsLost() async throws {
    let cluster = try await RedisCluster()
    let (client, blocked) = (try client(cluster), try client(cluster))
    for key in Self.keys { try await write(client, key, "1") }
    let slot = try await cluster.slot(of: "foo")
    let old = try await cluster.owner(of: slot)
    async let answer = blocked.command("BLMOVE", "{foo}from", "{foo}to", "LEFT", "RIGHT", 60)
    try await poll(until: "a client is blocked") {
      try await old.command("info", "clients").contains("blocked_clients:1")
    }
    try await cluster.failOver(old)
    expect(try await client.command("SET", "foo", "2").string, is: "OK")
    // The blocking call continues at the new place of the list, or ends.
    _ = try await client.command("RPUSH", "{foo}from", "x").get()
    let reply = try? await answer
    let moved = try await client.command("LLEN", "{foo}to").integer
    expect(reply == nil || reply?.error != nil || moved == 1)
    try await write(blocked, "foo", "3")
    expect(try await values(client), is: ["3", "1", "1"])
    for client in [client, blocked] { await client.close() }
    await cluster.stop()
  }

  @Test func slotsMoveUnderLoadAndNothingIsLost() async throws {
    let cluster = try await RedisCluster()
    let client = try client(cluster)
    let script = RedisScript(
      name: "add", source: "redis.call('rpush', KEYS[1], ARGV[1]); return redis.call('incr', KEYS[2])")
    let slot = try await cluster.slot(of: "{foo}")
    let (from, to) = (try await cluster.owner(of: slot), try await cluster.owner(of: cluster.slot(of: "bar")))
    // Some keys move one after the other, while others are used.
    for number in 0..<50 { try await write(client, "{foo}filler\(number)", "x") }
    let isMoving = Atomic<Bool>(true)
    async let written = {
      var (count, refusals) = (0, 0)
      while isMoving.load(ordering: .relaxed) || count < 20 {
        // The script needs both keys on one server. Otherwise Redis answers that it must be tried again.
        let reply = try await client.script(script, keys: ["{foo}list", "{foo}count"]) { $0.append(count) }
        if let error = reply.error {
          expect(error.code, is: .tryAgain)
          refusals += 1
        } else {
          count += 1
        }
        expect(try await client.command("SET", "bar", count).string, is: "OK")
      }
      return (count, refusals)
    }()
    try await cluster.open(slot, to: to)
    // The target does not have the script.
    try await to.command("script", "flush")
    while try await cluster.moveKeys(slot, from: from, to: to, limit: 7) > 0 {}
    try await cluster.close(slot, at: to)
    isMoving.store(false, ordering: .relaxed)
    let (count, _) = try await written
    expect(try await client.command("LRANGE", "{foo}list", 0, -1).map(\.integer), is: Array(0..<count))
    expect(try await client.command("GET", "{foo}count").integer, is: count)
    expect(try await cluster.owner(of: slot).port, is: to.port)
    await client.close()
    await cluster.stop()
  }

  @Test func openSlotStopsOnlyItsOwnKeys() async throws {
    let cluster = try await RedisCluster()
    let client = try client(cluster)
    try await write(client, "{foo}1", "1")
    try await write(client, "{foo}2", "2")
    let slot = try await cluster.slot(of: "{foo}")
    let (from, to) = (try await cluster.owner(of: slot), try await cluster.owner(of: cluster.slot(of: "bar")))
    try await cluster.open(slot, to: to)
    // One of two keys has moved, so no server has both.
    try await cluster.moveKeys(slot, from: from, to: to, limit: 1)
    expect(try await client.command("MGET", "{foo}1", "{foo}2").error?.code, is: .tryAgain)
    // Each key alone is found, and so are other keys of the same servers.
    expect(try await client.command("GET", "{foo}1").string, is: "1")
    expect(try await client.command("GET", "{foo}2").string, is: "2")
    for key in ["bar", "hello"] { expect(try await client.command("SET", key, "1").string, is: "OK") }
    while try await cluster.moveKeys(slot, from: from, to: to, limit: 1) > 0 {}
    try await cluster.close(slot, at: to)
    expect(try await client.command("MGET", "{foo}1", "{foo}2").get().map(\.string), is: ["1", "2"])
    await client.close()
    await cluster.stop()
  }

  @Test func addedServerIsUsedAndEmptyServerIsLeft() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let client = try client(cluster)
    for key in Self.keys { try await write(client, key, "1") }
    let added = try await cluster.addServer()
    let slot = try await cluster.slot(of: "foo")
    try await cluster.move(slot, to: added)
    expect(try await client.command("SET", "foo", "2").string, is: "OK")
    expect(try await added.command("get", "foo"), is: "2")
    try await poll(until: "the client knows four servers") { try await client.serverStates().count >= 4 }
    await client.close()
    await cluster.stop()
  }

  @Test func subscriptionFollowsItsSlot() async throws {
    let cluster = try await RedisCluster()
    let client = try client(cluster)
    let (reports, report) = AsyncStream.makeStream(of: String.self)
    let loop = EventLoop(label: "listener")
    let subscriber = client.subscriber(to: ["news"], on: loop) { event in
      switch event {
      case .listening: report.yield("listening")
      case .lost: break
      case .message(_, let text): report.yield(text.string ?? "")
      }
    }
    await subscriber.start()
    var events = reports.makeAsyncIterator()
    expect(await events.next(), is: "listening")
    let slot = try await cluster.slot(of: "foo")
    let old = try await cluster.owner(of: slot)
    expect(try await old.command("pubsub", "numsub", "news").hasSuffix("1"))
    try await cluster.failOver(old)
    // Another call meets the change and requests the map. The subscription then moves automatically.
    try await write(client, "foo", "1")
    expect(await events.next(), is: "listening")
    expect(try await cluster.owner(of: slot).command("pubsub", "numsub", "news").hasSuffix("1"))
    // Any server can publish the message.
    _ = try await cluster.servers[0].command("publish", "news", "hello")
    expect(await events.next(), is: "hello")
    await subscriber.close()
    await client.close()
    await cluster.stop()
  }

  @Test func clusterWithPasswordAndTLSIsReached() async throws {
    let certificates = try RedisCertificates()
    let cluster = try await RedisCluster(replicas: 0, certificates: certificates)
    let client = try client(cluster)
    for key in Self.keys { expect(try await client.command("SET", key, "1").string, is: "OK") }
    expect(try await values(client), is: ["1", "1", "1"])
    await client.close()
    await cluster.stop()
  }

  @Test func serverWithoutClusterModeIsReported() async throws {
    let server = try await RedisServer.shared
    let client = RedisClient(url: try RedisURL("cluster://127.0.0.1:\(server.port)"), options: .unhurried())
    let error = await #expect(throws: RedisError.self) { try await client.command("PING") }
    expect(error?.code == .refused && error?.hint.contains("redis://") == true)
    await client.close()
  }

  @Test func unreachableClusterIsWaitedForUntilTheTimeout() async throws {
    let port = try FreePort.find()
    let client = RedisClient(url: try RedisURL("cluster://127.0.0.1:\(port)"), options: .unhurried())
    let error = await #expect(throws: RedisError.self) {
      try await client.execute(pipeline(get: "foo"), waitTimeout: .milliseconds(200))
    }
    expect(error?.code == .connectionRefused && error?.mayHaveExecuted == false)
    await client.close()
  }
}
