import Redis
import TestKit
import TestSupport
import Testing

@Suite struct RedisScriptTests {
  private static let echo = RedisScript(name: "echo", source: "#!lua\nreturn {KEYS[1], ARGV[1]}")
  private static let add = RedisScript(name: "add", source: "#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])")

  @Test func shebangIsRemovedOnlyBelowRedis7() {
    let script = RedisScript(name: "x", source: "#!lua flags=no-writes\nreturn 1")
    expect(script.source(for: RedisVersion(major: 6, minor: 2)), is: "\nreturn 1")
    expect(script.source(for: RedisVersion(major: 7)), is: script.source)
    expect(script.source(for: nil), is: script.source)
    let plain = RedisScript(name: "y", source: "return 1")
    expect(plain.source(for: RedisVersion(major: 6)), is: plain.source)
    expect(RedisScript(name: "z", source: "#!lua").source(for: RedisVersion(major: 6)), is: "")
  }

  @Test func binaryArgumentsArriveAsTheyAre() async throws {
    let client = RedisClient(
      url: try RedisURL(try await RedisServer.shared.url), options: .unhurried(), scripts: [Self.echo])
    let bytes = (0...255).map { UInt8($0) }
    let reply = try await client.script(Self.echo, keys: ["k"]) { $0.append(bytes) }
    expect(reply[0].string == "k" && reply[1].bytes == bytes[...])
    await client.close()
  }

  @Test(arguments: [RedisServer.Mode.single, .cluster])
  func flushedScriptsRunAgainInOrderWithinTheCall(mode: RedisServer.Mode) async throws {
    let server = try await RedisServer.start(mode)
    let client = RedisClient(url: try RedisURL(server.url), options: .unhurried(), scripts: [Self.echo])
    try await client.connect()
    // The handshake loaded `echo`, but not `add`.
    _ = try await client.script(Self.add, keys: ["{t}list"]) { $0.append(0) }
    try await server.command("script", "flush")
    var pipeline = RedisPipeline()
    pipeline.append("SET", "{t}plain", "here")
    for value in 1...20 {
      pipeline.script(Self.add, keys: ["{t}list"]) { $0.append(value) }
      pipeline.script(Self.echo, keys: ["{t}k"]) { $0.append(value) }
    }
    pipeline.append("GET", "{t}plain")
    let replies = try await client.execute(pipeline)
    expect(replies.count == 42 && replies[0].string == "OK" && replies[41].string == "here")
    for value in 1...20 {
      expect(replies[2 * value - 1].integer, is: value + 1)
      expect(replies[2 * value][1].integer, is: value)
    }
    let list = try await client.command("LRANGE", "{t}list", 0, -1)
    expect(list.map(\.integer), is: Array(0...20))
    await client.close()
  }

  @Test func brokenScriptIsNamedWhenConnecting() async throws {
    let broken = RedisScript(name: "broken", source: "#!lua\nreturn (")
    let client = RedisClient(
      url: try RedisURL(try await RedisServer.shared.url), options: .unhurried(), scripts: [broken])
    let error = await #expect(throws: RedisError.self) { try await client.connect() }
    expect(error?.code == .refused && error?.message.contains("broken") == true)
    await client.close()
  }

  @Test func undeclaredSlotIsRefusedInACluster() async throws {
    let reader = RedisScript(name: "reader", source: "#!lua\nreturn redis.call('GET', 'elsewhere')")
    let client = RedisClient(url: try RedisURL(try await RedisServer.sharedCluster.url), options: .unhurried())
    let reply = try await client.script(reader, keys: ["{here}k"])
    expect(reply.error?.message.contains("same slot"), is: true, "\(reply)")
    await client.close()
  }
}
