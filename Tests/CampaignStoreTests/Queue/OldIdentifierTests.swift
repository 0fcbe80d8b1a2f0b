@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// A store of an older version with user ids in forms that no lookup uses today. The tests cover the findings of
/// `store check` and the state of the store after its repair.
@Suite(.takesTurns) struct OldIdentifierTests {
  /// A form in which an older version may have stored an id.
  struct Form: Sendable, CustomTestStringConvertible {
    let name: String
    let of: @Sendable (String) -> String

    var testDescription: String { name }

    static let present = Form(name: "present") { $0 }
    static let all = [
      Form(name: "leading blank") { " " + $0 }, Form(name: "trailing blank") { $0 + " " },
      Form(name: "tab and line feed") { "\t\($0)\n" },
      Form(name: "NFD") { $0.decomposedStringWithCanonicalMapping },
      Form(name: "blank and NFD") { " " + $0.decomposedStringWithCanonicalMapping },
    ]
  }

  private static let optOuts = SuppressionList(app: "news").segment
  private static let offers = SuppressionList(app: "news", category: "offers").segment

  private func check(_ world: TestStore, repairing repairs: Bool = false) async throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    // Nothing changes during the check.
    _ = try await world.store.repair.check(repairing: repairs, pause: .zero) { findings += $0 }
    return findings
  }

  /// Writes users of every kind of key, each under a form of the id.
  ///
  /// - Parameter now: ms since the epoch; all times of the scene are a little before it.
  private func populate(_ world: TestStore, _ form: Form, now: Int) async throws {
    let (store, id) = (world.store, form.of)
    func device(_ number: Int) -> DeviceRecord { TestStore.device(number, registeredAt: UInt64(now - 9000)) }
    let name = { (text: String) in Array(#"{"name":"\#(text)"}"#.utf8) }
    try await store.registry.register([
      DeviceRegistration(user: id("adé"), device: device(1)), DeviceRegistration(user: id("bé"), device: device(2)),
      DeviceRegistration(user: id("bé"), device: device(3), attributes: name("B")),
      DeviceRegistration(user: "cé", device: device(4)), DeviceRegistration(user: "dé", device: device(5)),
      DeviceRegistration(user: "eé", device: device(6)),
      DeviceRegistration(user: id("eé"), device: device(7), attributes: name("E")),
    ])
    // Opt-outs of a user with the old form, and of one who has devices under the present form.
    let optOut = MembershipStatement(isMember: true, at: now - 5000)
    try await store.audiences.set([id("adé"): optOut, id("cé"): optOut], in: Self.optOuts)
    try await store.audiences.set([id("dé"): optOut], in: Self.offers)
    try await store.audiences.set([id("bé"): optOut, id("dé"): optOut, "nobody": optOut], in: "vip")
    // A device in quarantine.
    let head = DeviceNotice.Head(at: UInt64(now), service: "apns", app: "news", campaign: "a")
    let notice = DeviceNotice(
      head: head, action: .quarantine, reason: ReasonCode(rawValue: 1), unknownReason: "", instant: UInt64(now),
      token: [], user: id("bé"))
    _ = try await store.registry.apply([
      Registry.DeviceEdit(
        user: id("bé"), token: Registry.OwnedToken(TestStore.token(2), TestStore.service.name),
        action: .quarantine, instant: now, note: notice.bytes)
    ])
    // Both forms have attributes and badges, and the newer statement wins. The test makes two calls, because both forms
    // may be equal as texts.
    try await store.registry.apply([
      RegistrationEvent(.attributes(user: "eé", ["city": "Ulm"]), at: now - 4000),
      RegistrationEvent(.badge(user: "hé", app: "news", value: 9), at: now - 4000),
      RegistrationEvent(.badge(user: "ié", app: "news", value: 9), at: now - 5000),
    ])
    try await store.registry.apply([
      RegistrationEvent(.attributes(user: id("eé"), ["city": "Bonn", "plan": nil]), at: now - 5000),
      RegistrationEvent(.attributes(user: id("fé"), ["name": "F"]), at: now - 5000),
      RegistrationEvent(.badge(user: id("bé"), app: "news", value: 3), at: now - 5000),
      RegistrationEvent(.badge(user: id("hé"), app: "news", value: 2), at: now - 5000),
      RegistrationEvent(.badge(user: id("ié"), app: "news", value: 2), at: now - 4000),
    ])
    // Campaigns that reached the users count against their caps.
    for (user, campaign, isRetained) in [(id("eé"), "old", false), (id("gé"), "other", true)] {
      let time = UserPressure.Time(at: now / 1000 - 5, category: [0, 0, 0, 0], campaign: NameDigest.bytes(campaign))
      let partition = Partition.of(user: user, count: world.keys.partitions)
      try await world.command(
        "HSET", world.keys.pressure(partition), user, UserPressure.record(app: "news", badge: 2, times: [time]))
      if isRetained { try await world.command("ZADD", world.keys.retained(partition), now, user) }
    }
  }

  /// Returns the contents of the store, without the counters of moved tokens and users.
  private func lines(_ world: TestStore) async throws -> [String] {
    let counts = [":departures ", ":taken ", ":removals ", ":devices "]
    var lines = try await StoreDump(world: world, names: [:]).lines().filter { line in
      !counts.contains { line.contains($0) }
    }
    // The order of a user's devices has no meaning.
    try await world.store.registry.forEachUser { users in
      for user in users {
        let devices = user.devices.sorted { $0.token.lexicographicallyPrecedes($1.token) }
        lines.append("\(StoreDump.plain(Array(user.user.utf8))): \(devices)")
      }
    }
    return lines.sorted()
  }

  /// Returns the users who have a device and whose exact id is not on the app's suppression list.
  private func exposed(_ world: TestStore, among users: [String]) async throws -> [String] {
    var exposed: [String] = []
    for user in users {
      let partition = Partition.of(user: user, count: world.keys.partitions)
      let has = try await world.command("HEXISTS", world.keys.devices(partition), user).integer == 1
      let isOut = try await world.command("SISMEMBER", world.keys.segment(partition, Self.optOuts), user).integer == 1
      if has, !isOut { exposed.append(user) }
    }
    return exposed
  }

  @Test(arguments: Form.all)
  func repairedStoreEqualsAStoreInThePresentForm(form: Form) async throws {
    let (old, present) = (try await TestStore(on: .cluster), try await TestStore(on: .cluster))
    let now = try await old.store.time() / 1000
    try await populate(old, form, now: now)
    try await populate(present, .present, now: now)
    let expected = try await lines(present)
    expect(try await check(present).isEmpty)

    let found = try await check(old)
    expect(found.allSatisfy { $0.standing == .repairable }, "\(found)")
    let members = found.filter { $0.kind == .unnormalizedMember }
    expect(members.count == 5 && members.count { $0.problem.contains("can get pushes") } == 3, "\(members)")
    expect(found.count { $0.kind == .unnormalizedUser }, is: 7, "\(found)")
    expect(found.count, is: 12)

    let repaired = try await check(old, repairing: true)
    expect(repaired.count == 12 && repaired.allSatisfy { $0.standing == .repaired }, "\(repaired)")
    expect(try await check(old).isEmpty)
    let difference = Set(try await lines(old)).symmetricDifference(expected)
    expect(difference.isEmpty, "\(difference.sorted())")
  }

  /// The same repair, with a process that ends before each step that writes. In the meantime, a user who has opted out
  /// can't be reached.
  @Test func aRepairThatIsKilledAtAnyStepIsCompletedByTheNext() async throws {
    let form = Form(name: "trailing blank and NFD") { $0.decomposedStringWithCanonicalMapping + " " }
    // A server of its own counts the writes of this test only.
    let server = try await RedisServer.start()
    let present = try await TestStore(on: .single, partitions: 2, server: server)
    let now = try await present.store.time() / 1000
    try await populate(present, .present, now: now)
    let expected = try await lines(present)
    let old = try await TestStore(on: .single, partitions: 2, server: server)
    try await populate(old, form, now: now)
    let steps = Steps()
    try await StoreSteps.$beforeEach.withValue({
      guard steps.next(writes: try await writes(old)) else { return }
      let reachable = try await exposed(old, among: [form.of("adé"), "adé"])
      expect(reachable.isEmpty, "before step \(steps.count)")
    }) {
      _ = try await check(old, repairing: true)
    }
    expect(Set(try await lines(old)), is: Set(expected))
    expect(steps.deaths.count > 10, "\(steps.deaths) of \(steps.count)")

    for death in steps.deaths {
      for key in try await old.keyNames("{\(old.keys.namespace):*") { try await old.command("DEL", key) }
      try await populate(old, form, now: now)
      let left = Steps(until: death)
      await #expect(throws: Steps.Killed.self) {
        try await StoreSteps.$beforeEach.withValue({ try left.pass() }) { _ = try await check(old, repairing: true) }
      }
      _ = try await check(old, repairing: true)
      let difference = Set(try await lines(old)).symmetricDifference(expected)
      expect(difference.isEmpty, "killed before step \(death): \(difference.sorted())")
    }
    await present.redis.close()
    await old.redis.close()
    await server.stop()
  }

  /// The number of writes that the server has counted.
  private func writes(_ world: TestStore) async throws -> Int {
    let line = try await world.command("INFO", "persistence").string?.split(whereSeparator: \.isNewline).first {
      $0.hasPrefix("rdb_changes_since_last_save:")
    }
    return try #require(line.flatMap { Int($0.split(separator: ":")[1]) })
  }

  /// A row: the statements about both forms, and the result of the repair.
  private struct Statements {
    var old: Int?
    /// The statement about the present form: whether it is a member, and when, in ms before now.
    var present: (isMember: Bool, at: Int)?
    var list = OldIdentifierTests.optOuts
    var isErased = false
    /// The time of the final membership, in ms before now; 0 for an unknown time, `nil` for no member.
    var expected: Int?
  }

  private static let statements = [
    Statements(old: 5000, expected: 5000),
    Statements(old: 5000, present: (true, 4000), expected: 4000),
    Statements(old: 4000, present: (true, 5000), expected: 4000),
    // A newer opt-in wins. If the times are equal, the opt-out wins.
    Statements(old: 5000, present: (false, 4000), expected: nil),
    Statements(old: 5000, present: (false, 5000), expected: 5000),
    Statements(old: 4000, present: (false, 5000), expected: 4000),
    Statements(old: nil, expected: 0),
    Statements(old: nil, present: (true, 5000), expected: 5000),
    Statements(old: nil, present: (false, 5000), expected: nil),
    Statements(old: 5000, isErased: true, expected: nil),
    Statements(old: 5000, list: "vip", expected: 5000),
    Statements(old: 5000, present: (false, 5000), list: "vip", expected: nil),
  ]

  @Test func latestStatementAboutBothFormsWins() async throws {
    let world = try await TestStore(on: .cluster)
    let now = try await world.store.time() / 1000
    for (number, row) in Self.statements.enumerated() {
      let (old, user) = (" s\(number)", "s\(number)")
      if row.isErased { _ = try await world.store.erasure.erase(user) }
      if let at = row.old {
        try await world.store.audiences.set([old: MembershipStatement(isMember: true, at: now - at)], in: row.list)
      } else {
        let partition = Partition.of(user: old, count: world.keys.partitions)
        try await world.command("SADD", world.keys.segment(partition, row.list), old)
        try await world.command("SADD", world.keys.segments, row.list)
      }
      if let present = row.present {
        try await world.store.audiences.set(
          [user: MembershipStatement(isMember: present.isMember, at: now - present.at)], in: row.list)
      }
    }
    let repaired = try await check(world, repairing: true)
    expect(repaired.count == Self.statements.count && repaired.allSatisfy { $0.standing == .repaired }, "\(repaired)")
    for (number, row) in Self.statements.enumerated() {
      let user = "s\(number)"
      let partition = Partition.of(user: user, count: world.keys.partitions)
      let isMember = try await world.command("SISMEMBER", world.keys.segment(partition, row.list), user).integer == 1
      let at = try await world.command("ZSCORE", world.keys.stated(partition, row.list), user).string.flatMap {
        Int($0)
      }
      expect(isMember, is: row.expected != nil, "row \(number)")
      if let expected = row.expected { expect(at, is: expected == 0 ? nil : now - expected, "row \(number)") }
    }
  }

  /// Ids that no reader accepts are reported with the risk and a hint. They stay unchanged.
  @Test(arguments: ["\u{200B}zoe", "zoe\u{FEFF}", "\u{A0}zoe", " ", "zoe\u{1}"])
  func anUnusableIDIsNamedAndNeverRemoved(id: String) async throws {
    let world = try await TestStore(on: .cluster)
    try await world.store.audiences.add([id], to: Self.optOuts)
    try await world.store.registry.register([DeviceRegistration(user: id, device: TestStore.device(1))])
    let before = try await lines(world)
    for repairs in [false, true] {
      let found = try await check(world, repairing: repairs)
      expect(found.map(\.kind), is: [.unusableID, .unusableID])
      expect(found.allSatisfy { $0.standing == .open && $0.hint.contains("SREM") })
      expect(found.contains { $0.problem.contains("can get pushes") })
      expect(try await lines(world), is: before)
    }
  }

  /// An erasure that has not ended uses the ids with which it began, so the old form stays on its lists until then.
  @Test func userWithAnUnfinishedErasureIsSkipped() async throws {
    let world = try await TestStore(on: .cluster)
    try await world.store.registry.register([DeviceRegistration(user: " x", device: TestStore.device(1))])
    try await world.store.audiences.add([" x"], to: Self.optOuts)
    try await world.command("HSET", world.keys.erasing, " x", "{}")
    let found = try await check(world, repairing: true)
    expect(found.map(\.kind), is: [.unnormalizedUser, .unnormalizedMember])
    expect(found.allSatisfy { $0.standing == .open && $0.hint.contains("--repair again") })
    expect(try await world.store.registry.user(" x")?.devices.count, is: 1)
    expect(try await exposed(world, among: [" x", "x"]).isEmpty)
    try await world.command("HDEL", world.keys.erasing, " x")
    expect(try await check(world, repairing: true).map(\.standing), is: [.repaired, .repaired])
    expect(try await world.store.registry.user("x")?.devices.count, is: 1)
    expect(try await exposed(world, among: [" x", "x"]).isEmpty)
  }

  /// Before the repair a campaign reaches a user whose opt-out has another form of the id. After the repair it does
  /// not.
  @Test(arguments: [false, true])
  func campaignAfterTheRepairRespectsTheOptOut(isDeviceOld: Bool) async throws {
    let world = try await TestStore(on: .cluster, partitions: 1)
    let (device, optOut) = isDeviceOld ? (" ada", "ada") : ("ada", " ada")
    var record = TestStore.device(1)
    record.app = "news"
    try await world.store.registry.register([
      DeviceRegistration(user: device, device: record), DeviceRegistration(user: "bob", device: TestStore.device(2)),
    ])
    try await world.store.audiences.add([optOut], to: Self.optOuts)
    expect(try await world.expandAll("before").chunk.count, is: 2)
    _ = try await check(world, repairing: true)
    let reached = try await world.expandAll("after").chunk
    expect((0..<reached.count).map { String(decoding: reached.user($0), as: UTF8.self) }, is: ["bob"])
  }

  /// A campaign that has sealed its targets withholds the push of a user whose opt-out gets the present form.
  @Test func runningCampaignRespectsTheRepairedOptOut() async throws {
    let world = try await TestStore(on: .cluster, partitions: 1)
    try await world.store.registry.register([DeviceRegistration(user: "ada", device: TestStore.device(1))])
    try await world.store.audiences.add([" ada"], to: Self.optOuts)
    let campaign = try await world.activate("a")
    let rules = GrantRules(app: "news", suppression: [SuppressionList(app: "news")])
    let (ledger, progress) = try await world.claimed("a", rules: rules)
    expect(try await world.expand(ledger, campaign, departures: progress.departures), is: 1)
    _ = try await check(world, repairing: true)
    let chunk = try await ledger.targets(from: 0, count: 1)
    let news = try await ledger.commit(credit: 1).departures
    expect(news?.users, is: [UserFingerprint.of(chunk.user(0))])
  }

  /// A replacement that is being imported keeps the opt-out, as it keeps opt-outs that apps send at the same time.
  @Test func replacementDuringTheRepairKeepsTheOptOut() async throws {
    let world = try await TestStore(on: .cluster)
    try await world.store.audiences.add([" ada"], to: Self.optOuts)
    var replacement = try await world.store.audiences.replacement(of: Self.optOuts)
    _ = try await world.store.audiences.add(["bob"], to: &replacement)
    _ = try await check(world, repairing: true)
    expect(try await world.store.audiences.putInForce(replacement))
    for user in ["ada", "bob"] {
      expect(try await world.store.audiences.lists(of: user).suppression, is: [SuppressionList(app: "news")])
    }
  }
}

/// The steps of a caller of a store. Records which steps follow a write, and ends the caller before one of the steps.
private final class Steps: Sendable {
  /// Error that ends the caller.
  struct Killed: Error {}

  private struct State {
    var count = 0
    var writes: Int?
    var deaths: [Int] = []
  }

  private let state = Mutex(State())
  /// The step before which the caller ends.
  private let last: Int

  init(until last: Int = .max) { self.last = last }

  /// The number of steps.
  var count: Int { state.withLock(\.count) }
  /// The steps that follow a write.
  var deaths: [Int] { state.withLock(\.deaths) }

  /// Records a step.
  ///
  /// - Parameter writes: the server's number of writes before the step.
  /// - Returns: whether there was a write since the previous step.
  func next(writes: Int) -> Bool {
    state.withLock { state in
      state.count += 1
      defer { state.writes = writes }
      guard let known = state.writes, known != writes else { return false }
      state.deaths.append(state.count)
      return true
    }
  }

  /// Ends the caller before its last step.
  func pass() throws {
    let count = state.withLock { state in
      state.count += 1
      return state.count
    }
    if count == last { throw Killed() }
  }
}
