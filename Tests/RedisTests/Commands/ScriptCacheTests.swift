import TestKit
import Testing

@testable import Redis

@Suite struct ScriptCacheTests {
  private let one = RedisScript(name: "one", source: "#!lua\nreturn 1")
  private let two = RedisScript(name: "two", source: "return 2")
  private let hash = String(repeating: "ab", count: 20)

  @Test func missingScriptsAreNamedOnce() throws {
    var cache = ScriptCache()
    let pipeline = calls([one, two, one])
    expect(cache.missing(in: pipeline).map(\.name), is: ["one", "two"])
    try cache.record(replies("$40\r\n\(hash)\r\n"), for: [one], endpoint: "h:1")
    expect(cache.missing(in: pipeline).map(\.name), is: ["two"])
    expect(cache.filled(pipeline).bytes.filter { $0 == UInt8(ascii: "a") }.count, is: 40)
  }

  @Test func onlyLostCallsAreRepeatedInOrder() throws {
    let pipeline = calls([one, two, one, two])
    let answers = try replies(":1\r\n-NOSCRIPT x\r\n-ERR y\r\n-NOSCRIPT x\r\n")
    let again = try #require(ScriptCache.repetition(of: pipeline, after: answers, into: nil))
    expect(again.answers.map(\.old) == [1, 3] && again.answers.map(\.new) == [1, 2])
    // The script is loaded once and run twice.
    expect(again.pipeline.count, is: 3)
    let text = String(decoding: again.pipeline.bytes, as: UTF8.self)
    expect(text.hasPrefix("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 2\r\n*4\r\n$7\r\nEVALSHA\r\n"))
    let first = try #require(text.firstRange(of: "$2\r\nk1"))
    let second = try #require(text.firstRange(of: "$2\r\nk3"))
    expect(first.lowerBound < second.lowerBound && !text.contains("k0") && !text.contains("k2"))
  }

  @Test func nothingLostMeansNothingRepeated() throws {
    let answers = try replies(":1\r\n-ERR NOSCRIPT\r\n")
    expect(ScriptCache.repetition(of: calls([one, two]), after: answers, into: nil) == nil)
  }

  @Test func refusedScriptIsNamed() throws {
    var cache = ScriptCache()
    let answers = try replies("-ERR Error compiling script\r\n")
    let error = #expect(throws: RedisError.self) { try cache.record(answers, for: [one], endpoint: "h:1") }
    expect(error?.code == .refused && error?.message.contains("one") == true)
  }

  private func calls(_ scripts: [RedisScript]) -> RedisPipeline {
    var pipeline = RedisPipeline()
    for (index, script) in scripts.enumerated() { pipeline.script(script, keys: ["k\(index)"]) }
    return pipeline
  }

  private func replies(_ text: String) throws -> [RedisReply] { try RedisReply.parse(text) }
}
