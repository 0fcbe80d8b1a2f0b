import TestKit
import Testing

@testable import Redis

@Suite struct RedisPipelineTests {
  private let script = RedisScript(name: "one", source: "return 1")

  @Test func argumentsOfEveryTypeAreWritten() {
    var pipeline = RedisPipeline()
    pipeline.append("SET", "k", [0, 13, 10, 255] as [UInt8], -7, UInt64.max, Int.min, "ü")
    let expected =
      Array("*7\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n".utf8) + [0, 13, 10, 255]
      + Array(
        """
        \r\n$2\r\n-7\r\n$20\r\n18446744073709551615\r\n$20\r\n-9223372036854775808\r\n$2\r\nü\r\n
        """.utf8)
    expect(pipeline.bytes, is: expected)
    expect(pipeline.count, is: 1)
  }

  @Test(arguments: [0, 1, 8, 9, 10, 98, 99, 100, 999, 1000])
  func countOfAnySizeFits(arguments: Int) {
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    pipeline.command("DEL") { for _ in 0..<arguments { $0.append("") } }
    let expected =
      "*1\r\n$4\r\nPING\r\n*\(arguments + 1)\r\n$3\r\nDEL\r\n" + String(repeating: "$0\r\n\r\n", count: arguments)
    expect(String(decoding: pipeline.bytes, as: UTF8.self), is: expected)
  }

  @Test(arguments: [0, 5, 6, 7, 200])
  func hashIsFilledInAtItsPlace(arguments: Int) throws {
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    pipeline.script(script, keys: ["k"]) { for _ in 0..<arguments { $0.append(1) } }
    let call = try #require(pipeline.scriptCalls.first)
    let hash = String(repeating: "a", count: 40)
    pipeline.fill(call, with: Array(hash.utf8))
    let expected =
      "*\(arguments + 4)\r\n$7\r\nEVALSHA\r\n$40\r\n\(hash)\r\n$1\r\n1\r\n$1\r\nk\r\n"
      + String(repeating: "$1\r\n1\r\n", count: arguments)
    expect(String(decoding: pipeline.bytes[pipeline.starts[1]...], as: UTF8.self), is: expected)
    expect(call.position, is: 1)
  }

  @Test func joinedPipelinesKeepTheirScripts() throws {
    var first = RedisPipeline()
    first.append("PING")
    var second = RedisPipeline()
    second.script(script, keys: [String]())
    first.append(second)
    let call = try #require(first.scriptCalls.first)
    expect(call.position, is: 1)
    expect(Array(first.bytes[first.starts[1]...]), is: second.bytes)
    expect(first.bytes[call.hash..<(call.hash + 40)].allSatisfy { $0 == UInt8(ascii: "0") })
    expect(first.count, is: 2)
  }

  @Test func oneCommandOfAPipelineIsTakenOut() throws {
    var whole = RedisPipeline()
    whole.append("PING")
    whole.script(script, keys: ["a"]) { $0.append("x") }
    whole.append("TIME")
    whole.script(script, keys: ["b"])
    var part = RedisPipeline()
    for position in [3, 2, 1] { part.append(position, of: whole) }
    expect(part.count, is: 3)
    expect((0..<3).map { part.name(of: $0) }, is: ["the script \(script.name)", "TIME", "the script \(script.name)"])
    expect((0..<3).map { part.keys(of: $0) }, is: [["b"], [], ["a"]])
    for call in part.scriptCalls { part.fill(call, with: Array(repeating: UInt8(ascii: "h"), count: 40)) }
    expect(part.bytes.count { $0 == UInt8(ascii: "h") }, is: 80)
    expect(part.bytes.count, is: whole.bytes.count - "*1\r\n$4\r\nPING\r\n".utf8.count)
  }

  @Test func repliesAreArgumentsToo() {
    var builder = ReplyBuilder()
    let text = Array("abc".utf8).withUnsafeBytes { builder.addText($0, kind: .bulk, parent: nil, position: 0) }
    let number = builder.addInteger(-5, parent: nil, position: 0)
    let arena = builder.take()
    var pipeline = RedisPipeline()
    pipeline.append("ECHO", RedisReply(arena: arena, index: text), RedisReply(arena: arena, index: number))
    expect(String(decoding: pipeline.bytes, as: UTF8.self), is: "*3\r\n$4\r\nECHO\r\n$3\r\nabc\r\n$2\r\n-5\r\n")
  }

  @Test func emptiedPipelineStartsAnew() {
    var pipeline = RedisPipeline()
    pipeline.script(script, keys: ["k"])
    pipeline.removeAll()
    pipeline.append("PING")
    expect(pipeline.bytes, is: Array("*1\r\n$4\r\nPING\r\n".utf8))
    expect(pipeline.scriptCalls.isEmpty && pipeline.count == 1)
  }
}
