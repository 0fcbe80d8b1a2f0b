import TestKit
import Testing

@testable import Redis

/// Decisions about a cluster, without a cluster: slots, maps, redirections, and which server gets which request at
/// which time.
@Suite struct ClusterPartsTests {
  private static func address(_ port: UInt16, _ host: String = "h") -> RedisAddress {
    RedisAddress(host: host, port: port)
  }

  /// Returns a map in which slots 0 to 99 belong to the first server, the next hundred to the second, and so on.
  private static func map(_ ports: [UInt16]) throws -> ClusterMap {
    let ranges = ports.enumerated().map { index, port in
      "*3\r\n:\(index * 100)\r\n:\(index * 100 + 99)\r\n*2\r\n$1\r\nh\r\n:\(port)\r\n"
    }
    return try #require(
      ClusterMap(parsing: RedisReply.parse("*\(ranges.count)\r\n" + ranges.joined())[0], from: address(1)))
  }

  // MARK: Slots

  @Test func crcAgreesWithTheSpecification() {
    expect(CRC16.of("123456789"), is: 0x31C3)
    expect(CRC16.of(""), is: 0)
    expect(CRC16.of(Array("123456789".utf8)), is: 0x31C3)
  }

  /// Values from CLUSTER KEYSLOT.
  @Test(arguments: [
    ("foo", 12182), ("{foo}bar", 12182), ("x{foo}{bar}", 12182), ("{}foo", 9500), ("foo{}{bar}", 8363), ("{foo", 13308),
    ("", 0), ("{{bar}}zap", 4015),
  ])
  func slotIsThatOfTheTag(key: String, slot: UInt16) {
    expect(KeySlot(of: key).number, is: slot)
  }

  @Test func commandsAreSentByTheirKeys() {
    let script = RedisScript(name: "s", source: "return 1")
    var pipeline = RedisPipeline()
    pipeline.append("TIME")
    pipeline.append("SET", "foo", "bar")
    pipeline.append("WAIT", 1, 100)
    pipeline.script(script, keys: ["{bar}1", "{bar}2"]) { $0.append("foo") }
    pipeline.script(script, keys: [String]())
    pipeline.append("OBJECT", "ENCODING", "foo")
    pipeline.append("INFO", "memory")
    let (home, foo, bar) = (KeySlot(of: "home"), KeySlot(of: "foo"), KeySlot(of: "bar"))
    expect(pipeline.slots(home: home), is: [home, foo, foo, bar, bar, foo, foo])
  }

  // MARK: Cluster map

  @Test func mapIsReadAndUnknownValuesAreIgnored() throws {
    // An id and a map with more values follow name and port, and there may be replicas.
    let reply = try RedisReply.parse(
      "*2\r\n"
        + "*4\r\n:0\r\n:9000\r\n*4\r\n$1\r\na\r\n:7000\r\n$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$1\r\nx\r\n*2\r\n$0\r\n\r\n:7001\r\n"
        + "*4\r\n:9001\r\n:16383\r\n*2\r\n$-1\r\n:7002\r\n*2\r\n$1\r\n?\r\n:7003\r\n")[0]
    let (a, reached) = (Self.address(7000, "a"), Self.address(17000, "nat"))
    let map = try #require(ClusterMap(parsing: reply, from: Self.address(7, "asked"), reachable: [a: reached]))
    expect(map.owners, is: [reached, Self.address(7002, "asked")])
    expect(map.servers, is: [reached, Self.address(7001, "asked"), Self.address(7002, "asked")])
    expect(try map.owner(of: #require(KeySlot(9000))), is: reached)
    expect(try map.owner(of: #require(KeySlot(9001))), is: Self.address(7002, "asked"))
  }

  @Test(arguments: [
    "+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
    "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
  ])
  func invalidMapIsRejected(reply: String) throws {
    expect(ClusterMap(parsing: try RedisReply.parse(reply)[0], from: Self.address(1)), is: nil)
  }

  @Test func slotMoveDoesNotAffectOtherSlots() throws {
    var map = try Self.map([1, 2])
    let (five, hundred) = (try #require(KeySlot(5)), try #require(KeySlot(100)))
    map.move(five, to: Self.address(9))
    expect(map.owner(of: five), is: Self.address(9))
    expect(map.owner(of: hundred), is: Self.address(2))
    expect(map.owners, is: [Self.address(1), Self.address(2), Self.address(9)])
    for slot in 100..<200 { map.move(try #require(KeySlot(slot)), to: Self.address(1)) }
    expect(map.owners, is: [Self.address(1), Self.address(9)])
    expect(try map.owner(of: #require(KeySlot(200))), is: nil)
  }

  // MARK: Redirections

  @Test(arguments: [
    ("MOVED 3999 127.0.0.1:6381", Redirect.moved(KeySlot(3999)!, RedisAddress(host: "127.0.0.1", port: 6381))),
    ("MOVED 1 ::1:6381", .moved(KeySlot(1)!, RedisAddress(host: "::1", port: 6381))),
    ("MOVED 1 [::1]:6381", .moved(KeySlot(1)!, RedisAddress(host: "::1", port: 6381))),
    ("MOVED 1 :6381", .moved(KeySlot(1)!, RedisAddress(host: "asked", port: 6381))),
    ("ASK 16383 host.example:1 and more", .ask(RedisAddress(host: "host.example", port: 1))),
    ("ASK 1 inside:7", .ask(RedisAddress(host: "outside", port: 8))),
    ("TRYAGAIN Multiple keys request during rehashing of slot", .tryAgain),
    ("CLUSTERDOWN The cluster is down", .clusterDown),
  ])
  func redirectionIsRead(line: String, redirect: Redirect) {
    let nat = [RedisAddress(host: "inside", port: 7): RedisAddress(host: "outside", port: 8)]
    expect(Redirect(RedisServerError(line: line), from: Self.address(1, "asked"), reachable: nat), is: redirect)
  }

  @Test(arguments: [
    "MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h", "MOVED 1 h:0", "ASK 1 ?:7", "OOM x",
  ])
  func otherErrorIsNotARedirection(line: String) {
    expect(Redirect(RedisServerError(line: line), from: Self.address(1)), is: nil)
  }

  // MARK: Requests for the map

  @Test func seedsAreAskedUntilOneAnswers() throws {
    let map = try Self.map([7, 8])
    var topology = ClusterTopology(seeds: [Self.address(1), Self.address(2)])
    expect(topology.handle(.wanted), is: [.ask(Self.address(1))])
    expect(topology.handle(.wanted).isEmpty)
    expect(topology.handle(.failed), is: [.ask(Self.address(2))])
    expect(topology.handle(.answered(map)), is: [.found(map), .pause])
    expect(topology.handle(.timer), is: [.rest])
    // The topology refreshes the map regularly from any server.
    guard case .ask(let asked)? = topology.handle(.timer).first else { return expect(false) }
    expect([Self.address(7), Self.address(8)].contains(asked))
  }

  @Test func doubtsCauseOneRequestWithTheDoubtedServerLast() throws {
    let map = try Self.map([7, 8])
    var topology = ClusterTopology(seeds: [Self.address(7)])
    expect(topology.handle(.wanted), is: [.ask(Self.address(7))])
    expect(topology.handle(.answered(map)), is: [.found(map), .pause])
    // During the pause after an answer, doubts cause no request.
    expect(topology.handle(.suspected(Self.address(7))).isEmpty)
    expect(topology.handle(.suspected(Self.address(7))).isEmpty)
    expect(topology.handle(.timer), is: [.ask(Self.address(8))])
    expect(topology.handle(.failed), is: [.ask(Self.address(7))])
    expect(topology.handle(.failed), is: [.notFound, .pause])
    expect(topology.handle(.failed).isEmpty)
  }

  @Test func movedSlotIsUpdatedImmediatelyAndTheMapRequested() throws {
    let map = try Self.map([7, 8])
    let slot = try #require(KeySlot(5))
    var topology = ClusterTopology(seeds: [Self.address(7)])
    _ = topology.handle(.wanted)
    _ = topology.handle(.answered(map))
    _ = topology.handle(.timer)
    let actions = topology.handle(.moved(slot, Self.address(8)))
    expect(actions.count, is: 1)
    expect(topology.map?.owner(of: slot), is: Self.address(8))
  }

  // MARK: Calls

  /// Returns commands on keys in the slots of the first server (`a`, `c`) and of the second (`b`).
  private static func call() throws -> (ClusterCall, ClusterMap) {
    var pipeline = RedisPipeline()
    for key in ["a", "b", "c"] { pipeline.append("GET", key) }
    var map = try map([1])
    map.move(KeySlot(of: "a"), to: address(1))
    map.move(KeySlot(of: "b"), to: address(2))
    map.move(KeySlot(of: "c"), to: address(1))
    return (ClusterCall(pipeline, home: KeySlot(of: "")), map)
  }

  private static func replies(_ lines: String...) throws -> [RedisReply] {
    try RedisReply.parse(lines.map { $0 + "\r\n" }.joined())
  }

  @Test func callIsSentInPartsAndAnsweredInOrder() throws {
    var (call, map) = try Self.call()
    let parts = call.parts(by: map)
    expect(parts.map(\.address), is: [Self.address(1), Self.address(2)])
    expect(parts.map(\.positions), is: [[0, 2], [1]])
    expect(parts[0].pipeline.bytes, is: Array("*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\n".utf8))
    _ = call.record(try Self.replies("+B"), of: parts[1])
    expect(!call.isComplete && call.answers == nil)
    _ = call.record(try Self.replies("+A", "-WRONGTYPE x"), of: parts[0])
    expect(call.isComplete)
    expect(call.answers?.map(\.description), is: ["A", "B", "(error) WRONGTYPE x"])
  }

  @Test func callForOneServerIsSentAsItIs() throws {
    var pipeline = RedisPipeline()
    for number in 0..<3 { pipeline.append("SET", "{a}\(number)", number) }
    var map = try Self.map([1])
    map.move(KeySlot(of: "a"), to: Self.address(1))
    let parts = ClusterCall(pipeline, home: KeySlot(of: "")).parts(by: map)
    expect(parts.map(\.pipeline.bytes), is: [pipeline.bytes])
  }

  @Test func onlyRedirectedCommandsAreRepeated() throws {
    var (call, map) = try Self.call()
    var parts = call.parts(by: map)
    _ = call.record(try Self.replies("+B"), of: parts[1])
    let slot = KeySlot(of: "c")
    let outcome = call.record(try Self.replies("+A", "-MOVED \(slot.number) h:2"), of: parts[0])
    expect(outcome.moved.map(\.address) == [Self.address(2)] && outcome.isRedirected && call.hasRun)
    map.move(slot, to: Self.address(2))
    parts = call.parts(by: map)
    expect(parts.map(\.address) == [Self.address(2)] && parts.map(\.positions) == [[2]] && !parts[0].isAsking)
    // The key is moving again. Only its command is sent after ASKING, and the map stays the same.
    let asked = call.record(try Self.replies("-ASK \(slot.number) h:1"), of: parts[0])
    expect(asked.moved.isEmpty)
    parts = call.parts(by: map)
    expect(parts.map(\.address) == [Self.address(1)] && parts[0].isAsking)
    expect(parts[0].pipeline.bytes, is: Array("*1\r\n$6\r\nASKING\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\n".utf8))
    _ = call.record(try Self.replies("+OK", "+C"), of: parts[0])
    expect(call.answers?.map(\.description), is: ["A", "B", "C"])
  }

  @Test func movingKeysAreRequestedFromTheirTarget() throws {
    var pipeline = RedisPipeline()
    pipeline.append("MGET", "{a}1", "{a}2")
    var call = ClusterCall(pipeline, home: KeySlot(of: ""))
    var map = try Self.map([1])
    map.move(KeySlot(of: "a"), to: Self.address(1))
    let asked = call.record(try Self.replies("-ASK 5 h:2"), of: call.parts(by: map)[0])
    expect(asked.isRedirected)
    let outcome = call.record(try Self.replies("+OK", "-TRYAGAIN x"), of: call.parts(by: map)[0])
    expect(outcome.hasArriving && !call.hasRun)
    expect(call.parts(by: map)[0].address, is: Self.address(2))
    expect(call.parts(by: map)[0].isAsking)
    expect(call.answers?.map(\.description), is: ["(error) TRYAGAIN x"])
  }

  @Test func slotWithoutAServerIsSkipped() throws {
    var (call, map) = try Self.call()
    map = try Self.map([1])
    map.move(KeySlot(of: "b"), to: Self.address(2))
    let parts = call.parts(by: map)
    expect(parts.map(\.positions), is: [[1]])
    expect(call.openCount, is: 3)
    _ = call.record(try Self.replies("+B"), of: parts[0])
    expect(call.openSlot, is: KeySlot(of: "a"))
  }

  @Test func lostScriptAfterAskingIsRepeatedAfterAsking() throws {
    let script = RedisScript(name: "s", source: "return 1")
    var pipeline = RedisPipeline()
    pipeline.append("ASKING")
    pipeline.script(script, keys: ["a"])
    pipeline.script(script, keys: ["b"])
    let again = try #require(
      ScriptCache.repetition(
        of: pipeline, after: Self.replies("+OK", "-NOSCRIPT x", "-NOSCRIPT x"), into: nil))
    expect(again.pipeline.count, is: 4)
    expect(again.pipeline.isAsking(1) && !again.pipeline.isAsking(2) && !again.pipeline.isAsking(3))
    expect(again.answers.map(\.new) == [2, 3] && again.answers.map(\.old) == [1, 2])
  }
}
