@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Frequency caps and badges. They are decided when a target is granted, counted once for each user, and given back if
/// the target ends unsent.
@Suite(.takesTurns) struct CapTests {
  private static let day = 86_400
  private static let oncePerDay = GrantRules(
    app: "news", caps: [FrequencyCap(most: 1, seconds: day)], memory: day)

  /// Returns the sealed slice of a campaign to all users in the only partition.
  private func sealed(
    _ id: String, in world: TestStore, _ rules: GrantRules = oncePerDay, _ more: String = ""
  ) async throws -> SliceLedger {
    let campaign = try await world.activate(id, more)
    let ledger = try await world.claimed(id, rules: rules).ledger
    _ = try await world.expand(ledger, campaign)
    return ledger
  }

  /// Grants all targets, at most a few hundred in each commit.
  private func grant(_ ledger: SliceLedger, _ count: Int) async throws -> [GrantDecision] {
    var decisions: [GrantDecision] = []
    while decisions.count < count {
      let answer = try await ledger.commit(credit: count - decisions.count)
      expect(answer.granted == decisions.count + answer.firstDecisions.count && !answer.firstDecisions.isEmpty)
      decisions += answer.firstDecisions
    }
    return decisions
  }

  private func times(_ user: String, in world: TestStore) async throws -> [[UInt8]] {
    try await world.pressure(of: user)?.apps["news"]?.times.map(\.campaign) ?? []
  }

  @Test(arguments: Backend.allCases)
  func nothingIsCountedBeforeItIsGranted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<300)
    let ledger = try await sealed("a", in: world)
    expect(try await world.command("HLEN", world.keys.pressure(0)).integer, is: 0)
    expect(try await ledger.commit(credit: 50).firstDecisions, is: Array(repeating: .send, count: 50))
    expect(try await world.command("HLEN", world.keys.pressure(0)).integer, is: 50)
    // One step checks at most a few hundred users.
    try await world.registerUsers(300..<1000)
    let next = try await sealed("b", in: world, GrantRules(app: "news", memory: Self.day, badgeStep: 1))
    expect(try await next.commit(credit: 900).granted, is: 512)
  }

  @Test(arguments: Backend.allCases)
  func userOverTheCapIsCappedWithAllDevicesAndCountsOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // Each user has three devices, so that users cross the boundaries of pages and grants.
    try await world.store.registry.register(
      (0..<360).map { DeviceRegistration(user: "u\($0 / 3)", device: TestStore.device($0)) })
    let rules = GrantRules(app: "news", caps: [FrequencyCap(most: 2, seconds: Self.day)], memory: Self.day)
    for (number, id) in ["a", "b", "c"].enumerated() {
      let ledger = try await sealed(id, in: world, rules)
      for _ in 0..<36 {
        let decisions = try await ledger.commit(credit: 10).firstDecisions
        expect(decisions, is: Array(repeating: number == 2 ? .init(withheldAs: .capped) : .send, count: 10))
      }
      expect(try await ledger.record(7).withheld, is: number == 2 ? .capped : nil)
    }
    for user in 0..<120 {
      let app = try #require(try await world.pressure(of: "u\(user)")?.apps["news"])
      expect(app.times.map(\.campaign), is: [NameDigest.bytes("a"), NameDigest.bytes("b")])
      expect(app.times.allSatisfy { $0.holders == 3 } && app.capped.map(\.campaign) == [NameDigest.bytes("c")])
    }
  }

  @Test(arguments: Backend.wholeWay)
  func capsOfCategoriesCountTheirOwnOnly(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    let caps = [
      FrequencyCap(category: "offers", most: 1, seconds: Self.day), FrequencyCap(most: 3, seconds: Self.day),
    ]
    func isCapped(_ id: String, _ category: String?) async throws -> Bool {
      let rules = GrantRules(
        app: "news", category: category, caps: caps.filter { $0.category == nil || $0.category == category },
        memory: Self.day)
      return try await grant(sealed(id, in: world, rules), 3)[1].withheld == .capped
    }
    expect(try await !isCapped("a", "offers"))
    expect(try await isCapped("b", "offers"))
    expect(try await !isCapped("c", "stories"))
    expect(try await !isCapped("d", nil))
    // The app's own cap counts all categories together. A capped push does not count.
    expect(try await isCapped("e", nil))
    expect(try await isCapped("f", "stories"))
    expect(try await world.pressure(of: "u1")?.apps.mapValues(\.times.count), is: ["news": 3])
  }

  @Test(arguments: Backend.wholeWay)
  func timesOlderThanTheWindowDoNotCountAndAreRemoved(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let now = try await world.store.time() / 1_000_000
    for (user, age) in [("u0", Self.day + 5), ("u1", Self.day - 600)] {
      let time = UserPressure.Time(at: now - age, category: [0, 0, 0, 0], campaign: NameDigest.bytes("old"))
      try await world.command(
        "HSET", world.keys.pressure(0), user, UserPressure.record(app: "news", times: [time]))
    }
    let ledger = try await sealed("a", in: world)
    let decisions = try await grant(ledger, 2)
    let chunk = try await ledger.targets(from: 0, count: 2)
    for index in 0..<2 {
      let user = String(decoding: chunk.user(index), as: UTF8.self)
      expect(decisions[index].withheld, is: user == "u1" ? .capped : nil)
      expect(try await times(user, in: world), is: [NameDigest.bytes(user == "u1" ? "old" : "a")])
    }
  }

  @Test(arguments: Backend.wholeWay)
  func badgeIsSetAndCountsFromThere(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    func badges(_ id: String) async throws -> [Int?] {
      let ledger = try await sealed(id, in: world, GrantRules(app: "news", memory: Self.day, badgeStep: 2))
      let (decisions, chunk) = (try await grant(ledger, 2), try await ledger.targets(from: 0, count: 2))
      let order = (0..<2).sorted { chunk.user($0).lexicographicallyPrecedes(chunk.user($1)) }
      return order.map { decisions[$0].badge }
    }
    expect(try await badges("a"), is: [2, 2])
    try await world.store.registry.apply([RegistrationEvent(.badge(user: "u0", app: "news", value: 0), at: 1)])
    try await world.store.registry.apply([RegistrationEvent(.badge(user: "u1", app: "news", value: 40), at: 1)])
    // The badge of a user without a device is kept for a while, because the registration may arrive late.
    try await world.store.registry.apply([RegistrationEvent(.badge(user: "nobody", app: "news", value: 1), at: 1)])
    expect(try await badges("b"), is: [2, 42])
    expect(try await world.command("HLEN", world.keys.pressure(0)).integer, is: 3)
    expect(
      try await world.command("ZRANGE", world.keys.retained(0), 0, -1).compactMap(\.string), is: ["nobody"])
  }

  /// A retry shows the badge of the first attempt. If the app has set another badge since then, the retry counts from
  /// that badge.
  @Test(arguments: Backend.wholeWay)
  func retryKeepsTheBadgeUnlessTheAppHasSetAnother(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let rules = GrantRules(app: "news", memory: Self.day, badgeStep: 1)
    let ledger = try await sealed("a", in: world, rules)
    expect(try await grant(ledger, 2).map(\.badge), is: [1, 1])
    let second = try await sealed("b", in: world, rules)
    expect(try await grant(second, 2).map(\.badge), is: [2, 2])
    try await ledger.commit([0: .waiting(), 1: .waiting()])
    let user = try await String(decoding: ledger.targets(from: 0, count: 1).user(0), as: UTF8.self)
    // Times have a resolution of one second. The app sets the badge later than Redis counted the campaign.
    let now = try await world.store.time() / 1000
    let record = try #require(try await world.pressure(of: user)?.apps["news"])
    try await world.command(
      "HSET", world.keys.pressure(0), user,
      UserPressure.record(
        app: "news", badge: record.badge,
        times: record.times.map { time in
          var time = time
          time.at -= 10
          return time
        }))
    try await world.store.registry.apply([RegistrationEvent(.badge(user: user, app: "news", value: 4), at: now)])
    let answer = try await ledger.commit(credit: 2)
    expect(answer.retries.map(\.index), is: [0, 1])
    expect(answer.retryDecisions.map(\.badge), is: [5, 1])
  }

  @Test(arguments: Backend.wholeWay)
  func countsExpireAMonthAfterTheLastDevice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    _ = try await grant(sealed("a", in: world), 3)
    expect(
      try await world.store.registry.unregister([TestStore.deviceToken(1)], of: TestStore.service, at: 5000), is: [true]
    )
    func counted() async throws -> [String] {
      try await world.command("HKEYS", world.keys.pressure(0)).compactMap(\.string).sorted()
    }
    func pass(sinceLeft user: String) async throws {
      try await world.command("ZADD", world.keys.retained(0), "XX", 1, user)
      try await world.store.erasure.forgetOldStatements(in: 0)
    }
    expect(try await counted(), is: ["u0", "u1", "u2"])
    try await world.store.erasure.forgetOldStatements(in: 0)
    expect(try await counted(), is: ["u0", "u1", "u2"])
    try await pass(sinceLeft: "u1")
    expect(try await counted(), is: ["u0", "u2"])
    // A late grant does not restore the count of a user who has left since the seal either.
    let later = try await sealed("b", in: world)
    expect(
      try await world.store.registry.unregister([TestStore.deviceToken(0)], of: TestStore.service, at: 5000), is: [true]
    )
    let before = try await world.pressure(of: "u0")
    _ = try await grant(later, 2)
    expect(try await world.pressure(of: "u0"), is: before)
    try await pass(sinceLeft: "u0")
    expect(try await counted(), is: ["u2"])
  }

  // MARK: Returned counts

  /// An outcome without a push gives the count back; other outcomes do not. A user with several devices gives it back
  /// with the last device.
  @Test(arguments: Outcome.allCases)
  func targetThatEndsUnsentGivesBackItsCount(outcome: Outcome) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.store.registry.register(
      (0..<4).map { DeviceRegistration(user: "u\($0 / 2)", device: TestStore.device($0)) })
    let rules = GrantRules(
      app: "news", caps: [FrequencyCap(most: 1, seconds: Self.day)], memory: Self.day, badgeStep: 1)
    let ledger = try await sealed("a", in: world, rules)
    expect(try await grant(ledger, 4).map(\.badge), is: [1, 1, 1, 1])
    let user = try await String(decoding: ledger.targets(from: 0, count: 1).user(0), as: UTF8.self)
    let keeps = outcome == .accepted || outcome == .unknown
    for index in 0...1 {
      expect(try await times(user, in: world), is: [NameDigest.bytes("a")])
      // A repeated commit changes nothing.
      for _ in 0..<2 { try await ledger.commit([index: .terminal(outcome)]) }
    }
    expect(try await times(user, in: world), is: keeps ? [NameDigest.bytes("a")] : [])
    expect(try await world.pressure(of: user)?.apps["news"]?.badge ?? 0 == (keeps ? 1 : 0))
    // The next campaign reaches the users who got nothing.
    let next = try await grant(sealed("b", in: world, rules), 4)
    expect(next.count { $0.withheld == .capped }, is: keeps ? 4 : 2)
    expect(next.count { $0.badge == 1 }, is: keeps ? 0 : 2)
  }

  @Test(arguments: Backend.wholeWay)
  func oneReachedDeviceKeepsTheCount(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register(
      (0..<2).map { DeviceRegistration(user: "u", device: TestStore.device($0)) })
    for (id, first, second) in [("a", Outcome.accepted, Outcome.expired), ("b", .expired, .accepted)] {
      let rules = GrantRules(app: "news", caps: [FrequencyCap(most: 5, seconds: Self.day)], memory: Self.day)
      let ledger = try await sealed(id, in: world, rules)
      _ = try await grant(ledger, 2)
      try await ledger.commit([0: .terminal(first)])
      try await ledger.commit([1: .terminal(second)])
    }
    expect(try await times("u", in: world), is: [NameDigest.bytes("a"), NameDigest.bytes("b")])
  }

  /// Targets that are skipped without a grant were not counted, and give nothing back.
  @Test(arguments: Backend.wholeWay)
  func targetThatWasNeverGrantedGivesNothingBack(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register(
      (0..<2).map { DeviceRegistration(user: "u", device: TestStore.device($0)) })
    let ledger = try await sealed("a", in: world)
    try await ledger.commit(credit: 1)
    try await ledger.commit([0: .terminal(.accepted)])
    try await ledger.commit([1: .terminal(.expired)])
    expect(try await ledger.commit().granted, is: 2)
    expect(try await times("u", in: world), is: [NameDigest.bytes("a")])
  }

  /// A cancel gives back the waiting targets, and keeps the targets that may have been delivered.
  @Test(arguments: Backend.wholeWay)
  func cancelGivesBackWhatIsUnsent(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<600)
    let rules = GrantRules(
      app: "news", caps: [FrequencyCap(most: 1, seconds: Self.day)], memory: Self.day, badgeStep: 1)
    let ledger = try await sealed("a", in: world, rules)
    _ = try await ledger.commit(credit: 100)
    try await ledger.commit(.accepted, 0..<63)
    var waiting: [Int: LedgerRecord] = [:]
    for index in 63..<80 { waiting[index] = .waiting(milliseconds: 100_000) }
    waiting[80] = .waiting(milliseconds: 100_000, isAmbiguous: true)
    try await ledger.commit(waiting)
    let counters = try #require(try await ledger.close(.cancel).counters)
    expect(counters.outcomes, is: [.accepted: 63, .unknown: 20, .cancelled: 517])
    // A second close gives nothing back again.
    expect(try await ledger.close(.cancel).counters, is: counters)
    let next = try await grant(sealed("b", in: world, rules), 600)
    expect(next.count { $0.withheld == .capped }, is: 83)
    expect(next.count { $0.badge == 1 }, is: 517)
  }

  // MARK: Late acceptances

  /// A target that turns out to be accepted counts again if its outcome had given its count back, and keeps its count
  /// otherwise.
  @Test(arguments: Outcome.allCases.filter { $0 != .accepted })
  func targetAcceptedLateCountsOnce(outcome: Outcome) async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await world.store.registry.register(
      (0..<2).map { DeviceRegistration(user: "u", device: TestStore.device($0)) })
    let rules = GrantRules(
      app: "news", caps: [FrequencyCap(most: 1, seconds: Self.day)], memory: Self.day, badgeStep: 1)
    let ledger = try await sealed("a", in: world, rules)
    expect(try await grant(ledger, 2).map(\.badge), is: [1, 1])
    for index in 0...1 { try await ledger.commit([index: .terminal(outcome)]) }
    for index in 0...1 {
      // A repeated report changes nothing.
      for _ in 0..<2 { try await ledger.commit([index: .terminal(.accepted)]) }
      let app = try #require(try await world.pressure(of: "u")?.apps["news"])
      let holders = outcome == .unknown ? 2 : index + 1
      expect(app.times.map(\.holders) == [holders] && app.badge == 1, "after target \(index)")
    }
    expect(try await grant(sealed("b", in: world, rules), 2).map(\.withheld), is: [.capped, .capped])
  }

  /// Targets that were skipped without a grant, or that a cap withheld, were not counted. They count if they turn out
  /// to be accepted.
  @Test(arguments: Backend.wholeWay)
  func uncountedTargetAcceptedLateCounts(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let ledger = try await sealed("a", in: world)
    try await ledger.commit([0: .terminal(.expired), 1: .terminal(.expired)])
    expect(try await world.command("HLEN", world.keys.pressure(0)).integer, is: 0)
    try await ledger.commit([0: .terminal(.accepted)])
    let users = try await ledger.targets(from: 0, count: 2)
    let (counted, other) = (
      String(decoding: users.user(0), as: UTF8.self), String(decoding: users.user(1), as: UTF8.self)
    )
    expect(try await times(counted, in: world), is: [NameDigest.bytes("a")])
    expect(try await times(other, in: world), is: [])
    let next = try await sealed("b", in: world)
    let decisions = try await grant(next, 2)
    let place = try #require(decisions.firstIndex { $0.withheld == .capped })
    try await next.commit([place: .terminal(.capped)])
    try await next.commit([place: .terminal(.accepted)])
    let app = try #require(try await world.pressure(of: counted)?.apps["news"])
    expect(app.times.map(\.campaign) == ["a", "b"].map(NameDigest.bytes) && app.capped.isEmpty)
  }

  // MARK: Random schedules

  /// Expected decisions and counts, written independently of the scripts.
  private struct Model {
    private(set) var times: [String: [(campaign: String, category: String?, counts: Bool)]] = [:]
    var badges: [String: Int] = [:]
    /// The badge that all targets of a user show in each campaign.
    private(set) var shown: [String: [String: Int]] = [:]
    /// Users whom a cap excludes, by campaign.
    private var capped: [String: Set<String>] = [:]
    /// Targets that keep a user's count, by campaign and user.
    private var holders: [String: [String: Set<Int>]] = [:]

    /// - Returns: `true` if the target is withheld, and its badge.
    mutating func grant(_ index: Int, _ user: String, _ campaign: String, _ rules: GrantRules) -> (Bool, Int?) {
      if capped[campaign]?.contains(user) == true { return (true, nil) }
      if holders[campaign]?[user] == nil {
        let had = times[user, default: []]
        let isCapped = rules.caps.contains { cap in
          had.count { $0.counts && (cap.category == nil || cap.category == $0.category) } >= cap.most
        }
        guard !isCapped else {
          capped[campaign, default: []].insert(user)
          return (true, nil)
        }
        times[user, default: []].append((campaign, rules.category, !rules.caps.isEmpty))
        badges[user, default: 0] += rules.badgeStep
        shown[campaign, default: [:]][user] = badges[user]
      }
      holders[campaign, default: [:]][user, default: []].insert(index)
      return (false, rules.badgeStep == 0 ? nil : shown[campaign]?[user])
    }

    mutating func endUnsent(_ index: Int, _ user: String, _ campaign: String, _ rules: GrantRules) {
      guard holders[campaign]?[user]?.remove(index) != nil, holders[campaign]?[user]?.isEmpty == true else { return }
      holders[campaign]?[user] = nil
      times[user]?.removeAll { $0.campaign == campaign }
      badges[user] = max(0, badges[user, default: 0] - rules.badgeStep)
    }

    /// Counts a target that ended unsent and turns out to be accepted.
    mutating func acceptLate(_ index: Int, _ user: String, _ campaign: String, _ rules: GrantRules) {
      if holders[campaign]?[user] == nil {
        capped[campaign]?.remove(user)
        times[user, default: []].append((campaign, rules.category, !rules.caps.isEmpty))
        badges[user, default: 0] += rules.badgeStep
        shown[campaign, default: [:]][user] = badges[user]
      }
      holders[campaign, default: [:]][user, default: []].insert(index)
    }
  }

  /// A campaign in the only partition, and the state that its owner knows.
  private struct Run {
    let id: String
    let rules: GrantRules
    let users: [String]
    var ledger: SliceLedger
    var granted = 0
    /// Targets that were sent and have no outcome.
    var open: Set<Int> = []
    /// Targets that are withheld and have no outcome.
    var withheld: Set<Int> = []
    /// Targets that were granted and ended unsent.
    var unsent: Set<Int> = []
  }

  /// Random sizes of grants, random outcomes, late acceptances, workers that die, and apps that set badges. Each user
  /// is counted once for each campaign that was or may have been delivered to the user.
  @Test(arguments: Backend.allCases, 0..<4)
  func countsAreExactUnderRandomFaults(on backend: Backend, part: Int) async throws {
    var seed = Seed("countsAreExactUnderRandomFaults \(backend) \(part)")
    let world = try await TestStore(on: backend, partitions: 1)
    var devices: [DeviceRegistration] = []
    for user in 0..<90 {
      for _ in 0..<Int.random(in: 1...5, using: &seed) {
        devices.append(DeviceRegistration(user: "u\(user)", device: TestStore.device(devices.count)))
      }
    }
    try await world.store.registry.register(devices)
    let caps = [
      FrequencyCap(category: "offers", most: 1, seconds: Self.day), FrequencyCap(most: 2, seconds: 2 * Self.day),
    ]
    var runs: [Run] = []
    for number in 0..<5 {
      let category = [nil, "offers", "stories"].randomElement(using: &seed) ?? nil
      let rules = GrantRules(
        app: "news", category: category,
        caps: number == 0 ? [] : caps.filter { $0.category == nil || $0.category == category },
        memory: 2 * Self.day, badgeStep: number == 0 ? 1 : Int.random(in: 0...2, using: &seed))
      let ledger = try await sealed("c\(number)", in: world, rules)
      let chunk = try await ledger.targets(from: 0, count: devices.count)
      runs.append(
        Run(
          id: "c\(number)", rules: rules,
          users: (0..<chunk.count).map { String(decoding: chunk.user($0), as: UTF8.self) }, ledger: ledger))
    }
    var model = Model()
    for step in 0..<150 {
      let place = Int.random(in: 0..<runs.count, using: &seed)
      var run = runs[place]
      defer { runs[place] = run }
      switch Int.random(in: 0..<10, using: &seed) {
      case 0..<4:
        let answer = try await run.ledger.commit(credit: Int.random(in: 1...60, using: &seed))
        for (index, decision) in zip(run.granted..., answer.firstDecisions) {
          let (isWithheld, badge) = model.grant(index, run.users[index], run.id, run.rules)
          expect((decision.withheld == .capped) == isWithheld && decision.badge == badge, "step \(step), \(index)")
          if isWithheld { run.withheld.insert(index) } else { run.open.insert(index) }
        }
        run.granted = answer.granted
      case 4..<6:
        var records: [Int: LedgerRecord] = [:]
        for index in run.open.sorted() where Bool.random(using: &seed) {
          let kinds: [Outcome] = [.accepted, .unknown, .expired, .rejected, .badToken]
          let outcome = kinds.randomElement(using: &seed) ?? .accepted
          records[index] = .terminal(outcome)
          if outcome != .accepted, outcome != .unknown {
            model.endUnsent(index, run.users[index], run.id, run.rules)
            run.unsent.insert(index)
          }
        }
        for index in run.withheld { records[index] = .terminal(.capped) }
        try await run.ledger.commit(records)
        run.open.subtract(records.keys)
        run.withheld.subtract(records.keys)
      case 6:
        // The next owner asks about the targets in doubt and gets the same decisions.
        try await world.endLease(run.id)
        let (ledger, progress) = try await world.claimed(run.id, rules: run.rules)
        run.ledger = ledger
        let doubt = run.open.sorted()
        let decisions = try #require(try await ledger.regrant(doubt, seal: progress.seal))
        for (index, decision) in zip(doubt, decisions) {
          let badge = run.rules.badgeStep == 0 ? nil : model.shown[run.id]?[run.users[index]]
          expect(decision.withheld == nil && decision.badge == badge, "step \(step), \(index)")
        }
        for index in run.withheld { expect(try await ledger.record(index).withheld, is: .capped) }
      case 7:
        let (user, value) = ("u\(Int.random(in: 0..<90, using: &seed))", Int.random(in: 0..<9, using: &seed))
        try await world.store.registry.apply([
          RegistrationEvent(.badge(user: user, app: "news", value: value), at: step + 1)
        ])
        model.badges[user] = value
      case 8:
        // The push service had accepted some of the unsent targets, and the acceptance was reported late.
        let late = run.unsent.sorted().filter { _ in Bool.random(using: &seed) }
        for index in late { model.acceptLate(index, run.users[index], run.id, run.rules) }
        try await run.ledger.commit(Dictionary(uniqueKeysWithValues: late.map { ($0, .terminal(.accepted)) }))
        run.unsent.subtract(late)
      default: continue
      }
    }
    for user in 0..<90 {
      let counted = try await world.pressure(of: "u\(user)")?.apps["news"]
      expect(counted?.badge ?? 0 == model.badges["u\(user)"] ?? 0, "u\(user)")
      expect(
        (counted?.times ?? []).map(\.campaign),
        is: (model.times["u\(user)"] ?? []).map { NameDigest.bytes($0.campaign) }, "u\(user)")
    }
  }

  /// A cancel ends targets that a cap withheld as cancelled, and targets that may have been sent as unknown.
  @Test(arguments: Backend.allCases)
  func cancelDistinguishesWithheldTargetsFromThoseInDoubt(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<10)
    let rules = GrantRules(app: "news", caps: [FrequencyCap(most: 1, seconds: Self.day)], memory: Self.day)
    let before = try await world.activate("x", audience: #"{"users":["u1","u4","u7"]}"#)
    let first = try await world.claimed("x", rules: rules).ledger
    _ = try await grant(first, try #require(try await world.expand(first, before)))
    let ledger = try await sealed("a", in: world, rules)
    expect(try await ledger.commit(credit: 10).firstDecisions.count { $0.withheld == .capped }, is: 3)
    let counters = try #require(try await ledger.close(.cancel).counters)
    expect(counters.outcomes, is: [.unknown: 7, .cancelled: 3])
  }

  /// Redis loses grants and their counts. The replay brings the same decisions, and each user counts once.
  @Test(arguments: Backend.allCases)
  func replayCountsAgainWhatRedisLost(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register(
      (0..<300).map { DeviceRegistration(user: "u\($0 / 2)", device: TestStore.device($0)) })
    let rules = GrantRules(
      app: "news", caps: [FrequencyCap(most: 2, seconds: Self.day)], memory: Self.day, badgeStep: 1)
    // Every third user has reached the cap.
    for id in ["x", "y"] {
      let users = stride(from: 0, to: 150, by: 3).map { "\"u\($0)\"" }.joined(separator: ",")
      let campaign = try await world.activate(id, audience: "{\"users\":[\(users)]}")
      let ledger = try await world.claimed(id, rules: rules).ledger
      _ = try await grant(ledger, try #require(try await world.expand(ledger, campaign)))
    }
    let ledger = try await sealed("a", in: world, rules)
    var decisions = try await ledger.commit(credit: 100).firstDecisions
    let slice = world.keys.slice(0, of: "a")
    let before = try await world.slice("a").text
    let pressure = try #require(try await world.command("DUMP", world.keys.pressure(0)).bytes.map { Array($0) })
    decisions += try await ledger.commit(credit: 51).firstDecisions
    func outcome(_ index: Int) -> Outcome { decisions[index].withheld ?? (index < 110 ? .expired : .accepted) }
    for index in 100..<151 { try await ledger.commit([index: .terminal(outcome(index))]) }
    try await world.command("DEL", slice, world.keys.pressure(0), world.keys.ledger(0, "a"))
    for (field, value) in before { try await world.command("HSET", slice, field, value) }
    try await world.command("RESTORE", world.keys.pressure(0), 0, pressure)
    var nothing = OutcomeBatch()
    let replay = CommitRequest(seal: ledger.claim, expected: .replay(granted: 151, decisions: decisions))
    for _ in 0..<2 { _ = try await ledger.commit(&nothing, replay) }
    let again = try #require(try await ledger.regrant(Array(100..<151), seal: ledger.claim))
    expect(again, is: Array(decisions[100...]))
    for index in 100..<151 { expect(try await ledger.record(index).withheld, is: decisions[index].withheld) }
    var batch = OutcomeBatch()
    for index in 100..<151 { batch.append(.terminal(outcome(index)), at: index) }
    for _ in 0..<2 {
      var observed = batch
      _ = try await ledger.commit(&observed, replay)
    }
    var holders = 0
    for user in 0..<150 {
      let app = try await world.pressure(of: "u\(user)")?.apps["news"]
      let entries = app?.times.filter { $0.campaign == NameDigest.bytes("a") } ?? []
      expect(entries.count <= 1)
      holders += entries.first?.holders ?? 0
    }
    let counted = (0..<151).filter { decisions[$0].withheld == nil && !(100..<110).contains($0) }
    expect(holders == counted.count && counted.count < 120)
  }
}
