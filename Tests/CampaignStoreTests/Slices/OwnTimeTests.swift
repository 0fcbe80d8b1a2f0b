@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Targets with a time of their own. The seal orders them by time, and each is granted when its time has come.
@Suite(.takesTurns) struct OwnTimeTests {

  /// - Parameter zones: offsets of made-up zones, by name.
  private func world(
    _ backend: Backend, partitions: Int = 1, _ zones: [String: Int]
  ) async throws -> (world: TestStore, folder: ScratchFolder) {
    let folder = try ScratchFolder()
    try ZoneFile.write(zones, to: folder.url)
    return (
      try await TestStore(on: backend, partitions: partitions, zones: ZoneDatabase(folder: folder.url.path)), folder
    )
  }

  private func register(_ world: TestStore, _ zones: [(zone: String, attributes: String)]) async throws {
    try await world.store.registry.register(
      zones.enumerated().map { number, user in
        var device = TestStore.device(number)
        device.timezone = user.zone
        return DeviceRegistration(user: "u\(number)", device: device, attributes: Array(user.attributes.utf8))
      })
  }

  private func expand(_ world: TestStore, _ campaign: Campaign, partition: Int = 0, now: Int = 0) async throws -> (
    ledger: SliceLedger, targets: SealedTargets
  ) {
    let ledger = try await world.claimed(campaign.id, partition).ledger
    let filter = TestStore.filter(
      of: campaign, start: try #require(try await world.store.campaigns.find(campaign.id)).start)
    let targets = try #require(
      try await world.store.expansion.expand(ledger, of: campaign, filter: filter, now: now))
    return (ledger, targets)
  }

  /// Moves the times of some steps into the past, so that their targets are due without a wait.
  private func letPass(_ times: SendTimes, steps: Int, _ world: TestStore, _ id: String) async throws {
    let passed = SendTimes(
      steps: times.steps.enumerated().map { number, step in
        SendTimes.Step(first: step.first, due: number < steps ? 1 + number : step.due, zone: step.zone)
      }, zones: times.zones)
    try await world.command("HSET", world.keys.slice(0, of: id), "times", passed.bytes, "readyAt", 1)
  }

  /// One read returns fewer targets than there are between the two devices.
  @Test func previewHasTheDevicesOfAUserInSeveralZones() async throws {
    let (world, folder) = try await world(.cluster, ["Test/A": 0, "Test/B": -3600])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<1100).map { (zone: $0 < 550 ? "Test/A" : "Test/B", attributes: "") })
    for (number, zone) in [(0, "Test/A"), (2000, "Test/B")] {
      var device = TestStore.device(number)
      device.timezone = zone
      try await world.store.registry.register([DeviceRegistration(user: "u0", device: device)])
    }
    let tomorrow = WallTime.format(try await world.store.time() / 1_000_000 + 86400)
    let campaign = try await world.activate(
      "a", #","sendAt":"\#(tomorrow)","localTime":true,"defaultTimezone":"UTC""#)
    _ = try await expand(world, campaign)
    let filter = TestStore.filter(
      of: campaign, start: try #require(try await world.store.campaigns.find(campaign.id)).start)
    let legs = try await world.store.campaigns.targets(of: "u0", in: [campaign], filter: filter, isNew: false)
    let known = try #require(legs.first)
    expect(known.isSealed && known.positions.count == 2)
    let tokens = Set(known.positions.map { Array(known.chunk.token($0)) })
    expect(tokens, is: Set([0, 2000].map { TestStore.device($0).token }))
  }

  // MARK: Comparison with a reference

  /// 4,000 users in all kinds of zones, with hours of their own or none. The reference reads their clocks minute by
  /// minute to find when each is due.
  @Test(arguments: Backend.pair(for: "dueTimesAreThoseAtWhichClocksShowThem"))
  func dueTimesAreThoseAtWhichClocksShowThem(on backend: Backend) async throws {
    var seed = Seed("dueTimesAreThoseAtWhichClocksShowThem")
    let system = ZoneDatabase.system
    guard system.isThere else { return }
    // Zones with a change in this night, with half hours, quarter hours, and at both ends of the world.
    let names = [
      "Europe/Berlin", "Europe/London", "America/New_York", "America/St_Johns", "Asia/Kathmandu", "Asia/Kolkata",
      "Australia/Lord_Howe", "Pacific/Kiritimati", "Etc/GMT+12", "Africa/Casablanca", "", "Nowhere/Land",
      "../etc/passwd",
    ]
    let world = try await TestStore(on: backend, partitions: 4)
    let users = (0..<4000).map { _ -> (zone: String, attributes: String) in
      let hour = Int.random(in: 0..<24, using: &seed)
      let attributes = ["", #"{"hour":\#(hour)}"#, #"{"hour":"\#(hour):30"}"#, #"{"hour":"late"}"#]
      return (names.randomElement(using: &seed) ?? "", attributes.randomElement(using: &seed) ?? "")
    }
    try await register(world, users)
    // Clocks in Europe change in this night at 01:00 UTC, and those in America and Australia shortly before.
    for (id, more) in [
      ("fixed", #","sendAt":"2027-03-28T02:30:00","localTime":true,"defaultTimezone":"Asia/Tokyo""#),
      ("own", #","sendAt":"2027-03-28T09:15:00","localTime":{"attribute":"hour"},"defaultTimezone":"Asia/Tokyo""#),
    ] {
      let campaign = try await world.activate(id, more)
      var found: [Int: Int] = [:]
      for partition in 0..<4 {
        let (ledger, targets) = try await expand(world, campaign, partition: partition)
        let times = try #require(targets.times)
        expect(times.steps.map(\.due), is: times.steps.map(\.due).sorted())
        let chunk = try await ledger.targets(from: 0, count: targets.count)
        expect(chunk.count, is: targets.count)
        for position in 0..<chunk.count {
          let user = try #require(Int(String(decoding: chunk.user(position).dropFirst(), as: UTF8.self)))
          expect(found.updateValue(times.step(of: position).due, forKey: user), is: nil)
        }
        expect(SendTimes(times.bytes[...]), is: times)
      }
      expect(found.count, is: users.count)
      var known: [String: Int] = [:]
      for (number, user) in users.enumerated() {
        let key = user.zone + (id == "own" ? user.attributes : "")
        if known[key] == nil { known[key] = try due(user, isOwn: id == "own", system) }
        if found[number] != known[key] {
          Issue.record("\(id), \(user): \(found[number] ?? 0), not \(known[key] ?? 0)")
        }
      }
    }
  }

  /// Returns the time in ms at which the clock of a user shows the send time, found by watching the clock.
  private func due(_ user: (zone: String, attributes: String), isOwn: Bool, _ zones: ZoneDatabase) throws -> Int {
    let day = try #require(Timestamp.milliseconds("2027-03-28T00:00:00Z")) / 1000
    var wall = day + (isOwn ? 9 * 3600 + 900 : 2 * 3600 + 1800)
    let digits = user.attributes.split { !$0.isNumber }.compactMap { Int($0) }
    if isOwn, let hour = digits.first { wall = day + hour * 3600 + (digits.count > 1 ? 1800 : 0) }
    let rules = try #require(zones.rules(user.zone) ?? zones.rules("Asia/Tokyo"))
    var instant = day - 15 * 3600
    while instant + rules.offset(at: instant) < wall { instant += 60 }
    return instant * 1000
  }

  // MARK: Grants

  @Test(arguments: Backend.allCases)
  func targetsAreGrantedWhenTheirTimeHasComeAndNotBefore(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, ["A": 0, "B": 3600, "C": -3600])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<300).map { (["A", "B", "C"][$0 % 3], "") })
    // The clocks farthest east have reached the send time, so the campaign has begun.
    let soon = WallTime.format(try await world.store.time() / 1_000_000 + 43200)
    let campaign = try await world.activate("a", #","sendAt":"\#(soon)","localTime":true"#)
    expect(try await world.store.campaigns.find("a")?.state, is: .active)
    let (ledger, targets) = try await expand(world, campaign)
    let times = try #require(targets.times)
    expect(times.steps.map(\.first), is: [0, 100, 200])
    expect(zip(times.steps, times.steps.dropFirst()).allSatisfy { $1.due - $0.due == 3_600_000 })
    var answer = try await ledger.commit(credit: 500)
    expect(answer.granted == 0 && answer.later == 300 && answer.waiting == 0)
    // Zone B is first, in 11 hours.
    let hour = 3_600_000
    let nextRetry = try #require(answer.nextRetry)
    expect(nextRetry >= 10 * hour && nextRetry <= 11 * hour + 60_000)
    let shown = try #require(try await world.store.campaigns.show("a"))
    expect(shown.counters.later == 300 && shown.times.next == times.steps[0].due && shown.pending == 300)

    try await letPass(times, steps: 1, world, "a")
    answer = try await ledger.commit(credit: 30)
    expect(answer.granted == 30 && answer.later == 200)
    answer = try await ledger.commit(credit: 500)
    expect(answer.granted == 100 && answer.later == 200)
    // The next owner gets the number of waiting targets and their times.
    try await ledger.unclaim()
    let next = try await world.claimed("a")
    expect(next.progress.later == 200 && next.progress.granted == 100 && next.progress.inDoubt == 100)
    expect(next.progress.times?.steps.count, is: 3)
    guard case .unfinished = try await next.ledger.close(.finish) else {
      Issue.record("a slice with targets left was closed")
      return
    }
    try await letPass(times, steps: 3, world, "a")
    var nothing = OutcomeBatch()
    let request = CommitRequest(
      seal: next.progress.seal, expected: .acknowledged(next.progress.version), credit: 500)
    let last = try await next.ledger.commit(&nothing, request)
    expect(last.granted == 300 && last.later == 0 && last.nextRetry == nil)
    expect(try await world.store.campaigns.show("a")?.counters.later, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func cancelEndsTargetsThatWaitForTheirTime(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, ["A": 0])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<10).map { _ in ("A", "") })
    let tomorrow = WallTime.format(try await world.store.time() / 1_000_000 + 86400)
    let campaign = try await world.activate("a", #","sendAt":"\#(tomorrow)","localTime":true"#)
    let (ledger, _) = try await expand(world, campaign)
    expect(try await ledger.commit(credit: 500).later, is: 10)
    guard case .closed(let counters) = try await ledger.close(.cancel) else {
      Issue.record("it was not closed")
      return
    }
    expect(counters.targets == 10 && counters.outcomes == [.cancelled: 10] && counters.later == 0)
  }

  @Test(arguments: Backend.allCases)
  func lostSealIsRestoredWithItsTimes(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, ["A": 0, "B": 7200])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<20).map { (["A", "B"][$0 % 2], "") })
    let tomorrow = WallTime.format(try await world.store.time() / 1_000_000 + 86400)
    let campaign = try await world.activate("a", #","sendAt":"\#(tomorrow)","localTime":true"#)
    let (ledger, targets) = try await expand(world, campaign)
    try await world.command("DEL", world.keys.slice(0, of: "a"))
    try await world.command("DEL", world.keys.targets(0, "a"))
    _ = try await ledger.claim(worker: "w")
    expect(try await world.store.expansion.restore(targets, of: ledger))
    guard case .claimed(let progress) = try await ledger.claim(worker: "w") else {
      Issue.record("it could not be claimed")
      return
    }
    expect(progress.times == targets.times && progress.later == 20)
    expect(try await ledger.commit(credit: 500).granted, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func damagedTimesAreReported(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, ["A": 0])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<10).map { _ in ("A", "") })
    let tomorrow = WallTime.format(try await world.store.time() / 1_000_000 + 86400)
    let campaign = try await world.activate("a", #","sendAt":"\#(tomorrow)","localTime":true"#)
    let (ledger, _) = try await expand(world, campaign)
    for (field, value) in [("ready", "x"), ("readyAt", "-1"), ("ready", "11")] {
      try await world.command("HSET", world.keys.slice(0, of: "a"), "ready", 0, "readyAt", 5)
      try await world.command("HSET", world.keys.slice(0, of: "a"), field, value)
      try await world.command("HSET", world.keys.slice(0, of: "a"), "times", "")
      let error = await #expect(throws: StoreError.self) { _ = try await ledger.commit(credit: 5) }
      expect(error?.code, is: .damaged)
    }
  }

  @Test(arguments: Backend.wholeWay)
  func batchesObeyTheTimes(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, partitions: 8, ["A": 0, "B": -14400])
    defer { withExtendedLifetime(folder) {} }
    try await register(world, (0..<60).map { (["A", "B"][$0 % 2], "") })
    // The clock of A has reached the send time. The clock of B reaches it in four hours.
    let soon = WallTime.format(try await world.store.time() / 1_000_000 - 60)
    let campaign = try await world.activate("a", #","sendAt":"\#(soon)","localTime":true"#)
    let ledgers = (0..<8).map {
      SliceLedger(
        store: world.store, slice: SliceReference(campaign: "a", partition: $0), lease: TestStore.timeout, app: "news")
    }
    let start = try #require(try await world.store.campaigns.find("a")).start
    var batch = SliceBatch(
      ledgers, store: world.store.pinned(), of: campaign, filter: TestStore.filter(of: campaign, start: start))
    _ = try await batch.claim(worker: "w", gracePeriod: 0)
    let counts = try await batch.expand(Array(0..<8)).map { try $0.get() ?? 0 }
    expect(counts.reduce(0, +), is: 60)
    var (granted, later) = (0, 0)
    for answer in try await batch.seal((0..<8).map { ($0, counts[$0]) }) {
      granted += try answer.get().commit?.granted ?? 0
      later += try answer.get().commit?.later ?? 0
    }
    expect(granted == 30 && later == 30)
  }

  @Test(arguments: Backend.wholeWay)
  func usersWithinALimitHaveTheirTimes(on backend: Backend) async throws {
    let (world, folder) = try await world(backend, ["A": 0, "B": -14400])
    defer { withExtendedLifetime(folder) {} }
    try await world.store.registry.register(
      (0..<40).map { number in
        var device = TestStore.device(number)
        device.timezone = number % 2 == 0 ? "A" : "B"
        device.lastSeen = UInt64(2000 + number)
        return DeviceRegistration(user: "u\(number)", device: device)
      })
    let soon = WallTime.format(try await world.store.time() / 1_000_000 - 60)
    let campaign = try await world.activate("a", #","sendAt":"\#(soon)","localTime":true"#)
    let ledger = try await world.claimed("a").ledger
    let filter = TestStore.filter(of: campaign, start: try #require(try await world.store.campaigns.find("a")).start)
    let targets = try #require(try await world.store.expansion.expand(ledger, of: campaign, filter: filter, quota: 10))
    expect(targets.count == 10 && targets.times?.steps.map(\.first) == [0, 5])
    expect(targets.audience.users == 10 && targets.audience[.overLimit] == 30)
    let chunk = try await ledger.targets(from: 0, count: 10)
    let users = (0..<10).compactMap { Int(String(decoding: chunk.user($0).dropFirst(), as: UTF8.self)) }
    expect(Set(users) == Set(30..<40) && users[..<5].allSatisfy { $0 % 2 == 0 })
  }

  @Test func namesOfZonesCannotNameOtherFiles() {
    for name in ["", "/etc/passwd", "../passwd", "a/../b", ".hidden", "a//b", "a b", "a\0b", "-x", "é"] {
      expect(!ZoneDatabase.isName(name))
      expect(ZoneDatabase.system.rules(name), is: nil)
    }
    for name in ["Europe/Berlin", "Etc/GMT+12", "America/Argentina/Buenos_Aires", "Etc/GMT-14"] {
      expect(ZoneDatabase.isName(name))
    }
    // An older store may have abbreviations. The database has files with these names.
    for name in ["EST", "MST", "HST"] { expect(ZoneDatabase.system.rules(name), is: nil, "\(name)") }
    let nowhere = ZoneDatabase(folder: "/nowhere")
    expect(!nowhere.isThere && nowhere.rules("UTC") == .utc && nowhere.rules("Europe/Berlin") == nil)
  }
}
