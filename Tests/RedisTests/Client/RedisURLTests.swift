import Redis
import TestKit
import Testing

@Suite struct RedisURLTests {
  @Test(arguments: [
    ("redis://localhost", RedisURL(host: "localhost")),
    ("REDIS://h:1/15", RedisURL(host: "h", port: 1, database: 15)),
    ("redis://h/", RedisURL(host: "h")),
    ("redis://:secret@h", RedisURL(host: "h", password: "secret")),
    (
      "redis://app:s%40c%2Fr%3At%25@h:6380/2",
      RedisURL(host: "h", port: 6380, user: "app", password: "s@c/r:t%", database: 2)
    ),
    ("redis://u:a@b@h", RedisURL(host: "h", user: "u", password: "a@b")),
    ("redis://u:a:b@h", RedisURL(host: "h", user: "u", password: "a:b")),
    ("redis://[::1]:7000", RedisURL(host: "::1", port: 7000)),
    ("rediss://u:p@h:1/2", RedisURL(isTLS: true, host: "h", port: 1, user: "u", password: "p", database: 2)),
    ("redis://[fe80::1%25eth0]", RedisURL(host: "fe80::1%eth0")),
  ])
  func partsAreRead(text: String, url: RedisURL) throws {
    expect(try RedisURL(text), is: url)
  }

  @Test(arguments: [
    ("localhost:6379", "no scheme"), ("http://h", "\"http\""), ("redis://", "no host"), ("redis://:6379", "no host"),
    ("redis://h:0", "port"), ("redis://h:65536", "port"), ("redis://h:x", "port"), ("redis://h/x", "database"),
    ("redis://h/1/2", "database"), ("redis://h/-1", "database"), ("redis://u@h", "no password"),
    ("redis://u:@h", "empty"), ("redis://u:%zz@h", "\"%\" in its password"), ("redis://u:%ff@h", "not UTF-8"),
    ("redis://::1", "brackets"), ("redis://[::1", "\"]\""), ("redis://h?db=1", "query"),
    ("redis://u:a/b@h", "not percent-encoded"),
  ])
  func errorSaysWhatIsWrong(text: String, reason: String) {
    let error = #expect(throws: RedisError.self) { try RedisURL(text) }
    expect(error?.code, is: .invalidURL)
    expect(error?.message.contains(reason), is: true, "\(String(describing: error))")
  }

  @Test func clusterHasSomeOfItsServersAndOneDatabase() throws {
    let url = try RedisURL("cluster://u:p@a,b:7,[::1]")
    expect(url.topology, is: .cluster)
    expect(url.addresses.map(\.description), is: ["a:6379", "b:7", "[::1]:6379"])
    expect(url.user == "u" && url.password == "p" && url.database == 0 && !url.isTLS)
    expect("\(url)", is: "cluster://u:***@a:6379,b:7,[::1]:6379")
    expect(try RedisURL("cluster://a/0").addresses.count, is: 1)
    for (text, says) in [
      ("cluster://a/1", "only the database 0"), ("cluster://a,", "no host"), ("cluster://a:0", "port"),
    ] {
      let error = #expect(throws: RedisError.self) { try RedisURL(text) }
      expect(error?.message.contains(says), is: true, "\(text): \(String(describing: error))")
    }
  }

  @Test func addressIsHostAndPort() {
    expect(RedisAddress("h:1"), is: RedisAddress(host: "h", port: 1))
    expect(RedisAddress("[::1]:7000")?.description, is: "[::1]:7000")
    for text in ["h", "h:", "h:0", ":1", "::1:7", "h:65536", "[]:1"] { expect(RedisAddress(text), is: nil, "\(text)") }
  }

  @Test func sentinelsHaveADefaultPortAndTheirPrimaryAName() throws {
    let url = try RedisURL("sentinel://u:p@a,b:7,[::1]/my%20primary/3")
    expect(url.topology, is: .sentinel(name: "my primary"))
    expect(url.addresses.map(\.description), is: ["a:26379", "b:7", "[::1]:26379"])
    expect(url.user == "u" && url.password == "p" && url.database == 3 && !url.isTLS)
    expect("\(url)", is: "sentinel://u:***@a:26379,b:7,[::1]:26379/my primary/3")
    expect(try RedisURL("sentinel://a/m").database, is: 0)
    for (text, says) in [
      ("sentinel://a,b", "name of the primary"), ("sentinel://a,b/", "name of the primary"),
      ("sentinel://a,,b/m", "no host"),
      ("sentinel://a:x/m", "port"), ("sentinel://a/m/x", "database"), ("redis://a,b:1:2", "more than one"),
    ] {
      let error = #expect(throws: RedisError.self) { try RedisURL(text) }
      expect(error?.message.contains(says), is: true, "\(text): \(String(describing: error))")
    }
  }

  @Test func passwordIsNeverShown() throws {
    let url = try RedisURL("redis://app:hunter2@h/1")
    var dumped = ""
    dump(url, to: &dumped)
    expect("\(url)", is: "redis://app:***@h:6379/1")
    expect("\(try RedisURL("rediss://h"))", is: "rediss://h:6379/0")
    expect(!dumped.contains("hunter2") && !String(reflecting: url).contains("hunter2"))
    for text in ["redis://u:hunter2@", "redis://u:hunter2/x@h", "redis://u:hunter2%@h", "redis://u:hunter2@h:x"] {
      let error = #expect(throws: RedisError.self) { try RedisURL(text) }
      expect(!"\(String(describing: error))".contains("hunter2"))
    }
  }
}
