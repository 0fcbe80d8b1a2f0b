import TestKit
import Testing

@testable import Redis

@Suite struct HandshakeTests {
  @Test func handshakeContainsOnlyTheOptionsOfTheURL() {
    let plain = Handshake(url: RedisURL(host: "h"), password: nil, clientName: "my worker")
    expect(
      String(decoding: plain.pipeline.bytes, as: UTF8.self),
      is: "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$9\r\nmy-worker\r\n*1\r\n$4\r\nINFO\r\n")
    let full = Handshake(url: RedisURL(host: "h", user: "u", database: 3), password: "p", clientName: "w")
    expect(full.pipeline.count, is: 4)
    expect(
      String(decoding: full.pipeline.bytes, as: UTF8.self).hasPrefix("*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n"))
  }

  @Test(arguments: [
    (["-WRONGPASS invalid", "+OK", "+OK", "+i"], RedisError.Code.authentication),
    (["-ERR AUTH called without any password configured", "+OK", "+OK", "+i"], .authentication),
    (["+OK", "-ERR DB index is out of range", "+OK", "+i"], .refused),
    (["+OK", "-NOPERM this user has no permissions to run the 'select' command", "+OK", "+i"], .noPermission),
    (["+OK", "-LOADING dataset", "-LOADING dataset", "-LOADING dataset"], .notReady),
    (["+OK", "+OK", "+OK", "-BUSY script"], .notReady),
    (["+OK", "+OK", "-NOAUTH Authentication required.", "+i"], .authentication),
    (["+OK", "+OK", "+OK", "+loading:1"], .notReady),
  ])
  func refusalsAreReported(lines: [String], code: RedisError.Code) throws {
    let replies = try replies(lines)
    let error = #expect(throws: RedisError.self) { try handshake.check(replies) }
    expect(error?.code == code && error?.endpoint == "h:6379")
  }

  @Test func userWithoutInfoPermissionIsWelcome() throws {
    let replies = try replies(["+OK", "+OK", "-NOPERM no", "-NOPERM no"])
    expect(try handshake.check(replies).version, is: nil)
  }

  private let handshake = Handshake(url: RedisURL(host: "h", database: 3), password: "p", clientName: "w")

  private func replies(_ lines: [String]) throws -> [RedisReply] {
    try RedisReply.parse(lines.map { $0 + "\r\n" }.joined())
  }
}
