@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestSupport
import Testing

/// A target is granted only if its user still has the device and is on no suppression list that applies.
struct DepartureTests {
  private static let rules = GrantRules(
    app: "news",
    suppression: [SuppressionList(app: "news"), SuppressionList(app: "news", category: "offers")])

  /// Users with one device each, all of the app.
  private func registerUsers(_ numbers: Range<Int>, in world: TestStore) async throws {
    try await world.store.register(
      numbers.map { number in
        var device = TestStore.device(number)
        device.app = "news"
        return DeviceRegistration(user: "u\(number)", device: device)
      })
  }

  private func sealed(_ id: String, in world: TestStore, rules: GrantRules = rules) async throws -> SliceLedger {
    let campaign = try await world.activate(id)
    let ledger = try await world.claimed(id, rules: rules).ledger
    _ = try await world.expand(ledger, campaign)
    return ledger
  }

  /// The index of each user's only target.
  private func indexes(_ ledger: SliceLedger, _ count: Int) async throws -> [String: Int] {
    let chunk = try await ledger.targets(from: 0, count: count)
    return Dictionary(
      uniqueKeysWithValues: (0..<chunk.count).map { (String(decoding: chunk.user($0), as: UTF8.self), $0) })
  }

  /// Everything that makes a target invalid, each said of one user.
  enum Departure: CaseIterable {
    case optOut, categoryOptOut, optOutEvent, replacedList, unregister, logout, erasure, move, login, import_, prune

    var outcome: Outcome {
      switch self {
      case .optOut, .categoryOptOut, .optOutEvent, .replacedList: .optedOut
      default: .deviceGone
      }
    }

    /// Says it of user 7, who has device 7.
    func say(in world: TestStore) async throws {
      let store = world.store
      let now = try await store.time() / 1000
      switch self {
      case .optOut: try await store.add(["u7"], to: "~news")
      case .categoryOptOut: try await store.add(["u7"], to: "~news~offers")
      case .optOutEvent:
        try await store.apply([
          RegistrationEvent(.preference(user: "u7", SuppressionList(app: "news"), isAllowed: false), at: now)
        ])
      case .replacedList:
        var replacement = try await store.replacement(of: "~news")
        _ = try await store.add(["u7"], to: &replacement)
        try await store.putInForce(replacement)
      case .unregister:
        _ = try await store.unregister([TestStore.deviceToken(7)], of: TestStore.service, at: now)
      case .logout:
        try await store.apply([
          RegistrationEvent(
            .logout(user: "u7", TestStore.deviceToken(7), service: TestStore.service.name), at: now)
        ])
      case .erasure: _ = try await store.forget("u7")
      case .move:
        try await store.register([
          DeviceRegistration(user: "bob", device: TestStore.device(7, registeredAt: UInt64(now)))
        ])
      case .login:
        // On another device, where the app allows one.
        var row = DeviceRow(user: "u7", token: try TestStore.deviceToken(700), service: TestStore.service.name)
        row.app = "news"
        row.registeredAt = now
        try await store.apply([RegistrationEvent(.login(row), at: now)], lastDeviceOnly: ["news"])
      case .import_:
        // More devices than a user may have: the one that was seen longest ago leaves.
        try await store.register(
          (800..<900).map { DeviceRegistration(user: "u7", device: TestStore.device($0, registeredAt: UInt64(now))) })
      case .prune:
        let other = try await world.claimed("other").ledger
        let index = try await DepartureTests().indexes(other, 40)["u7"] ?? 0
        try await other.commit(credit: 40)
        let chunk = try await other.targets(from: 0, count: 40)
        var batch = OutcomeBatch()
        batch.append(.unregistered, chunk, index, .prune, reason: "Unregistered")
        _ = try await other.commit(&batch, credit: 0)
      }
    }
  }

  @Test(arguments: Departure.allCases)
  func whoIsGoneIsNotGranted(departure: Departure) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<40, in: world)
    if departure == .prune { _ = try await sealed("other", in: world) }
    let ledger = try await sealed("a", in: world)
    let index = try #require(try await indexes(ledger, 40)["u7"])
    if departure == .prune { try await world.endLease("other") }
    try await departure.say(in: world)
    let decisions = try await ledger.commit(credit: 40).firstDecisions
    #expect(decisions.count == 40)
    for (place, decision) in decisions.enumerated() {
      #expect(decision == (place == index ? .init(withheldAs: departure.outcome) : .send), "\(place)")
    }
    // Whoever takes over finds it in the ledger.
    #expect(try await ledger.record(index).withheld == departure.outcome)
  }

  /// The same for a retry, and for what is sent again after a takeover.
  @Test(arguments: Departure.allCases)
  func whoIsGoneIsNotGrantedARetry(departure: Departure) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<40, in: world)
    if departure == .prune { _ = try await sealed("other", in: world) }
    let ledger = try await sealed("a", in: world)
    let index = try #require(try await indexes(ledger, 40)["u7"])
    #expect(try await ledger.commit(credit: 40).firstDecisions.isEmpty)
    try await ledger.commit([index: .waiting(), (index + 1) % 40: .waiting()])
    if departure == .prune { try await world.endLease("other") }
    try await departure.say(in: world)
    let seal = ledger.claim
    let doubt = try #require(try await ledger.regrant([index, (index + 1) % 40], seal: seal))
    #expect(doubt == [.init(withheldAs: departure.outcome), .send])
    let answer = try await ledger.commit(credit: 2)
    let retries = Dictionary(uniqueKeysWithValues: zip(answer.retries.map(\.index), answer.retryDecisions))
    #expect(retries == [index: .init(withheldAs: departure.outcome), (index + 1) % 40: .send])
    #expect(try await ledger.record(index).withheld == departure.outcome)
    // It ends like any other target.
    try await ledger.commit([index: .terminal(departure.outcome, attempt: 1)])
    #expect(try await ledger.record(index).state == .terminal(departure.outcome))
  }

  /// In an ordinary campaign nothing is looked at; somebody else's departure withholds nobody.
  @Test(arguments: Backend.allCases)
  func othersAreGranted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<400)
    let ledger = try await sealed("a", in: world)
    #expect(try await ledger.commit(credit: 100).firstDecisions.isEmpty)
    // In a segment, on another app's list, and who is back.
    try await world.store.add(["u1"], to: "fans")
    try await world.store.add(["u2"], to: "~shop")
    try await world.store.add(["u3"], to: "~news")
    _ = try await world.store.remove(["u3"], from: "~news")
    let decisions = try await ledger.commit(credit: 100).firstDecisions
    #expect(decisions == Array(repeating: .send, count: 100))
  }

  /// More departures than are remembered, in one step or in many: everybody is looked at.
  @Test(arguments: [1, 30, 101, 350])
  func anyNumberOfDeparturesIsFound(count: Int) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<400)
    let ledger = try await sealed("a", in: world)
    let place = try await indexes(ledger, 400)
    let gone = Set((0..<count).map { "u\($0)" })
    for user in gone { try await world.store.add([user], to: "~news") }
    var withheld: Set<Int> = []
    for start in stride(from: 0, to: 400, by: 80) {
      for (offset, decision) in try await ledger.commit(credit: 80).firstDecisions.enumerated()
      where decision.withheld == .optedOut { withheld.insert(start + offset) }
    }
    #expect(withheld == Set(gone.compactMap { place[$0] }))
  }

  /// A slice's own prunes make none of its other targets invalid, and cost no look at them.
  @Test func ownPruneIsNoReasonToLook() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<300)
    let ledger = try await sealed("a", in: world)
    let chunk = try await ledger.targets(from: 0, count: 300)
    try await ledger.commit(credit: 100)
    for index in 0..<40 {
      var batch = OutcomeBatch()
      batch.append(.unregistered, chunk, index, .prune, reason: "Unregistered")
      #expect(try await ledger.commit(&batch, credit: 2).firstDecisions.isEmpty)
    }
    // A user of another slice's who leaves is seen all the same.
    try await world.store.add([String(decoding: chunk.user(250), as: UTF8.self)], to: "~news")
    let first = try await ledger.commit().granted
    let decisions = try await ledger.commit(credit: 300).firstDecisions
    #expect(decisions[250 - first].withheld == .optedOut && decisions.count { $0.withheld != nil } == 1)
  }

  /// A worker that was away, and whose targets Redis has lost with the departures: everything is looked at.
  @Test func restoredTargetsAreAllLookedAt() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<50)
    let campaign = try await world.activate("a")
    let ledger = try await world.claimed("a", rules: Self.rules).ledger
    let targets = try #require(
      try await world.store.expand(ledger, of: campaign, filter: TestStore.filter(of: campaign)))
    try await world.store.add(["u7"], to: "~news")
    try await world.command("DEL", world.keys.slice(0, of: "a"), world.keys.targets(0, "a"), world.keys.departures(0))
    _ = try await ledger.claim(worker: "w")
    #expect(try await world.store.restore(targets, of: ledger))
    let decisions = try await ledger.commit(credit: 50).firstDecisions
    #expect(decisions.count { $0.withheld == .optedOut } == 1 && decisions.count == 50)
  }

  /// Raw tokens are of nobody whom Carillon knows.
  @Test func rawTokensAreSentWhoeverDeparts() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<10)
    let ledger = try await world.sealed("a", count: 10)
    _ = try await world.store.unregister([TestStore.deviceToken(3)], of: TestStore.service, at: 5000)
    #expect(try await ledger.commit(credit: 10).firstDecisions == Array(repeating: .send, count: 10))
  }
}
