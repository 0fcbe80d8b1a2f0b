@testable import CampaignStore
import PushCore
import Redis
import TestSupport
import Testing

/// Between seal and grant: who gets a push and with which badge is decided once, and counted once.
struct AdmissionTests {
  private static let day = 86_400
  private static let oncePerDay = AdmissionRules(
    app: "news", caps: [FrequencyCap(most: 1, seconds: day)], memory: day)

  /// A campaign to everybody in the only partition, sealed for admission.
  private func sealed(_ id: String, in world: TestStore, _ more: String = "") async throws -> SliceLedger {
    let campaign = try await world.activate(id, more)
    let ledger = try await world.claimed(id).ledger
    let targets = try await world.store.expand(
      ledger, of: campaign, filter: TestStore.filter(of: campaign), admits: true)
    #expect(targets?.admits == true)
    return ledger
  }

  private func admit(
    _ ledger: SliceLedger, through last: Int, _ rules: AdmissionRules = oncePerDay, seal: [UInt8]? = nil
  ) async throws -> (answer: AdmitAnswer, admitted: AdmittedTargets) {
    var admitted = AdmittedTargets()
    let answer = try await ledger.admit(&admitted, through: last, seal: seal ?? ledger.claim, by: rules)
    return (answer, admitted)
  }

  @Test(arguments: Backend.allCases)
  func nothingIsGrantedBeforeItIsAdmitted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<300)
    let ledger = try await sealed("a", in: world)
    #expect(try await ledger.commit(credit: 50).granted == 0)
    #expect(try await admit(ledger, through: 0).admitted.count == 128)
    #expect(try await ledger.commit(credit: 50).granted == 50)
    #expect(try await ledger.commit(credit: 200).granted == 128)
    #expect(try await admit(ledger, through: 299).admitted.count == 300)
    #expect(try await ledger.commit(credit: 200).granted == 300)
    #expect(try await world.slice("a").numbers["admitted"] == 300)
  }

  @Test(arguments: Backend.allCases)
  func userOverTheCapIsCappedWithAllDevicesAndCountsOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    // Three devices each: users stand on both sides of where pages end.
    try await world.store.register(
      (0..<360).map { DeviceRegistration(user: "u\($0 / 3)", device: TestStore.device($0)) })
    let rules = AdmissionRules(app: "news", caps: [FrequencyCap(most: 2, seconds: Self.day)], memory: Self.day)
    for (number, id) in ["a", "b", "c"].enumerated() {
      let admitted = try await admit(sealed(id, in: world), through: 359, rules).admitted
      #expect((0..<360).allSatisfy { admitted.isCapped($0) == (number == 2) })
    }
    for user in 0..<120 {
      let times = try #require(try await world.pressure(of: "u\(user)")?.apps["news"]?.times)
      #expect(times.map(\.campaign) == [NameDigest.bytes("a"), NameDigest.bytes("b")])
    }
  }

  @Test(arguments: Backend.wholeWay)
  func capsOfCategoriesCountTheirOwnOnly(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<3)
    let caps = [
      FrequencyCap(category: "offers", most: 1, seconds: Self.day), FrequencyCap(most: 3, seconds: Self.day),
    ]
    func isCapped(_ id: String, _ category: String?) async throws -> Bool {
      let rules = AdmissionRules(
        app: "news", category: category, caps: caps.filter { $0.category == nil || $0.category == category },
        memory: Self.day)
      return try await admit(sealed(id, in: world), through: 2, rules).admitted.isCapped(1)
    }
    #expect(try await !isCapped("a", "offers"))
    #expect(try await isCapped("b", "offers"))
    #expect(try await !isCapped("c", "stories"))
    #expect(try await !isCapped("d", nil))
    // The app's own cap is of all categories together; what was capped does not count.
    #expect(try await isCapped("e", nil))
    #expect(try await isCapped("f", "stories"))
    // Another app counts for itself.
    let other = AdmissionRules(app: "shop", caps: caps, memory: Self.day)
    #expect(try await !admit(sealed("g", in: world), through: 2, other).admitted.isCapped(1))
    #expect(try await world.pressure(of: "u1")?.apps.mapValues(\.times.count) == ["news": 3, "shop": 1])
  }

  @Test(arguments: Backend.wholeWay)
  func whatIsOlderThanTheWindowDoesNotCountAndLeaves(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<2)
    let now = try await world.store.time() / 1_000_000
    for (user, age) in [("u0", Self.day + 5), ("u1", Self.day - 600)] {
      let time = UserPressure.Time(at: now - age, category: [0, 0, 0, 0], campaign: NameDigest.bytes("old"))
      try await world.command(
        "HSET", world.keys.pressure(0), user, UserPressure.record(app: "news", times: [time]))
    }
    let ledger = try await sealed("a", in: world)
    let admitted = try await admit(ledger, through: 1).admitted
    let chunk = try await ledger.targets(from: 0, count: 2)
    for index in 0..<2 {
      let user = String(decoding: chunk.user(index), as: UTF8.self)
      #expect(admitted.isCapped(index) == (user == "u1"))
      let times = try #require(try await world.pressure(of: user)?.apps["news"]?.times)
      #expect(times.map(\.campaign) == [NameDigest.bytes(user == "u1" ? "old" : "a")])
    }
  }

  @Test(arguments: Backend.allCases)
  func pageIsDecidedOnceWhoeverAsksAndOnlyForTheOwner(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<200)
    let rules = AdmissionRules(app: "news", badgeStep: 1)
    let stale = try await sealed("a", in: world)
    let first = try await admit(stale, through: 0, rules).admitted
    #expect(try await admit(stale, through: 0, rules).admitted == first)
    try await world.endLease("a")
    let (owner, standing) = try await world.claimed("a")
    #expect(standing.admitted == 128)
    guard case .stale = try await admit(stale, through: 0, rules).answer else {
      throw TestSupportError("a stale owner has a page decided")
    }
    let all = try await admit(owner, through: 199, rules, seal: standing.seal).admitted
    #expect(all.page(0) == first.page(0) && all.count == 200)
    #expect((0..<200).allSatisfy { all.badge(of: $0) == 1 && !all.isCapped($0) })
    guard case .stale = try await admit(owner, through: 0, rules, seal: owner.claim).answer else {
      throw TestSupportError("another list of targets was admitted")
    }
  }

  @Test(arguments: Backend.wholeWay)
  func badgeIsSetAndGoesOnFromThere(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<2)
    let rules = AdmissionRules(app: "news", badgeStep: 2)
    func badges(_ id: String) async throws -> [Int?] {
      let ledger = try await sealed(id, in: world)
      let (admitted, chunk) = (
        try await admit(ledger, through: 1, rules).admitted, try await ledger.targets(from: 0, count: 2)
      )
      let order = (0..<2).sorted { chunk.user($0).lexicographicallyPrecedes(chunk.user($1)) }
      return order.map { admitted.badge(of: $0) }
    }
    #expect(try await badges("a") == [2, 2])
    try await world.store.apply([RegistrationEvent(.badge(user: "u0", app: "news", value: 0), at: 1)])
    try await world.store.apply([RegistrationEvent(.badge(user: "u1", app: "news", value: 40), at: 1)])
    // Of who has no device it is kept for a while: the registration may arrive late.
    try await world.store.apply([RegistrationEvent(.badge(user: "nobody", app: "news", value: 1), at: 1)])
    #expect(try await badges("b") == [2, 42])
    #expect(try await world.command("HLEN", world.keys.pressure(0)).integer == 3)
    #expect(
      try await world.command("ZRANGE", world.keys.retained(0), 0, -1).compactMap(\.string) == ["nobody"])
  }

  @Test(arguments: Backend.wholeWay)
  func whatIsCountedIsForgottenAMonthAfterTheLastDevice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<3)
    _ = try await admit(sealed("a", in: world), through: 2)
    #expect(try await world.store.unregister([TestStore.deviceToken(1)], of: TestStore.service, at: 5000) == [true])
    func counted() async throws -> [String] {
      try await world.command("HKEYS", world.keys.pressure(0)).compactMap(\.string).sorted()
    }
    func pass(sinceLeft user: String) async throws {
      try await world.command("ZADD", world.keys.retained(0), "XX", 1, user)
      try await world.store.forgetOldStatements(in: 0)
    }
    #expect(try await counted() == ["u0", "u1", "u2"])
    try await world.store.forgetOldStatements(in: 0)
    #expect(try await counted() == ["u0", "u1", "u2"])
    try await pass(sinceLeft: "u1")
    #expect(try await counted() == ["u0", "u2"])
    // Nor does a user come back who has left since the seal.
    let later = try await sealed("b", in: world)
    #expect(try await world.store.unregister([TestStore.deviceToken(0)], of: TestStore.service, at: 5000) == [true])
    let before = try await world.pressure(of: "u0")
    _ = try await admit(later, through: 1)
    #expect(try await world.pressure(of: "u0") == before)
    try await pass(sinceLeft: "u0")
    #expect(try await counted() == ["u2"])
  }

  // MARK: Schedules

  /// What should have been decided, and is counted: written down without a look at the script.
  private struct Model {
    var times: [String: [(campaign: String, category: String?, counts: Bool)]] = [:]
    var badges: [String: Int] = [:]
    /// Campaign to user to what was decided first.
    var decisions: [String: [String: (isCapped: Bool, badge: Int?)]] = [:]

    mutating func admit(_ user: String, _ campaign: String, _ rules: AdmissionRules) {
      guard decisions[campaign]?[user] == nil else { return }
      let had = times[user, default: []]
      let isCapped = rules.caps.contains { cap in
        had.count { $0.counts && (cap.category == nil || cap.category == $0.category) } >= cap.most
      }
      if !isCapped { times[user, default: []].append((campaign, rules.category, !rules.caps.isEmpty)) }
      if !isCapped { badges[user, default: 0] += rules.badgeStep }
      let badge = isCapped || rules.badgeStep == 0 ? nil : badges[user]
      decisions[campaign, default: [:]][user] = (isCapped, badge)
    }
  }

  /// A campaign in the only partition, with whoever worked on it and what they know.
  private struct Run {
    var id: String
    var rules: AdmissionRules
    var users: [String]
    var seal: [UInt8]
    /// The last is the owner.
    var owners: [(ledger: SliceLedger, known: AdmittedTargets)]
  }

  /// Workers die, come too late, lose replies and take over; Redis falls back and is told again; apps set badges. Each
  /// user is counted once for each campaign, and a badge that was given to a target stays.
  @Test(arguments: Backend.allCases, 0..<4)
  func countsAreExactWhateverHappens(on backend: Backend, part: Int) async throws {
    var seed = Seed("countsAreExactWhateverHappens \(backend) \(part)")
    let world = try await TestStore(on: backend, partitions: 1)
    var devices: [DeviceRegistration] = []
    for user in 0..<90 {
      for _ in 0..<Int.random(in: 1...5, using: &seed) {
        devices.append(DeviceRegistration(user: "u\(user)", device: TestStore.device(devices.count)))
      }
    }
    try await world.store.register(devices)
    let caps = [
      FrequencyCap(category: "offers", most: 1, seconds: Self.day), FrequencyCap(most: 2, seconds: 2 * Self.day),
    ]
    var runs: [Run] = []
    for number in 0..<5 {
      let category = [nil, "offers", "stories"].randomElement(using: &seed) ?? nil
      let rules = AdmissionRules(
        app: "news", category: category,
        caps: number == 0 ? [] : caps.filter { $0.category == nil || $0.category == category },
        memory: 2 * Self.day, badgeStep: number == 0 ? 1 : Int.random(in: 0...2, using: &seed))
      let ledger = try await sealed("c\(number)", in: world)
      let chunk = try await ledger.targets(from: 0, count: devices.count)
      #expect(chunk.count == devices.count)
      runs.append(
        Run(
          id: "c\(number)", rules: rules,
          users: (0..<chunk.count).map { String(decoding: chunk.user($0), as: UTF8.self) }, seal: ledger.claim,
          owners: [(ledger, AdmittedTargets())]))
    }
    var model = Model()
    var snapshot: [(key: String, dump: [UInt8]?)]?
    var falls = 0
    for step in 0..<120 {
      let place = Int.random(in: 0..<runs.count, using: &seed)
      let run = runs[place]
      switch Int.random(in: 0..<10, using: &seed) {
      case 0..<5:
        // Somebody who was the owner once asks, or who is: of a reply that is lost nothing is kept.
        let last = run.owners.count - 1
        let owner = Bool.random(using: &seed) ? last : Int.random(in: 0...last, using: &seed)
        var known = run.owners[owner].known
        let before = known.count
        let wanted = min(known.count + Int.random(in: 0..<200, using: &seed), run.users.count - 1)
        let answer = try await run.owners[owner].ledger.admit(&known, through: wanted, seal: run.seal, by: run.rules)
        guard owner == run.owners.count - 1 else {
          #expect(known.count == before, "step \(step)")
          continue
        }
        guard case .admitted = answer else { throw TestSupportError("step \(step): \(answer)") }
        for user in run.users[..<known.count] { model.admit(user, run.id, run.rules) }
        if Int.random(in: 0..<4, using: &seed) > 0 { runs[place].owners[owner].known = known }
      case 5:
        try await world.endLease(run.id)
        runs[place].owners.append((try await world.claimed(run.id).ledger, AdmittedTargets()))
      case 6 where snapshot == nil:
        // From here on every reply is kept: what nobody knows nobody can tell.
        for number in runs.indices { try await catchUp(&runs[number]) }
        snapshot = try await dump(runs, world)
      case 7 where snapshot != nil:
        for number in runs.indices { try await catchUp(&runs[number]) }
        try await bringBack(snapshot ?? [], in: world)
        snapshot = nil
        falls += 1
        for number in runs.indices.shuffled(using: &seed) {
          for owner in runs[number].owners.shuffled(using: &seed) {
            try await owner.ledger.readmit(owner.known, seal: runs[number].seal, by: runs[number].rules)
          }
        }
      case 8 where snapshot == nil:
        let (user, value) = ("u\(Int.random(in: 0..<90, using: &seed))", Int.random(in: 0..<9, using: &seed))
        try await world.store.apply([RegistrationEvent(.badge(user: user, app: "news", value: value), at: step + 1)])
        model.badges[user] = value
      default: continue
      }
    }
    for number in runs.indices {
      try await catchUp(&runs[number])
      let run = runs[number]
      let known = run.owners[run.owners.count - 1].known
      for (index, user) in run.users[..<known.count].enumerated() {
        let expected = try #require(model.decisions[run.id]?[user])
        #expect(known.isCapped(index) == expected.isCapped, "\(run.id) \(index) \(user)")
        #expect(known.badge(of: index) == expected.badge, "\(run.id) \(index) \(user)")
      }
    }
    for user in 0..<90 {
      let counted = try await world.pressure(of: "u\(user)")?.apps["news"]
      #expect(counted?.badge ?? 0 == model.badges["u\(user)"] ?? 0, "u\(user) after \(falls) falls")
      #expect(
        Set((counted?.times ?? []).map(\.campaign))
          == Set((model.times["u\(user)"] ?? []).map { NameDigest.bytes($0.campaign) }), "u\(user)")
      #expect(counted?.times.count ?? 0 == model.times["u\(user)"]?.count ?? 0, "u\(user) after \(falls) falls")
    }
  }

  /// The owner reads again what was admitted.
  private func catchUp(_ run: inout Run) async throws {
    let last = run.owners.count - 1
    let slice = run.owners[last].ledger.slice
    let store = run.owners[last].ledger.store
    var pipeline = RedisPipeline()
    pipeline.append("HGET", store.keys.slice(slice.partition, of: slice.campaign), "admitted")
    let admitted = try await store.run(pipeline)[0].integer ?? 0
    guard admitted > run.owners[last].known.count else { return }
    _ = try await run.owners[last].ledger.admit(
      &run.owners[last].known, through: admitted - 1, seal: run.seal, by: run.rules)
  }

  private func dump(_ runs: [Run], _ world: TestStore) async throws -> [(key: String, dump: [UInt8]?)] {
    var dumps: [(key: String, dump: [UInt8]?)] = []
    for key in [world.keys.pressure(0)] + runs.map({ world.keys.admitted(0, $0.id) }) {
      dumps.append((key, try await world.command("DUMP", key).bytes.map { Array($0) }))
    }
    // Of the slices only this: claims that others hold since would otherwise be forgotten too.
    for run in runs {
      let fields = try await world.command("HMGET", world.keys.slice(0, of: run.id), "admitted", "admittedLast")
      dumps.append((run.id, Array(fields[0].bytes ?? [])))
      dumps.append((run.id, Array(fields[1].bytes ?? [])))
    }
    return dumps
  }

  private func bringBack(_ dumps: [(key: String, dump: [UInt8]?)], in world: TestStore) async throws {
    var fields: [String: [[UInt8]]] = [:]
    for (key, dump) in dumps {
      guard key.hasPrefix("{") else {
        fields[key, default: []].append(dump ?? [])
        continue
      }
      try await world.command("DEL", key)
      if let dump { try await world.command("RESTORE", key, 0, dump) }
    }
    for (id, values) in fields {
      try await world.command(
        "HSET", world.keys.slice(0, of: id), "admitted", values[0], "admittedLast", values[1])
    }
  }
}
