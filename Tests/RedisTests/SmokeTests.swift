import Redis
import Testing
@Suite struct Smoke {
  @Test func ping() async throws {
    let client = RedisClient(url: try RedisURL("redis://127.0.0.1:7777/3"))
    let reply = try await client.command("SET", "a", 12)
    print(reply, try await client.command("GET", "a").integer ?? -1, try await client.time(), try await client.serverInfo().version as Any)
    let s = RedisScript(name: "x", source: "#!lua\nreturn {KEYS[1], ARGV[1], 7, {1,2,'z'}}")
    print(try await client.script(s, keys: ["k"]) { $0.append([0, 1, 255] as [UInt8]) })
    _ = try await client.command("SCRIPT", "FLUSH")
    print(try await client.script(s, keys: ["k"]) { for i in 0..<12 { $0.append(i) } })
    await client.close()
  }
}
