@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Findings and repairs of the store check.
@Suite(.takesTurns) struct StoreCheckTests {
  @Test(arguments: Backend.wholeWay)
  func checkOfAConsistentStoreFindsNothing(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    var findings: [StoreFinding] = []
    let tally = try await scene.store.repair.check(pause: CheckScene.pause) { findings += $0 }
    expect(findings.isEmpty, "\(findings)")
    // One device was pruned.
    expect(tally.users, is: 39)
    // The owner index does not have the prune yet.
    expect(tally.tokens, is: 40)
    expect(tally.campaigns, is: 7)
    // The slices of ended campaigns, and the slice that a worker holds.
    expect(tally.slices, is: 9)
    expect(tally.keys, is: try await scene.world.keyNames("{\(scene.keys.namespace)*").count)
  }

  /// The short form tries one corruption of each kind.
  @Test(arguments: Backend.allCases, TestForm.rows(StoreCorruption.all, oneOfEach: \.kind))
  func corruptionIsFoundAndRepaired(on backend: Backend, corruption: StoreCorruption) async throws {
    let scene = try await CheckScene(on: backend)
    try await corruption.damage(scene)
    let first = try await scene.check()
    expect(first.map(\.kind), is: [corruption.kind], "\(first)")
    expect(first.first?.standing, is: corruption.isOpen ? .open : .repairable)
    // A check without repair changes nothing.
    if TestForm.isLong { expect(try await scene.check(), is: first) }
    let second = try await scene.check(repairing: true)
    expect(second.map(\.kind), is: [corruption.kind], "\(second)")
    expect(second.first?.standing, is: corruption.isOpen ? .open : .repaired)
    expect(try await scene.check(repairing: true), is: corruption.isOpen ? first : [])
    if !corruption.isOpen { expect(try await corruption.isWhole(scene)) }
  }

  @Test func everyKindHasACorruption() {
    expect(Set(StoreCorruption.all.map(\.kind)), is: Set(StoreFinding.Kind.allCases))
  }

  @Test(arguments: Backend.allCases)
  func manyCorruptionsAreRepairedTogether(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    let corruptions = StoreCorruption.all.filter { !$0.isOpen && $0.kind != .unfinishedRegistration }
    for corruption in corruptions { try await corruption.damage(scene) }
    // Some corruptions hide others: a user with attributes and without devices has a device of another user now.
    let found = try await scene.check(repairing: true)
    expect(Set(found.map(\.kind)).isSubset(of: Set(corruptions.map(\.kind))))
    expect(found.count > corruptions.count / 2)
    expect(try await scene.check(), is: [])
  }

  @Test(arguments: Backend.allCases)
  func isolatedSliceIsNotReported(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    _ = try await scene.command("HSET", scene.keys.slice(scene.slice.partition, of: "run"), "doubt", -5)
    _ = try await scene.store.repair.takeOut(scene.slice, reason: "damaged", hint: "look", worker: "w")
    expect(try await scene.check(), is: [])
  }

  @Test(arguments: Backend.allCases)
  func isolatedCampaignIsNotReported(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    expect(try await scene.store.repair.takeOut(campaign: "run", reason: "damaged", hint: "look"))
    expect(try await scene.check(), is: [])
  }

  /// Every form of a key has one type, and a check names each key that has another.
  @Test(arguments: Backend.allCases)
  func keyOfAnotherTypeIsNamed(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let slice =
      "users devices attributes pressure owner moving taken departures removals erased retained stated:s segment:s quarantine "
      + "outbox importing:s:1 arrivals:s delivered:a opened:a dismissed:a recipients:a audience:a values:a slice:a targets:a "
      + "building:a:1 control:a ledger:a retry:a reasons:a results:a"
    let control =
      "campaigns registrations receipts intake:w job:a submitter:a attempts campaign:a timeline:a trial:a watch:a rate:a "
      + "apprate:news:apns backendrate:news quota:fcm:p answers:news ranking:a waiting:a declines:a finished:a open:a "
      + "lane:urgent processing:w workers instances reports housekeeper housekeeping parked running schedule gates epoch "
      + "failover applied ended expiring all dead audit changes webhooks backends alarms events feedback import:f template:t templates "
      + "definitions activities segments store"
    let names =
      slice.split(separator: " ").map { "{\(world.keys.namespace):0}:\($0)" }
      + control.split(separator: " ").map { "{\(world.keys.namespace)}:\($0)" }
    for name in names {
      let key = try #require(StoredKey(name, world.keys), "\(name)")
      try await world.command("DEL", name)
      if key.type == "string" {
        try await world.command("RPUSH", name, "x")
      } else {
        try await world.command("SET", name, "x")
      }
    }
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: CheckScene.pause) { findings += $0 }
    expect(findings.allSatisfy { $0.kind == .wrongType && !$0.hint.isEmpty })
    expect(findings.map(\.key).sorted(), is: names.sorted())
    let segment = findings.first { $0.key == world.keys.segment(0, "s") }
    expect(segment?.problem, is: "the key has a wrong type: its type is string, expected set")
  }

  /// A damaged key of one partition, or of the names of segments, hides no finding elsewhere.
  @Test(arguments: Backend.allCases)
  func damagedKeyHidesNothingElsewhere(on backend: Backend) async throws {
    for name in ["segment", "segments", "definitions"] {
      let scene = try await CheckScene(on: backend)
      let elsewhere = scene.partition(of: "x")
      let control = "{\(scene.keys.namespace)}:\(name)"
      let key = name == "segment" ? scene.keys.segment((elsewhere + 1) % 4, "vip") : control
      _ = try await scene.command("DEL", key)
      _ = try await scene.command("SET", key, "x")
      _ = try await scene.command("SADD", scene.keys.users(elsewhere), "x")
      _ = try await scene.command("HSET", scene.keys.campaign("done"), "finished", 3)
      let kinds = Set(try await scene.check().map(\.kind))
      expect(kinds.isSuperset(of: [.wrongType, .userWithoutDevices, .wrongTotals]), "\(name): \(kinds)")
    }
  }

  /// A crash leaves notes of registrations that did not end, and prunes that were not delivered. Four times as many
  /// need about four times the work, not sixteen times. The test counts the bytes that the server sends, so the result
  /// does not depend on the machine.
  @Test(arguments: [false, true])
  func workGrowsWithWhatACrashLeaves(isOfPrunes: Bool) async throws {
    func bytes(_ count: Int) async throws -> Int {
      let server = try await RedisServer.start()
      let world = try await TestStore(on: .single, partitions: 1, server: server)
      for start in stride(from: 0, to: count, by: 100) {
        let registrations = (start..<(start + 100)).map {
          DeviceRegistration(user: "u\($0)", device: TestStore.device($0))
        }
        if isOfPrunes {
          // The index has the tokens, but no user has the devices.
          try await world.store.registry.register(registrations)
          try await world.command("DEL", world.keys.moving(0))
        } else {
          _ = try await world.store.registry.bind(world.batch(registrations))
        }
      }
      if isOfPrunes {
        for key in [world.keys.devices(0), world.keys.users(0)] { try await world.command("DEL", key) }
        var pipeline = RedisPipeline()
        for number in 0..<count {
          let head = DeviceNotice.Head(at: 1, service: "apns", app: "news", campaign: "a")
          let notice = DeviceNotice(
            head: head, action: .pruned, reason: ReasonCode(rawValue: 1), unknownReason: "", instant: 2000,
            token: TestStore.token(number), user: "u\(number)")
          pipeline.append("RPUSH", world.keys.outbox(0), notice.bytes)
        }
        for reply in try await world.redis.execute(pipeline) { try reply.get() }
      }
      func sent() async throws -> Int {
        let line = try await server.command("info", "stats").split(whereSeparator: \.isNewline).first {
          $0.hasPrefix("total_net_output_bytes:")
        }
        return try #require(line.flatMap { Int($0.split(separator: ":")[1]) })
      }
      let before = try await sent()
      var findings: [StoreFinding] = []
      _ = try await world.store.repair.check(pause: CheckScene.pause) { findings += $0 }
      expect(findings.isEmpty == isOfPrunes && findings.allSatisfy { $0.kind == .unfinishedRegistration })
      let work = try await sent() - before
      if !isOfPrunes, count == Self.few {
        _ = try await world.store.repair.check(repairing: true, pause: CheckScene.pause) { _ in }
        expect(try await world.store.registry.user("u\(count - 1)")?.devices.count, is: 1)
      }
      await world.redis.close()
      await server.stop()
      return work
    }
    let (few, many) = (try await bytes(Self.few), try await bytes(4 * Self.few))
    expect(many < 7 * few, "\(few) bytes of \(Self.few) registrations, \(many) of four times as many")
  }

  /// There are several pages, so repeated reads for each page would show.
  private static let few = 1000
}
