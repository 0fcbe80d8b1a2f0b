@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import Testing

/// Events of the registrations list. `EventHistoryTests` compares random histories of them with a model.
struct RegistrationEventsTests {
  private static let day = 86_400_000

  /// A registry with the user `ada`, and short forms of events.
  private struct Scene {
    let world: TestStore
    /// The time an hour ago, in ms since the epoch.
    let then: Int

    init(on backend: Backend) async throws {
      world = try await TestStore(on: backend)
      then = try await world.store.time() / 1000 - 3_600_000
    }

    func row(_ user: String, _ token: Int, at: Int?, app: String = "news", plan: String? = nil) throws -> DeviceRow {
      var row = DeviceRow(
        user: user, token: try TestStore.deviceToken(token), service: TestStore.service.name, registeredAt: at)
      row.app = app
      if let plan { row.attributes = ["plan": plan] }
      return row
    }

    /// Applies events one by one. Each is a change and its time in ms after ``then``.
    @discardableResult
    func apply(_ events: (RegistrationEvent.Change, Int)...) async throws -> Int {
      var superseded = 0
      for (change, at) in events {
        superseded += try await world.store.registry.apply(
          [RegistrationEvent(change, at: then + at)], lastDeviceOnly: ["shop"])
      }
      return superseded
    }

    func register(_ user: String, _ token: Int, _ at: Int, plan: String? = nil) throws -> (
      RegistrationEvent.Change, Int
    ) { (.register(try row(user, token, at: then + at, plan: plan)), at) }

    func login(_ user: String, _ token: Int, _ at: Int, app: String = "news") throws -> (RegistrationEvent.Change, Int)
    {
      (.login(try row(user, token, at: then + at, app: app)), at)
    }

    func logout(_ user: String, _ token: Int, _ at: Int) throws -> (RegistrationEvent.Change, Int) {
      (.logout(user: user, try TestStore.deviceToken(token), service: TestStore.service.name), at)
    }

    func unregister(_ token: Int, _ at: Int) throws -> (RegistrationEvent.Change, Int) {
      (.unregister(try TestStore.deviceToken(token), service: TestStore.service.name), at)
    }

    func tokens(of user: String) async throws -> [Int] {
      let known = try await world.store.registry.user(user)?.devices.map(\.token) ?? []
      return (0..<10).filter { known.contains(TestStore.token($0)) }
    }

    func lists(of user: String) async throws -> [String] {
      let lists = try await world.store.audiences.lists(of: user)
      return lists.segments + lists.suppression.map(\.segment)
    }
  }

  // MARK: Devices

  @Test(arguments: Backend.allCases)
  func lateLoginDoesNotBringADeviceBack(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    try await scene.apply(scene.register("ada", 1, 0), scene.logout("ada", 1, 10))
    expect(try await scene.apply(scene.login("ada", 1, 5)), is: 1)
    expect(try await scene.tokens(of: "ada"), is: [])
    expect(
      try await scene.apply(scene.login("ada", 1, 10)), is: 1, "the removal wins over a registration of the same time")
    expect(try await scene.tokens(of: "ada"), is: [])
    try await scene.apply(scene.login("ada", 1, 11))
    expect(try await scene.tokens(of: "ada"), is: [1])

    try await scene.apply(scene.unregister(1, 20))
    expect(try await scene.apply(scene.login("ben", 1, 15), scene.register("ada", 1, 20)), is: 2)
    expect(try await scene.tokens(of: "ada") + scene.tokens(of: "ben"), is: [])

    try await scene.apply(scene.register("ada", 2, 30))
    _ = try await scene.world.store.erasure.erase("ada")
    expect(try await scene.apply(scene.login("ada", 2, 31), scene.register("ada", 3, 32)), is: 2)
    expect(try await scene.tokens(of: "ada"), is: [])
    // A user who logs in afterwards is registered again.
    let erased = try await scene.world.store.time() / 1000
    while try await scene.world.store.time() / 1000 <= erased {}
    try await scene.apply(scene.login("ada", 2, erased + 1 - scene.then))
    expect(try await scene.tokens(of: "ada"), is: [2])
  }

  @Test(arguments: Backend.allCases)
  func lateLogoutDoesNotTakeADeviceAway(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    try await scene.apply(scene.register("ada", 1, 0))
    expect(try await scene.apply(scene.logout("ada", 1, -300 * Self.day), scene.unregister(1, -1)), is: 2)
    expect(try await scene.tokens(of: "ada"), is: [1])
    expect(
      try await scene.world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: ["ada"])
    // The logout may also arrive before the login.
    try await scene.apply(scene.logout("ben", 2, 5))
    try await scene.apply(scene.login("ben", 2, 6))
    expect(try await scene.tokens(of: "ben"), is: [2])
  }

  @Test(arguments: Backend.allCases)
  func lateRegistrationDoesNotPassATokenOnThatMovedLater(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    try await scene.apply(scene.register("ada", 1, 0), scene.register("ben", 1, 10), scene.logout("ben", 1, 20))
    expect(try await scene.apply(scene.register("cy", 1, 5), scene.register("ada", 1, 7)), is: 2)
    for user in ["ada", "ben", "cy"] { expect(try await scene.tokens(of: user), is: []) }
    try await scene.apply(scene.register("cy", 1, 15))
    expect(try await scene.tokens(of: "cy"), is: [1])
  }

  @Test(arguments: Backend.allCases)
  func earlierDeviceOfAnAppForOneDeviceDoesNotComeBack(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    try await scene.apply(scene.login("ada", 1, 0, app: "shop"), scene.login("ada", 2, 10, app: "shop"))
    expect(try await scene.tokens(of: "ada"), is: [2])
    expect(try await scene.apply(scene.login("ada", 3, 5, app: "shop")), is: 1)
    expect(try await scene.tokens(of: "ada"), is: [2])
  }

  @Test(arguments: Backend.allCases)
  func timeAheadOfRedisIsCutToItsClock(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let (store, now) = (scene.world.store, try await scene.world.store.time() / 1000)
    let ahead = now + 6000 - scene.then
    try await scene.apply(scene.register("ada", 1, ahead))
    expect(try await Int(store.registry.user("ada")?.devices.first?.registeredAt ?? 0) <= store.time() / 1000)
    try await scene.apply(scene.logout("ada", 1, ahead))
    expect(try await scene.tokens(of: "ada"), is: [])
    // An import has a time in 2126.
    var device = TestStore.device(2, registeredAt: UInt64(now + 100 * 365 * Self.day))
    device.lastSeen = device.registeredAt
    try await store.registry.register([DeviceRegistration(user: "ada", device: device)])
    let known = try #require(try await store.registry.user("ada")?.devices.first)
    let later = try await UInt64(store.time() / 1000)
    expect(known.registeredAt <= later && known.lastSeen <= later)
    expect(
      try await store.registry.unregister([TestStore.deviceToken(2)], of: TestStore.service, at: Int(later)), is: [true]
    )
    expect(try await scene.tokens(of: "ada"), is: [])
  }

  // MARK: Lists, attributes, badges

  @Test(arguments: Backend.allCases)
  func lateOptInDoesNotUndoANewerOptOut(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    for list in [SuppressionList(app: "news"), SuppressionList(app: "news", category: "offers")] {
      try await scene.apply((.preference(user: "ada", list, isAllowed: false), 10))
      expect(try await scene.apply((.preference(user: "ada", list, isAllowed: true), 9)), is: 1)
      expect(try await scene.apply((.preference(user: "ada", list, isAllowed: true), 10)), is: 1, "at the same time")
      expect(try await scene.lists(of: "ada"), is: [list.segment])
      try await scene.apply((.preference(user: "ada", list, isAllowed: true), 11))
      expect(try await scene.lists(of: "ada"), is: [])
      expect(try await scene.apply((.preference(user: "ada", list, isAllowed: false), 10)), is: 1)
      try await scene.apply((.preference(user: "ada", list, isAllowed: false), 11))
      expect(try await scene.lists(of: "ada"), is: [list.segment], "the opt-out wins over an opt-in of the same time")
      try await scene.apply((.preference(user: "ada", list, isAllowed: true), 12))
    }
    // A command has the time of its call.
    let list = SuppressionList(app: "news")
    try await scene.world.store.audiences.add(["ada"], to: list.segment)
    expect(try await scene.apply((.preference(user: "ada", list, isAllowed: true), 20)), is: 1)
    expect(try await scene.lists(of: "ada"), is: [list.segment])
  }

  @Test(arguments: Backend.allCases)
  func lateTagDoesNotUndoANewerOne(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    func tag(_ isMember: Bool, _ at: Int) -> (RegistrationEvent.Change, Int) {
      (.tag(user: "ada", segments: ["vip"], isMember: isMember), at)
    }
    try await scene.apply(tag(false, 10))
    expect(try await scene.apply(tag(true, 10)), is: 1)
    expect(try await scene.lists(of: "ada"), is: [])
    try await scene.apply(tag(true, 11))
    expect(try await scene.apply(tag(false, 5)), is: 1)
    expect(try await scene.lists(of: "ada"), is: ["vip"])
    // Only the latest statement of a page counts, at any position.
    let page = [tag(false, 30), tag(true, 20), tag(true, 30)].map { RegistrationEvent($0.0, at: scene.then + $0.1) }
    expect(try await scene.world.store.registry.apply(page), is: 2)
    expect(try await scene.lists(of: "ada"), is: [])
    // Commands, an import and the removal of a segment have the time of their call.
    try await scene.world.store.audiences.add(["ada"], to: "vip")
    expect(try await scene.apply(tag(false, 40)), is: 1)
    expect(try await scene.world.store.audiences.removeSegment("vip"))
    expect(try await scene.apply(tag(true, 50)), is: 1)
    expect(try await scene.world.store.audiences.size(ofSegment: "vip"), is: 0)
  }

  @Test(arguments: Backend.allCases)
  func importThatReplacesIsAStatementOfWhenItBegan(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let store = scene.world.store
    let list = SuppressionList(app: "news").segment
    try await store.audiences.add(["old", "late"], to: list)
    // With equal times, the opt-outs would win over the import.
    let added = try await store.time() / 1000
    while try await store.time() / 1000 <= added {}
    var replacement = try await store.audiences.replacement(of: list)
    _ = try await store.audiences.add(["new", "in", "gone"], to: &replacement)
    // During the import one user opts out and another opts in.
    while try await store.time() / 1000 <= replacement.at {}
    try await store.audiences.add(["out"], to: list)
    _ = try await store.audiences.remove(["in"], from: list)
    _ = try await store.erasure.erase("gone")
    try await store.audiences.putInForce(replacement)
    var members: Set<String> = []
    try await store.audiences.forEachMember(ofSegment: list) { members.formUnion($0) }
    expect(members, is: ["new", "out"])
    // Statements from before the import that arrive later change nothing.
    try await scene.apply((.preference(user: "new", SuppressionList(app: "news"), isAllowed: true), 0))
    try await scene.apply((.preference(user: "old", SuppressionList(app: "news"), isAllowed: false), 0))
    members = []
    try await store.audiences.forEachMember(ofSegment: list) { members.formUnion($0) }
    expect(members, is: ["new", "out"])
    // An older import that ends later changes nothing either. An import that ends twice changes nothing the second
    // time.
    let older = try await store.audiences.replacement(of: list)
    while try await store.time() / 1000 <= older.at {}
    var newer = try await store.audiences.replacement(of: list)
    _ = try await store.audiences.add(["new", "out"], to: &newer)
    expect(try await store.audiences.putInForce(newer))
    expect(try await store.audiences.putInForce(older), is: false)
    expect(try await store.audiences.size(ofSegment: list), is: 2)
  }

  @Test(arguments: Backend.allCases)
  func replacementKeepsPreferencesThatAreNewerThanItsFile(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let store = scene.world.store
    let list = SuppressionList(app: "news")
    func preference(_ user: String, isAllowed: Bool, _ at: Int) -> (RegistrationEvent.Change, Int) {
      (.preference(user: user, list, isAllowed: isAllowed), at)
    }
    // The file has the time `then` + 100. One user opts out before it, two after it, and one opts in again after it.
    try await scene.apply(preference("before", isAllowed: false, 50), preference("same", isAllowed: false, 100))
    try await scene.apply(preference("after", isAllowed: false, 150))
    var replacement = try await store.audiences.replacement(of: list.segment, asOf: scene.then + 100)
    _ = try await store.audiences.add(["listed", "back"], to: &replacement)
    // These statements arrive while the file is read.
    try await scene.apply(preference("meanwhile", isAllowed: false, 200), preference("back", isAllowed: true, 200))
    // The time of these opt-outs is before that of the file. The first user was on the list already.
    try await scene.apply(preference("before", isAllowed: false, 60), preference("overtaken", isAllowed: false, 70))
    try await scene.apply(preference("gone", isAllowed: false, 70), preference("gone", isAllowed: true, 80))
    expect(try await store.audiences.size(of: replacement), is: 2)
    expect(try await store.audiences.putInForce(replacement))
    var members: Set<String> = []
    try await store.audiences.forEachMember(ofSegment: list.segment) { members.formUnion($0) }
    expect(members, is: ["listed", "same", "after", "meanwhile", "before", "overtaken"])
    // For the next import, statements that arrived during this import are old.
    var next = try await store.audiences.replacement(of: list.segment)
    _ = try await store.audiences.add(["listed"], to: &next)
    expect(try await store.audiences.putInForce(next))
    members = []
    try await store.audiences.forEachMember(ofSegment: list.segment) { members.formUnion($0) }
    expect(members, is: ["listed"])
    let ahead = try await store.audiences.replacement(of: "other", asOf: store.time() / 1000 + Self.day)
    expect(try await ahead.at <= store.time() / 1000, "a list is never of the future")
    await #expect(throws: StoreError.self) {
      try await store.audiences.replacement(of: list.segment, asOf: scene.then + 99)
    }
    await #expect(throws: StoreError.self) {
      try await store.audiences.replacement(of: list.segment, asOf: scene.then - 31 * Self.day)
    }
  }

  @Test(arguments: Backend.allCases)
  func lateAttributeOrBadgeDoesNotUndoANewerOne(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    func attribute(_ value: String?, _ at: Int) -> (RegistrationEvent.Change, Int) {
      (.attributes(user: "ada", ["plan": value]), at)
    }
    func plan() async throws -> String? {
      let json = try await scene.world.store.registry.user("ada")?.attributes ?? []
      return json.isEmpty ? nil : String(decoding: json, as: UTF8.self)
    }
    // Attributes may also arrive before the user is known.
    try await scene.apply(attribute("b", 10))
    try await scene.apply(scene.register("ada", 1, 0, plan: "a"))
    expect(try await plan(), is: #"{"plan":"b"}"#)
    expect(try await scene.apply(attribute("c", 9), attribute(nil, 5)), is: 2)
    expect(try await plan(), is: #"{"plan":"b"}"#)
    try await scene.apply(attribute(nil, 20))
    expect(try await scene.apply(attribute("d", 15), attribute("e", 20)), is: 2)
    try await scene.apply(scene.register("ada", 2, 15, plan: "f"))
    expect(try await plan(), is: nil)
    try await scene.apply(scene.register("ada", 2, 25, plan: "g"))
    expect(try await plan(), is: #"{"plan":"g"}"#)
    expect(try await scene.apply(attribute("h", 21)), is: 1)
    expect(try await plan(), is: #"{"plan":"g"}"#)

    try await scene.apply((.badge(user: "ada", app: "news", value: 7), 10))
    expect(try await scene.apply((.badge(user: "ada", app: "news", value: 3), 5)), is: 1)
    expect(try await scene.world.pressure(of: "ada")?.apps["news"]?.badge, is: 7)
    expect(try await scene.apply((.badge(user: "ada", app: "news", value: 9), 10)), is: 1)
    try await scene.apply((.badge(user: "ada", app: "news", value: 0), 11))
    expect(try await scene.apply((.badge(user: "ada", app: "news", value: 4), 10)), is: 1)
    expect(try await scene.world.pressure(of: "ada")?.apps["news"]?.badge, is: 0)
  }

  // MARK: Retention

  @Test(arguments: Backend.allCases)
  func removalsAreForgottenAfterThirtyDays(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let (world, store) = (scene.world, scene.world.store)
    let month = 30 * Self.day
    for (user, at) in [("ada", -month - 2000 * 3600), ("ben", -Self.day)] {
      let token = user == "ada" ? 1 : 2
      try await scene.apply(
        scene.register(user, token, at - 1, plan: "a"), scene.logout(user, token, at), scene.unregister(token, at),
        (.tag(user: user, segments: ["vip"], isMember: false), at))
    }
    // The time since which a user has no device comes from Redis' clock.
    for partition in 0..<world.keys.partitions {
      if try await !world.command("ZSCORE", world.keys.retained(partition), "ada").isNull {
        try await world.command("ZADD", world.keys.retained(partition), 1, "ada")
      }
    }
    try await store.audiences.add(["cy"], to: "vip")
    var forgotten = 0
    for partition in 0..<world.keys.partitions {
      forgotten += try await store.erasure.forgetOldStatements(in: partition)
    }
    expect(forgotten >= 4)
    for partition in 0..<world.keys.partitions {
      expect(try await store.erasure.forgetOldStatements(in: partition), is: 0)
    }
    expect(
      try await scene.apply(scene.register("ada", 1, -month - 3600_000), scene.register("ben", 2, -Self.day)), is: 1)
    expect(try await scene.tokens(of: "ada"), is: [1])
    expect(try await store.registry.user("ada")?.attributes, is: [])
    expect(try await scene.tokens(of: "ben"), is: [])
  }

  @Test(arguments: Backend.allCases)
  func optOutWithoutATimeOverridesOlderOptIns(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let list = SuppressionList(app: "news")
    try await scene.apply((.preference(user: "ada", list, isAllowed: false), -40 * Self.day))
    for partition in 0..<scene.world.keys.partitions {
      try await scene.world.store.erasure.forgetOldStatements(in: partition)
    }
    expect(try await scene.apply((.preference(user: "ada", list, isAllowed: true), -50 * Self.day)), is: 1)
    expect(try await scene.lists(of: "ada"), is: [list.segment])
    try await scene.apply((.preference(user: "ada", list, isAllowed: true), -20 * Self.day))
    expect(try await scene.lists(of: "ada"), is: [])
  }

  @Test(arguments: Backend.allCases)
  func erasureKeepsNoIdOfTheUser(on backend: Backend) async throws {
    let scene = try await Scene(on: backend)
    let world = scene.world
    let user = "someone-to-erase"
    try await scene.apply(
      scene.register(user, 1, 0, plan: "a"), scene.register("ben", 1, 5), scene.register(user, 2, 6),
      (.tag(user: user, segments: ["vip"], isMember: true), 1), (.badge(user: user, app: "news", value: 3), 1),
      (.preference(user: user, SuppressionList(app: "news"), isAllowed: false), 2),
      (.attributes(user: user, ["x": "y"]), 9))
    _ = try await world.store.erasure.erase(user)
    try await scene.apply(
      scene.register(user, 2, 8, plan: "b"), (.tag(user: user, segments: ["vip"], isMember: true), 5),
      (.badge(user: user, app: "news", value: 3), 7), (.attributes(user: user, ["x": "z"]), 11))
    for key in try await world.keyNames("{\(world.keys.namespace)*") {
      let dump = try await world.command("DUMP", key).bytes.map(Array.init) ?? []
      expect(!String(decoding: dump, as: UTF8.self).contains(user), "\(key)")
    }
  }

  // MARK: The list of events

  @Test(arguments: Backend.allCases)
  func onlyTheLeaderTakesEventsOffTheList(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    func page(_ count: Int, after taken: Int = 0) -> Registry.EventPage {
      .init(events: Array(repeating: [], count: count), taken: taken)
    }
    for number in 0..<5 { try await world.command("LPUSH", world.keys.events(.registrations), "e\(number)") }
    expect(try await world.store.registry.events(on: .registrations).events, is: (0..<5).map { Array("e\($0)".utf8) })
    var chance = SystemRandomNumberGenerator()
    let (mine, other) = (
      WorkerInstance(name: "a", using: &chance), WorkerInstance(name: "b", using: &chance)
    )
    expect(try await world.store.registry.takeOff(page(2), .registrations, dead: [], as: mine), is: false)
    expect(try await world.lead(as: mine).events, is: [.registrations])
    expect(try await world.store.registry.takeOff(page(2), .registrations, dead: [], as: other), is: false)
    let dead = Registry.DeadEvent(event: Array("e1".utf8), reason: "registration event: none")
    expect(try await world.store.registry.takeOff(page(2), .registrations, dead: [dead], as: mine))
    // A maintenance leader that lost its lease and got it back has a page that others have taken off.
    expect(try await world.store.registry.takeOff(page(2), .registrations, dead: [], as: mine), is: false)
    expect(try await world.store.registry.events(on: .registrations).events, is: (2..<5).map { Array("e\($0)".utf8) })
    var found: [DeadJob] = []
    try await world.store.queue.forEachDeadJob { found.append($0) }
    let entry = try #require(found.first)
    expect(
      found.count == 1 && entry.list == .registrations && entry.reason == "registration event: none" && entry.id == nil)
    // The event is back on the list, after all later events.
    try await world.store.registry.retryEvent(entry)
    expect(try await world.store.registry.events(on: .registrations).events.last, is: Array("e1".utf8))
    await #expect(throws: StoreError.self) { try await world.store.registry.retryEvent(entry) }
    expect(try await world.store.registry.takeOff(page(4, after: 2), .registrations, dead: [], as: mine))
    expect(try await world.command("EXISTS", world.keys.events(.registrations)).integer, is: 0)
    expect(try await world.lead(as: mine).events, is: [])
  }

  @Test func unchangedAttributesStayByteForByte() {
    let known = Array(#"{"":[5],"a":1.50,"b":[1, 2],"c":"\u00e9","d":12345678901234567890}"#.utf8)
    func changed(_ known: [UInt8], _ changes: [String: String?], at: Int = 9) -> String {
      var attributes = UserAttributes(stored: known)
      _ = attributes.apply(.init(change: .values(changes), at: at))
      return String(decoding: UserAttributes.visible(attributes.stored(horizon: 0)), as: UTF8.self)
    }
    expect(
      changed(known, ["c": nil, "e": "x\"y"]), is: #"{"a":1.50,"b":[1, 2],"d":12345678901234567890,"e":"x\"y"}"#)
    expect(changed(Array(#"{"":[5],"a":"1"}"#.utf8), ["a": nil]), is: "")
    let full = changed(known, Dictionary(uniqueKeysWithValues: (100..<164).map { ("k\($0)", String?.some("v")) }))
    expect(full.contains("k163") && !full.contains("1.50"))
  }
}
