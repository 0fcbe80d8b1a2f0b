@testable import CampaignStore
import APNs
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Departures. A target is granted only if its user still has the device and is on no suppression list that applies.
@Suite(.takesTurns) struct DepartureTests {
  private static let rules = GrantRules(
    app: "news",
    suppression: [SuppressionList(app: "news"), SuppressionList(app: "news", category: "offers")])

  /// Registers users with one device each. All devices belong to the app.
  private func registerUsers(_ numbers: Range<Int>, in world: TestStore) async throws {
    try await world.store.registry.register(
      numbers.map { number in
        var device = TestStore.device(number)
        device.app = "news"
        return DeviceRegistration(user: "u\(number)", device: device)
      })
  }

  private func sealed(_ id: String, in world: TestStore, rules: GrantRules = rules) async throws -> SliceLedger {
    let campaign = try await world.activate(id)
    let (ledger, progress) = try await world.claimed(id, rules: rules)
    _ = try await world.expand(ledger, campaign, departures: progress.departures)
    return ledger
  }

  /// Returns the index of each user's only target.
  private func indexes(_ ledger: SliceLedger, _ count: Int) async throws -> [String: Int] {
    let chunk = try await ledger.targets(from: 0, count: count)
    return Dictionary(
      uniqueKeysWithValues: (0..<chunk.count).map { (String(decoding: chunk.user($0), as: UTF8.self), $0) })
  }

  /// Grants targets as a worker does. The worker checks targets of users who may have departed before it sends them.
  private struct Granter {
    let ledger: SliceLedger
    /// The name of the list of targets.
    let seal: [UInt8]
    private(set) var number: Int?
    private var departed: Set<UInt32> = []
    private var isAnybody = false
    /// The number of targets that were checked by the commit that granted them, and after it.
    private(set) var checked = (before: 0, behind: 0)

    init(_ ledger: SliceLedger, seal: [UInt8]? = nil) {
      self.ledger = ledger
      self.seal = seal ?? ledger.claim
    }

    /// Returns the decision about each granted target.
    mutating func grant(_ records: [Int: LedgerRecord] = [:], credit: Int) async throws -> [Int: GrantDecision] {
      let before = try await ledger.commit().granted
      let next = try await suspects(among: before..<(before + credit))
      let answer = try await ledger.commit(records, credit: credit, departures: number, suspects: next)
      return try await take(answer, from: before, checked: next)
    }

    mutating func take(
      _ answer: CommitAnswer, from before: Int, checked known: [SealedTarget] = []
    ) async throws -> [Int: GrantDecision] {
      if let news = answer.departures {
        number = news.number
        if let users = news.users { departed.formUnion(users) } else { isAnybody = true }
      }
      let indexes = Array(before..<answer.granted) + answer.retries.map(\.index)
      var decisions = Dictionary(uniqueKeysWithValues: indexes.map { ($0, GrantDecision.send) })
      for (index, decision) in zip(before..., answer.firstDecisions) { decisions[index] = decision }
      for (index, decision) in answer.withheld { decisions[index] = decision }
      // A worker records an erased target without a check, because the target has no token.
      for index in indexes {
        let chunk = try await ledger.targets(from: index, count: 1)
        guard chunk.count > 0, chunk.isErased(0) else { continue }
        decisions[index] = .init(withheldAs: .deviceGone)
        checked.behind += 1
      }
      checked.before += known.count { $0.index < answer.granted }
      let rest = try await suspects(among: indexes).filter { suspect in !known.contains { $0.index == suspect.index } }
      checked.behind += rest.count
      guard !rest.isEmpty else { return decisions }
      let answers = try #require(try await ledger.regrant(rest, seal: seal))
      for (suspect, decision) in zip(rest, answers) { decisions[suspect.index] = decision }
      return decisions
    }

    private func suspects(among indexes: some Sequence<Int>) async throws -> [SealedTarget] {
      var suspects: [SealedTarget] = []
      for index in indexes {
        let chunk = try await ledger.targets(from: index, count: 1)
        guard chunk.count > 0 else { break }
        let user = chunk.user(0)
        guard !user.isEmpty, isAnybody || departed.contains(UserFingerprint.of(user)) else { continue }
        suspects.append(chunk.target(0))
      }
      return suspects
    }
  }

  /// Every change that makes a target invalid, each for one user.
  enum Departure: CaseIterable {
    case optOut, categoryOptOut, optOutEvent, replacedList, unregister, logout, erasure, move, login, import_, prune

    var outcome: Outcome {
      switch self {
      case .optOut, .categoryOptOut, .optOutEvent, .replacedList: .optedOut
      default: .deviceGone
      }
    }

    /// Applies the change to user 7, who has device 7.
    func say(in world: TestStore) async throws {
      let store = world.store
      let now = try await store.time() / 1000
      switch self {
      case .optOut: try await store.audiences.add(["u7"], to: "~news")
      case .categoryOptOut: try await store.audiences.add(["u7"], to: "~news~offers")
      case .optOutEvent:
        try await store.registry.apply([
          RegistrationEvent(.preference(user: "u7", SuppressionList(app: "news"), isAllowed: false), at: now)
        ])
      case .replacedList:
        var replacement = try await store.audiences.replacement(of: "~news")
        _ = try await store.audiences.add(["u7"], to: &replacement)
        try await store.audiences.putInForce(replacement)
      case .unregister:
        _ = try await store.registry.unregister([TestStore.deviceToken(7)], of: TestStore.service, at: now)
      case .logout:
        try await store.registry.apply([
          RegistrationEvent(
            .logout(user: "u7", TestStore.deviceToken(7), service: TestStore.service.name), at: now)
        ])
      case .erasure: _ = try await store.erasure.erase("u7")
      case .move:
        try await store.registry.register([
          DeviceRegistration(user: "bob", device: TestStore.device(7, registeredAt: UInt64(now)))
        ])
      case .login:
        // The user logs in on another device, and the app allows one device for each user.
        var row = DeviceRow(user: "u7", token: try TestStore.deviceToken(700), service: TestStore.service.name)
        row.app = "news"
        row.registeredAt = now
        try await store.registry.apply([RegistrationEvent(.login(row), at: now)], lastDeviceOnly: ["news"])
      case .import_:
        // The user gets more devices than the limit, so the device that was seen longest ago leaves.
        try await store.registry.register(
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
  func departedUserIsNotGranted(departure: Departure) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<40, in: world)
    if departure == .prune { _ = try await sealed("other", in: world) }
    let ledger = try await sealed("a", in: world)
    let index = try #require(try await indexes(ledger, 40)["u7"])
    if departure == .prune { try await world.endLease("other") }
    try await departure.say(in: world)
    var granter = Granter(ledger)
    let decisions = try await granter.grant(credit: 40)
    expect(decisions.count, is: 40)
    for (place, decision) in decisions {
      expect(decision, is: place == index ? .init(withheldAs: departure.outcome) : .send, "\(place)")
    }
    // A replaced list does not say which of its users are new.
    expect(granter.checked == (0, departure == .replacedList ? 40 : 1))
  }

  /// The same rule applies to a retry, and to a target that is sent again after a takeover.
  @Test(arguments: Departure.allCases)
  func departedUserIsNotGrantedARetry(departure: Departure) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<40, in: world)
    if departure == .prune { _ = try await sealed("other", in: world) }
    let ledger = try await sealed("a", in: world)
    let index = try #require(try await indexes(ledger, 40)["u7"])
    var granter = Granter(ledger)
    expect(try await granter.grant(credit: 40).values.allSatisfy { $0 == .send } && granter.checked == (0, 0))
    try await ledger.commit([index: .waiting(), (index + 1) % 40: .waiting()])
    if departure == .prune { try await world.endLease("other") }
    try await departure.say(in: world)
    let seal = ledger.claim
    let doubt = try #require(try await ledger.regrant([index, (index + 1) % 40], seal: seal))
    expect(doubt, is: [departure == .erasure ? .send : .init(withheldAs: departure.outcome), .send])
    let retries = try await granter.grant(credit: 2)
    expect(retries, is: [index: .init(withheldAs: departure.outcome), (index + 1) % 40: .send])
    // The target ends like any other.
    try await ledger.commit([index: .terminal(departure.outcome, attempt: 1)])
    expect(try await ledger.record(index).state, is: .terminal(departure.outcome))
  }

  /// An ordinary campaign checks no target. The departure of one user withholds no target of another.
  @Test(arguments: Backend.allCases)
  func otherUsersAreGranted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<400)
    let ledger = try await sealed("a", in: world)
    var granter = Granter(ledger)
    _ = try await granter.grant(credit: 100)
    // A user joins a segment, another joins a list of another app, and a third opts out and in again.
    try await world.store.audiences.add(["u1"], to: "fans")
    try await world.store.audiences.add(["u2"], to: "~shop")
    try await world.store.audiences.add(["u3"], to: "~news")
    _ = try await world.store.audiences.remove(["u3"], from: "~news")
    let decisions = try await granter.grant(credit: 300)
    expect(decisions.count == 300 && decisions.values.allSatisfy { $0 == .send } && granter.checked.behind <= 2)
  }

  /// More departures than the ring has room for, in one step or in many. Every target is checked.
  @Test(arguments: [1, 30, 512, 513, 1100])
  func anyNumberOfDeparturesIsFound(count: Int) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<1200)
    // Earlier departures leave the ring at a position where it wraps in the middle.
    try await world.store.audiences.add((0..<200).map { "before\($0)" }, to: "~news")
    let ledger = try await sealed("a", in: world)
    let place = try await indexes(ledger, 1200)
    let gone = (0..<count).map { "u\($0)" }
    for start in stride(from: 0, to: count, by: 70) {
      try await world.store.audiences.add(Array(gone[start..<min(start + 70, count)]), to: "~news")
    }
    var granter = Granter(ledger)
    var withheld: Set<Int> = []
    for _ in 0..<15 {
      for (index, decision) in try await granter.grant(credit: 80) where decision.withheld == .optedOut {
        withheld.insert(index)
      }
    }
    expect(withheld, is: Set(gone.compactMap { place[$0] }))
    expect(granter.checked.before + granter.checked.behind, is: count > 512 ? 1200 : count)
    // Only the first grant did not know these departures.
    expect(granter.checked.behind <= 80)
  }

  /// The worker names targets for the credit that it requests. Redis decides only about targets that it grants.
  @Test func onlyGrantedTargetsAreDecidedAbout() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<20, in: world)
    let ledger = try await sealed("a", in: world)
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "~news")
    let chunk = try await ledger.targets(from: 0, count: 20)
    let answer = try await ledger.commit(credit: 5, suspects: (0..<20).map(chunk.target))
    expect(answer.withheld.map(\.index), is: Array(0..<5))
    expect(answer.withheld.allSatisfy { $0.decision == .init(withheldAs: .optedOut) })
    // Redis does not decide again about targets that were granted before.
    let next = try await ledger.commit(credit: 5, suspects: (0..<20).map(chunk.target))
    expect(next.withheld.map(\.index), is: Array(5..<10))
  }

  /// A slice's own prunes make none of its other targets invalid and cause no checks, even for targets of the same
  /// user.
  @Test func ownPruneCausesNoChecks() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.store.registry.register(
      (0..<300).map { DeviceRegistration(user: "u\($0 % 150)", device: TestStore.device($0)) })
    let ledger = try await sealed("a", in: world)
    let chunk = try await ledger.targets(from: 0, count: 300)
    var granter = Granter(ledger)
    _ = try await granter.grant(credit: 100)
    // The first target of a user is pruned, and the other one waits.
    for index in stride(from: 0, to: 40, by: 2) {
      expect(chunk.user(index), is: chunk.user(index + 1))
      var batch = OutcomeBatch()
      batch.append(.unregistered, chunk, index, .prune, reason: "Unregistered")
      batch.append(.waiting(), at: index + 1)
      let before = try await ledger.commit().granted
      let answer = try await ledger.commit(&batch, credit: index < 20 ? index % 3 : 0, departures: granter.number)
      _ = try await granter.take(answer, from: before)
    }
    expect(granter.checked == (0, 0))
    expect(
      try await world.command("GETRANGE", world.keys.departures(0), 0, 5).bytes.map(Array.init),
      is: [0, 0, 0, 0, 0, 20])
    // A new owner does not have to check them either.
    try await world.endLease("a")
    var heir = Granter(try await world.claimed("a", rules: Self.rules).ledger, seal: ledger.claim)
    // The departure of a user through another slice is still found.
    let user = chunk.user(250)
    try await world.store.audiences.add([String(decoding: user, as: UTF8.self)], to: "~news")
    let decisions = try await heir.grant(credit: 300)
    let left = decisions.keys.filter { chunk.user($0) == user }
    expect(left.contains(250) && Set(left) == Set(decisions.keys.filter { decisions[$0]?.withheld == .optedOut }))
    expect(heir.checked == (0, left.count))
  }

  /// A worker was away, and Redis lost the worker's targets together with the departures. Every target is checked.
  @Test func allRestoredTargetsAreChecked() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<50)
    let campaign = try await world.activate("a")
    let ledger = try await world.claimed("a", rules: Self.rules).ledger
    let targets = try #require(
      try await world.store.expansion.expand(ledger, of: campaign, filter: TestStore.filter(of: campaign)))
    try await world.store.audiences.add(["u7"], to: "~news")
    try await world.command("DEL", world.keys.slice(0, of: "a"), world.keys.targets(0, "a"), world.keys.departures(0))
    _ = try await ledger.claim(worker: "w")
    expect(try await world.store.expansion.restore(targets, of: ledger))
    var granter = Granter(ledger)
    let decisions = try await granter.grant(credit: 50)
    expect(decisions.values.count { $0.withheld == .optedOut } == 1 && granter.checked == (0, 50))
  }

  /// Carillon does not know the users of raw tokens.
  @Test func departuresDoNotAffectRawTokens() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.registerUsers(0..<10)
    let ledger = try await world.sealed("a", count: 10)
    _ = try await world.store.registry.unregister([TestStore.deviceToken(3)], of: TestStore.service, at: 5000)
    var granter = Granter(ledger)
    expect(try await granter.grant(credit: 10).values.allSatisfy { $0 == .send } && granter.checked == (0, 0))
    let decisions = try await ledger.regrant([3], seal: ledger.claim)
    expect(decisions, is: [.send])
  }

  /// Compares the fingerprint of the script with that of the worker.
  @Test func fingerprintIsThatOfTheScript() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    let users = ["", "a", "u7", "foobar", "\u{1F468}\u{200D}\u{1F469}", String(repeating: "\u{FF}z", count: 100)]
    // These values are test vectors of the FNV draft, section 5.
    expect(UserFingerprint.of("".utf8) == 0x811c_9dc5 && UserFingerprint.of("a".utf8) == 0xe40c_292c)
    expect(UserFingerprint.of("foobar".utf8), is: 0xbf9c_f968)
    try await world.store.audiences.add(Array(users.dropFirst()), to: "~news")
    let stored = try await world.command("GETRANGE", world.keys.departures(0), 6, -1).bytes.map { Array($0) } ?? []
    let prints = stride(from: 0, to: stored.count, by: 4).map { at in
      stored[at..<(at + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    expect(Set(prints), is: Set(users.dropFirst().map { UserFingerprint.of($0.utf8) }))
  }

  /// A prune by a commit records the user's fingerprint. A slice of another campaign then checks that user's targets.
  @Test func pruneOfAnotherCampaignIsNoted() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<10, in: world)
    let (first, second) = (try await sealed("a", in: world), try await sealed("b", in: world))
    let chunk = try await first.targets(from: 0, count: 10)
    _ = try await first.commit(credit: 10)
    var batch = OutcomeBatch()
    for index in [2, 5] { batch.append(.unregistered, chunk, index, .prune, reason: "Unregistered") }
    _ = try await first.commit(&batch, credit: 0)
    let answer = try await second.commit(credit: 10)
    let news = try #require(answer.departures)
    expect(news.number == 2 && news.users == [2, 5].map { UserFingerprint.of(chunk.user($0)) })
  }

  /// An erasure removes the devices of a user who opted out before it removes the opt-out. A grant at the same time
  /// therefore finds one of the two.
  @Test func erasureTakesDevicesBeforeTheListsOfOptOuts() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await registerUsers(0..<3, in: world)
    try await world.store.audiences.add(["u1"], to: "~news")
    let owner = world.keys.owner(0)
    let owners = try #require(try await world.command("DUMP", owner).bytes.map { Array($0) })
    try await world.command("DEL", owner)
    try await world.command("SET", owner, "damaged")
    await #expect(throws: (any Error).self) { try await world.store.erasure.erase("u1") }
    expect(try await world.store.registry.user("u1")?.devices.count, is: 1)
    expect(try await world.store.audiences.lists(of: "u1").suppression, is: [SuppressionList(app: "news")])
    // A second attempt finds everything that the first one left.
    try await world.command("DEL", owner)
    try await world.command("RESTORE", owner, 0, owners)
    _ = try await world.store.erasure.erase("u1")
    expect(try await world.store.registry.user("u1") == nil)
    expect(try await world.store.audiences.lists(of: "u1").suppression.isEmpty)
  }
}
