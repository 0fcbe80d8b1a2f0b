@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Expansion of an audience to sealed targets: each device occurs once, and none is missing.
@Suite(.takesTurns) struct ExpansionTests {
  @Test(arguments: Backend.wholeWay)
  func allUsersAreReachedOnEveryDevice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1)),
      DeviceRegistration(user: "x", device: TestStore.device(2)),
      DeviceRegistration(user: "y", device: TestStore.device(3)),
      DeviceRegistration(user: "y", device: TestStore.device(3, registeredAt: 2000)),
    ])
    expect(try await targets(world, #"{"segment":"*"}"#), is: ["x:1", "x:2", "y:3"])
  }

  @Test(arguments: Backend.wholeWay)
  func listedUsersWithDevicesAreReached(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<5)
    expect(try await targets(world, #"{"users":["u3","nobody","u1","u3"]}"#), is: ["u1:1", "u3:3"])
  }

  @Test(arguments: Backend.wholeWay)
  func listedTokensNeedNoUser(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let hex = (0..<3).map { TestStore.text($0) }
    expect(try await targets(world, #"{"tokens":["\#(hex[0])","\#(hex[2])","\#(hex[0])"]}"#), is: [":0", ":2"])
  }

  @Test(arguments: Backend.wholeWay)
  func channelIsTheOnlyTargetOfItsCampaign(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, users: 0..<5)
    let job = Array(
      #"""
      {"id":"a","app":"news","audience":{"channel":"a+b="},
      "apns":{"payload":{"aps":{"timestamp":1,"event":"update","content-state":{}}},"pushType":"liveactivity"}}
      """#.utf8)
    let campaign = try CampaignJob.parse(job, .any([APNsService()]))
    expect(try await world.store.queue.activate(campaign, job: job, worker: "w"), is: .new)
    let target = try #require(DeviceToken(bytes: "a+b=".utf8))
    let (ledger, _) = try await world.claimed("a", Partition.of(token: target.bytes, of: TestStore.service, count: 4))
    expect(try await world.expand(ledger, campaign), is: 1)
    expect(Array(try await ledger.targets(from: 0, count: 1).token(0)), is: target.bytes)
  }

  @Test(arguments: Backend.wholeWay)
  func devicesOfOtherAppsOrEnvironmentsAreLeftOut(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    var devices = (0..<7).map { TestStore.device($0) }
    devices[1].app = "news"
    devices[2].app = "weather"
    devices[3].environment = "production"
    devices[4].environment = "sandbox"
    devices[5].isQuarantined = true
    devices[6].app = "news"
    devices[6].environment = "sandbox"
    try await world.store.registry.register(devices.map { DeviceRegistration(user: "x", device: $0) })
    expect(try await targets(world, #"{"segment":"*"}"#), is: ["x:0", "x:1", "x:3"])
  }

  /// Each user gets one alert.
  @Test(arguments: Backend.wholeWay)
  func latestDeviceIsTheOneSeenLastOfThoseThatCount(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let seen: [(user: String, registered: UInt64, seen: UInt64)] = [
      ("x", 1000, 9000), ("x", 5000, 0), ("x", 2000, 8000), ("y", 1000, 0), ("y", 3000, 0), ("z", 0, 0), ("z", 0, 0),
    ]
    try await world.store.registry.register(
      seen.enumerated().map { number, fact in
        var device = TestStore.device(number, registeredAt: fact.registered)
        device.lastSeen = fact.seen
        // The most recently seen device of x has the version that the condition excludes.
        device.appVersion = number == 0 ? "1.0" : "2.0"
        return DeviceRegistration(user: fact.user, device: device)
      })
    expect(try await targets(world, #"{"segment":"*","devices":"latest"}"#), is: ["x:0", "y:4", "z:5"])
    let newer = #"{"segment":"*","devices":"latest","where":"appVersion > '1'"}"#
    expect(try await targets(world, newer, id: "b"), is: ["x:2", "y:4", "z:5"])
    expect(try await targets(world, #"{"users":["x"],"devices":"all"}"#, id: "c"), is: ["x:0", "x:1", "x:2"])
  }

  @Test(arguments: Backend.wholeWay)
  func onlyTokensOfTheCampaignsServiceAndKindAreIn(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    var devices = (0..<TokenKind.allCases.count).map { TestStore.device($0) }
    for (number, kind) in TokenKind.allCases.enumerated() { devices[number].kind = kind }
    try await world.store.registry.register(devices.map { DeviceRegistration(user: "x", device: $0) })
    for (number, kind) in TokenKind.allCases.enumerated() {
      let campaign = try await world.activate("c\(number)")
      let ledger = try await world.claimed("c\(number)").ledger
      let filter = DeviceFilter(service: "apns", kind: kind, app: "news", environment: "production")
      expect(try await world.store.expansion.expand(ledger, of: campaign, filter: filter)?.count, is: 1)
      expect(try await ledger.targets(from: 0, count: 9).token(0).elementsEqual(TestStore.token(number)))
      let other = try await world.activate("d\(number)")
      let foreign = DeviceFilter(service: "other", kind: kind, app: "news", environment: "production")
      let ledgerOfOther = try await world.claimed("d\(number)").ledger
      expect(try await world.store.expansion.expand(ledgerOfOther, of: other, filter: foreign)?.count, is: 0)
    }
  }

  @Test(arguments: Backend.wholeWay)
  func memberOfASegmentWithoutADeviceIsNoTarget(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    try await world.store.audiences.add(["u1", "stranger"], to: "vip")
    expect(try await targets(world, #"{"segment":"vip"}"#), is: ["u1:1"])
    expect(try await targets(world, #"{"segment":"!vip"}"#, id: "b"), is: ["u0:0", "u2:2"])
  }

  @Test(arguments: Backend.wholeWay)
  func sliceWithoutADeviceIsSealedAndClosedWithNoTargets(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.audiences.add(["stranger"], to: "vip")
    let campaign = try await world.activate("a", audience: #"{"segment":"vip"}"#)
    let (ledger, _) = try await world.claimed("a")
    expect(try await world.expand(ledger, campaign), is: 0)
    var counters = SliceCounters()
    counters.audience[.noDevice] = 1
    expect(try await ledger.close(.finish).counters, is: counters)
  }

  @Test(arguments: Backend.pair(for: "twentyThousandUsersOfOnePartitionAreExact"))
  func twentyThousandUsersOfOnePartitionAreExact(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<20_000)
    for start in stride(from: 0, to: 20_000, by: 5000) {
      try await world.store.audiences.add((start..<(start + 5000)).filter { $0 % 3 != 0 }.map { "u\($0)" }, to: "some")
    }
    let campaign = try await world.activate("a", audience: #"{"segment":"* & !some | some"}"#)
    let (ledger, _) = try await world.claimed("a")
    expect(try await world.expand(ledger, campaign), is: 20_000)
    var numbers: Set<Int> = []
    for first in stride(from: 0, to: 20_000, by: 500) {
      let chunk = try await ledger.targets(from: first, count: 500)
      expect(chunk.count, is: 500)
      for position in 0..<chunk.count {
        let number = try #require(Int(String(decoding: chunk.user(position).dropFirst(), as: UTF8.self)))
        expect(Array(chunk.token(position)), is: TestStore.token(number))
        numbers.insert(number)
      }
    }
    expect(numbers.count, is: 20_000)
    expect(try await world.isBuilding(ledger), is: false)
    expect(try await world.command("TTL", world.keys.targets(0, "a")).integer, is: -1)
  }

  @Test(arguments: Backend.wholeWay, [127, 128, 129, 256, 700])
  func everyTargetIsFoundFromAnyPosition(on backend: Backend, count: Int) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<count)
    let campaign = try await world.activate("a")
    let (ledger, _) = try await world.claimed("a")
    expect(try await world.expand(ledger, campaign), is: count)
    let all = try await ledger.targets(from: 0, count: count)
    expect(all.count, is: count)
    expect(Set((0..<count).map { Array(all.token($0)) }).count, is: count)
    for first in [1, 126, 127, 128, 129, count - 1] where first < count {
      let part = try await ledger.targets(from: first, count: 130)
      expect(part.count, is: min(130, count - first))
      for position in 0..<part.count {
        expect(part.token(position).elementsEqual(all.token(first + position)))
        expect(part.user(position).elementsEqual(all.user(first + position)))
      }
    }
  }

  /// The counts are on both sides of the limit up to which one call reads all users, and need several pages of checks.
  @Test(arguments: [MemberWalk.wholeHash, MemberWalk.wholeHash + 1], ["*", "* & !some", "* | !some"])
  func eachUserIsReadOnceForAnyNumberOfUsers(count: Int, expression: String) async throws {
    let server = try await RedisServer.start(.single)
    let world = try await TestStore(on: .single, partitions: 1, server: server)
    try await world.registerUsers(0..<count)
    try await world.store.audiences.add((0..<700).map { "u\($0)" }, to: "some")
    let campaign = try await world.activate("a", audience: #"{"segment":"\#(expression)"}"#)
    let (ledger, _) = try await world.claimed("a")
    let meant = expression == "* & !some" ? 700..<count : 0..<count
    try await world.command("CONFIG", "RESETSTAT")
    expect(try await world.expand(ledger, campaign), is: meant.count)
    let calls = RedisServerInfo(parsing: try await world.command("INFO", "commandstats").string ?? "").fields
    expect(calls["cmdstat_hscan"] == nil, is: count <= MemberWalk.wholeHash)
    expect(calls["cmdstat_hgetall"] == nil, is: count > MemberWalk.wholeHash)
    let all = try await ledger.targets(from: 0, count: meant.count)
    expect(Set((0..<all.count).map { Array(all.token($0)) }), is: Set(meant.map(TestStore.token)))
    await server.stop()
  }

  /// Targets as `user:number of the token`, sorted.
  private func targets(_ world: TestStore, _ audience: String, id: String = "a") async throws -> [String] {
    let campaign = try await world.activate(id, audience: audience)
    let (ledger, _) = try await world.claimed(id)
    let count = try #require(try await world.expand(ledger, campaign))
    let chunk = try await ledger.targets(from: 0, count: 500)
    expect(chunk.count, is: count)
    return (0..<count).map { position in
      let number = chunk.token(position).suffix(8).reduce(0) { $0 << 8 | Int($1) }
      return String(decoding: chunk.user(position), as: UTF8.self) + ":\(number)"
    }.sorted()
  }
}
