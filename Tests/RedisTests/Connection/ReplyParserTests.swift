import TestKit
import Testing

@testable import Redis

@Suite struct ReplyParserTests {
  /// One reply of every type, nested four deep, with invalid UTF-8 and line breaks inside a bulk string.
  static let everything: [UInt8] =
    Array("+OK\r\n-ERR no\r\n:-9223372036854775808\r\n$-1\r\n*-1\r\n$0\r\n\r\n*0\r\n".utf8)
    + Array("$6\r\n".utf8) + [0, 0xFF, 0x0D, 0x0A, 0x24, 0] + Array("\r\n".utf8)
    + Array("*3\r\n*2\r\n:1\r\n*1\r\n*1\r\n$1\r\nd\r\n$2\r\nbb\r\n*2\r\n-WRONGTYPE x\r\n$-1\r\n".utf8)

  static let expected = """
    OK
    (error) ERR no
    -9223372036854775808
    (null)
    (null)
    ""
    []
    "\u{0}\u{FFFD}\r\n$\u{0}"
    [[1, [["d"]]], "bb", [(error) WRONGTYPE x, (null)]]
    """

  @Test func everyTypeIsRead() throws {
    expect(try RedisReply.parse([Self.everything]).map(\.description).joined(separator: "\n"), is: Self.expected)
  }

  @Test func splitAtEveryByteGivesTheSame() throws {
    for split in 1..<Self.everything.count {
      let replies = try RedisReply.parse([Array(Self.everything[..<split]), Array(Self.everything[split...])])
      expect(replies.map(\.description).joined(separator: "\n"), is: Self.expected, "split at \(split)")
    }
    let single = try RedisReply.parse(Self.everything.map { [$0] })
    expect(single.map(\.description).joined(separator: "\n"), is: Self.expected)
  }

  @Test func elementsAreFoundByPosition() throws {
    let reply = try #require(
      try RedisReply.parse([Array("*3\r\n*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n$2\r\n44\r\n".utf8)]).first)
    expect(reply.count, is: 3)
    expect(reply[0][1].integer, is: 2)
    expect(reply[1].first?.integer, is: 3)
    expect(reply[2].integer, is: 44)
    expect(reply[2].bytes, is: [0x34, 0x34])
    expect(reply.map(\.kind), is: [.array, .array, .bulk])
  }

  @Test func accessorsOfOtherKindsAreEmpty() throws {
    let replies = try RedisReply.parse([Array("$-1\r\n:5\r\n$3\r\nabc\r\n+7\r\n-ERR x\r\n".utf8)])
    expect(replies[0].isNull && replies[0].bytes == nil && replies[0].string == nil && replies[0].integer == nil)
    expect(replies[1].string == nil && replies[1].isEmpty && replies[1].withBytes { $0.count } == 0)
    expect(replies[2].integer == nil && replies[2].string == "abc" && replies[2].error == nil)
    expect(replies[3].integer == nil && replies[3].string == "7")
    #expect(throws: RedisServerError(line: "ERR x")) { try replies[4].get() }
  }

  @Test(
    arguments: [
      ("0", 0), ("-1", -1), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
      ("9223372036854775808", nil), ("-9223372036854775809", nil), ("", nil), ("-", nil), ("1 ", nil), ("+1", nil),
      ("1e3", nil),
    ] as [(String, Int?)])
  func decimalTextIsAnInteger(text: String, value: Int?) {
    expect(Array(text.utf8).withUnsafeBytes { Int(decimal: $0) }, is: value)
  }

  @Test func repliesOfTwoCallsDoNotShareStorage() throws {
    var parser = ReplyParser()
    try Array("$1\r\na\r\n$1\r\nb\r\n".utf8).withUnsafeBytes { try parser.feed($0) }
    let first = try #require(try parser.next())
    let reply = RedisReply(arena: parser.take(), index: first)
    let second = try #require(try parser.next())
    expect(RedisReply(arena: parser.take(), index: second).string, is: "b")
    expect(reply.string, is: "a")
  }

  @Test(arguments: ["?what\r\n", ":12x\r\n", "*1048577\r\n", "HTTP/1.1 400 Bad Request\r\n"])
  func invalidRESPIsAViolation(text: String) {
    #expect(throws: ReplyParser.Violation.self) { _ = try RedisReply.parse([Array(text.utf8)]) }
  }

  @Test func endlessAnswerIsAViolation() {
    var parser = ReplyParser()
    #expect(throws: ReplyParser.Violation.self) {
      try Array("$500000000\r\n".utf8).withUnsafeBytes { try parser.feed($0) }
      let chunk = [UInt8](repeating: 0, count: 1 << 20)
      for _ in 0...64 {
        try chunk.withUnsafeBytes { try parser.feed($0) }
        expect(try parser.next(), is: nil)
      }
    }
  }

  @Test func unfinishedAnswerIsFreed() throws {
    expect(try RedisReply.parse([Array("*2\r\n$1\r\na\r\n*1\r\n".utf8)]).isEmpty)
  }
}
