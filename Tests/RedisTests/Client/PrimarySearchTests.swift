import TestKit
import Testing

@testable import Redis

/// Search for the primary, and the order of the sentinels, without sockets.
@Suite struct PrimarySearchTests {
  private let a = RedisAddress(host: "a", port: 1)
  private let b = RedisAddress(host: "b", port: 1)
  private let c = RedisAddress(host: "c", port: 1)
  private let first = RedisAddress(host: "p", port: 1)
  private let second = RedisAddress(host: "p", port: 2)

  @Test func answerIsFoundAndAskedForAgain() {
    var search = PrimarySearch(sentinels: [a, b, c])
    expect(search.handle(.wanted), is: [.ask(a)])
    expect(search.handle(.wanted), is: [], "one search serves all")
    expect(search.handle(.answered(first)), is: [.found(first), .wait])
    expect(search.handle(.timer), is: [.ask(a)], "who answered is asked again")
  }

  @Test func nextIsAskedOnNullAndOnFailureUntilAllWere() {
    var search = PrimarySearch(sentinels: [a, b, c])
    _ = search.handle(.wanted)
    expect(search.handle(.answered(nil)), is: [.ask(b)])
    expect(search.handle(.failed), is: [.ask(c)])
    expect(search.handle(.failed), is: [.notFound, .wait])
    expect(search.handle(.timer), is: [.ask(a)])
    expect(search.handle(.failed), is: [.ask(b)])
    expect(search.handle(.answered(first)), is: [.found(first), .wait])
    expect(search.sentinels, is: [b, c, a], "who answered stays in front")
  }

  @Test func sentinelWithoutAPrimaryIsNotAskedFirst() {
    var search = PrimarySearch(sentinels: [a, b, c])
    _ = search.handle(.wanted)
    _ = search.handle(.answered(first))
    expect(search.handle(.suspected(first)), is: [.ask(b)])
    expect(search.handle(.suspected(first)), is: [], "two clients doubt the same: one search")
    expect(search.handle(.answered(second)), is: [.found(second), .wait])
    expect(search.handle(.suspected(first)), is: [.ask(b)], "that was the one before")
  }

  @Test func announcementIsReportedImmediately() {
    var search = PrimarySearch(sentinels: [a, b])
    _ = search.handle(.wanted)
    _ = search.handle(.answered(first))
    expect(search.handle(.announced(second)), is: [.found(second)])
    expect(search.primary, is: second)
    _ = search.handle(.timer)
    expect(search.handle(.announced(first)), is: [], "the answer in flight will name the primary")
    expect(search.handle(.answered(first)), is: [.found(first), .wait])
  }

  @Test func sentinelThatHangsUpIsNotAskedImmediately() {
    var search = PrimarySearch(sentinels: [a, b])
    _ = search.handle(.wanted)
    _ = search.handle(.answered(first))
    expect(search.handle(.lost), is: [])
    expect(search.handle(.timer), is: [.ask(b)])
  }

  @Test func answerOfAnEndedSearchIsIgnored() {
    var search = PrimarySearch(sentinels: [a])
    _ = search.handle(.wanted)
    expect(search.handle(.failed), is: [.notFound, .wait])
    expect(search.handle(.answered(first)) == [] && search.handle(.failed) == [])
    expect(search.primary, is: nil)
  }

  @Test(arguments: [
    ("*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$20\r\nmain 1.2.3.4 5 ::1 6\r\n", "[::1]:6"),
    ("*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$11\r\nmain a 5 b \r\n", nil),
    ("*3\r\n$7\r\nmessage\r\n$5\r\n+sdow\r\n$20\r\nmain 1.2.3.4 5 ::1 6\r\n", nil),
    ("+OK\r\n", nil),
  ])
  func messageAboutANewPrimaryIsRead(message: String, address: String?) throws {
    let primary = SentinelSession.primary(in: try RedisReply.parse(message)[0])
    expect(primary?.address.description, is: address)
    expect(primary?.name, is: address.map { _ in "main" })
  }
}
