@testable import CampaignStore
import APNs
import PushCore
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// Erasure of a user from every key of Redis: ids, tokens and values. Counters stay the same.
@Suite(.takesTurns) struct ErasureTests {
  private static let victim = 7
  private static let user = "u7-to-be-erased"
  private static let value = "Zanzibar-7"

  /// State of the user's target at the time of the erasure.
  enum Moment: String, CaseIterable {
    case beforeTheGrant, inFlight, inFlightAndPruned, waitingForRetry, answered, ended, cancelled, building
  }

  private func register(_ count: Int, in world: TestStore) async throws {
    try await world.store.registry.register(
      (0..<count).map { number in
        var device = TestStore.device(number)
        device.app = "news"
        let isVictim = number == Self.victim
        return DeviceRegistration(
          user: isVictim ? Self.user : "u\(number)", device: device,
          attributes: Array(#"{"city":"\#(isVictim ? Self.value : "Oslo")"}"#.utf8))
      })
  }

  /// Fails for each key that has the user's id, token (text or bytes) or value.
  private func expectNothing(in world: TestStore, _ moment: String) async throws {
    let token = TestStore.token(Self.victim)
    let needles = [Array(Self.user.utf8), token, Hex.encode(token), Array(Self.value.utf8)]
    for name in try await world.keyNames("{\(world.keys.namespace)*") {
      var values = [Array(name.utf8)]
      for reply in try await content(of: name, in: world) { collect(reply, &values) }
      for needle in needles {
        let isThere = values.contains { $0.has(needle) }
        expect(!isThere, "\(moment): \(name) has \(StoreDump.plain(needle))")
      }
    }
  }

  private func content(of name: String, in world: TestStore) async throws -> [RedisReply] {
    switch try await world.command("TYPE", name).string {
    case "string": [try await world.command("GET", name)]
    case "list": try await world.command("LRANGE", name, 0, -1).map { $0 }
    case "set": try await world.command("SMEMBERS", name).map { $0 }
    case "hash": try await world.command("HGETALL", name).map { $0 }
    case "zset": try await world.command("ZRANGE", name, 0, -1).map { $0 }
    default: try await world.command("XRANGE", name, "-", "+").map { $0 }
    }
  }

  private func collect(_ reply: RedisReply, _ values: inout [[UInt8]]) {
    if let bytes = reply.bytes { values.append(Array(bytes)) } else { for part in reply { collect(part, &values) } }
  }

  /// Records an answer for every granted target, like a worker that still has all tokens.
  private func answer(_ ledger: SliceLedger, _ chunk: TargetChunk, except: Int? = nil, pruning: Int? = nil) async throws
  {
    var batch = OutcomeBatch()
    for position in 0..<chunk.count where position != except {
      if position == pruning {
        batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered")
      } else {
        batch.append(.accepted, chunk, position)
      }
    }
    _ = try await ledger.commit(&batch, credit: 0)
  }

  @Test(arguments: Moment.allCases)
  func erasedUserLeavesEveryKey(moment: Moment) async throws {
    // The stream gets the outcomes of a slice when the slice ends, and housekeeping does not read the stream again.
    let world = try await TestStore(
      on: .single, partitions: 1, streamLength: moment == .building ? 0 : 10_000)
    let count = 300
    try await register(count, in: world)
    try await world.store.audiences.add([Self.user, "u1"], to: "fans")
    let campaign = try await world.activate("c", audience: #"{"segment":"*"}"#, #","results":"all""#)
    let (ledger, progress) = try await world.claimed("c")
    if moment == .building {
      // The worker has read the user, and seals only after the erasure.
      let forgotten = try await eraseWhileBuilding(ledger, campaign, progress.departures, in: world)
      expect(forgotten.completeBy != nil)
      expect(try await world.command("HLEN", world.keys.erasing).integer, is: 1)
    } else {
      expect(try await world.expand(ledger, campaign, departures: progress.departures), is: count)
    }
    let chunk = try await ledger.targets(from: 0, count: count)
    let place = chunk.places.indices.first { chunk.user($0).elementsEqual(Self.user.utf8) }
    func erase() async throws {
      let forgotten = try await world.store.erasure.erase(Self.user)
      expect(forgotten.devices == 1 && forgotten.segments == ["fans"] && forgotten.completeBy == nil)
    }
    switch moment {
    case .beforeTheGrant:
      try await erase()
      _ = try await ledger.commit(credit: count)
      let read = try await ledger.targets(from: 0, count: count)
      expect(read.isErased(try #require(place)) && read.count == count)
      try await answer(ledger, read, except: place)
      var batch = OutcomeBatch()
      batch.append(.deviceGone, read, try #require(place))
      _ = try await ledger.commit(&batch, credit: 0)
    case .inFlight, .inFlightAndPruned:
      _ = try await ledger.commit(credit: count)
      try await erase()
      try await answer(ledger, chunk, pruning: moment == .inFlightAndPruned ? place : nil)
    case .waitingForRetry:
      _ = try await ledger.commit(credit: count)
      try await answer(ledger, chunk, except: place)
      _ = try await ledger.commit([try #require(place): .waiting(milliseconds: 0)], credit: 0)
      try await erase()
      _ = try await ledger.commit(credit: 1)
      var batch = OutcomeBatch()
      batch.append(
        LedgerRecord(state: .terminal(.deviceGone), attempt: 1, at: 6000), at: try #require(place), action: .none,
        token: chunk.token(try #require(place)), user: chunk.user(try #require(place)), timestamp: 6000,
        keepsResult: true)
      _ = try await ledger.commit(&batch, credit: 0)
    case .answered, .ended, .building:
      _ = try await ledger.commit(credit: count)
      try await answer(ledger, chunk)
      if moment == .answered { try await erase() }
    case .cancelled:
      _ = try await ledger.commit(credit: 10)
    }
    let counters = try #require(try await ledger.close(moment == .cancelled ? .cancel : .finish).counters)
    _ = try await world.store.slices.finish(ledger.slice, counters: counters, lane: campaign.delivery.lane, worker: "w")
    if moment == .ended || moment == .cancelled { try await erase() }
    if moment == .building { expect(try await world.store.erasure.finishErasures(), is: 1) }

    let record = try #require(try await world.store.campaigns.show("c"))
    expect(record.counters.targets == count && record.counters.outcomes.values.reduce(0, +) == count)
    var (results, erased): (Int, [Outcome?]) = (0, [])
    try await world.store.results.forEachResult(of: "c") { page in
      results += page.count
      erased += page.filter { $0.token == nil }.map(\.outcome)
      expect(page.allSatisfy { $0.token != nil || $0.user.isEmpty })
      return true
    }
    expect(results == count && erased.count == 1)
    _ = try await world.store.repair.check { findings in
      expect(findings.isEmpty, "\(findings.map { "\($0.key): \($0.problem)" })")
    }
    try await expectNothing(in: world, moment.rawValue)
  }

  /// Erases the user before the last pipeline of an expansion, which seals the slice.
  private func eraseWhileBuilding(
    _ ledger: SliceLedger, _ campaign: Campaign, _ departures: Int, in world: TestStore
  ) async throws -> ErasureSummary {
    // A campaign in another store shows the number of pipelines in an expansion.
    let model = try await TestStore(on: .single, partitions: 1)
    try await register(300, in: model)
    let other = try await model.activate("c", audience: #"{"segment":"*"}"#, #","results":"all""#)
    let (otherLedger, progress) = try await model.claimed("c")
    let steps = ExpansionSteps()
    try await StoreSteps.$beforeEach.withValue({ await steps.increment() }) {
      _ = try await model.expand(otherLedger, other, departures: progress.departures)
    }
    let last = await steps.restart()
    try await StoreSteps.$beforeEach.withValue({
      await steps.increment()
      guard await steps.count == last else { return }
      let forgotten = try await StoreSteps.$beforeEach.withValue(nil) {
        try await world.store.erasure.erase(Self.user)
      }
      await steps.set(forgotten)
    }) {
      _ = try await world.expand(ledger, campaign, departures: departures)
    }
    return try #require(await steps.forgotten)
  }

  /// A worker dies before each step of its expansion, and another worker takes the slice over before or after the
  /// erasure.
  @Test(arguments: [true, false])
  func listOfADeadWorkerDoesNotKeepTheUser(isTakenOverFirst: Bool) async throws {
    var step = 0
    while true {
      let world = try await TestStore(on: .single, partitions: 1)
      try await register(3000, in: world)
      let campaign = try await world.activate("c", audience: #"{"segment":"*"}"#)
      let dead = try await world.claimed("c", worker: "dead").ledger
      let isKilled = try await KilledCaller.dies(before: step) { _ = try await world.expand(dead, campaign) }
      guard isKilled else { break }
      if !isTakenOverFirst { expect(try await world.store.erasure.erase(Self.user).completeBy != nil) }
      try await world.endLease("c")
      let (ledger, progress) = try await world.claimed("c", worker: "next")
      if isTakenOverFirst { expect(try await world.store.erasure.erase(Self.user).completeBy != nil) }
      expect(try await world.expand(ledger, campaign, departures: progress.departures), is: 2999)
      expect(try await world.store.erasure.finishErasures(), is: 1)
      try await expectNothing(in: world, "killed before step \(step)")
      step += 1
    }
    expect(step > 2)
  }

  /// Counter of the pipelines of an expansion.
  private actor ExpansionSteps {
    private(set) var count = 0
    private(set) var forgotten: ErasureSummary?
    func increment() { count += 1 }
    func set(_ forgotten: ErasureSummary) { self.forgotten = forgotten }
    /// Resets the count and returns its last value.
    func restart() -> Int {
      defer { count = 0 }
      return count
    }
  }

  /// Raw tokens have no user, so the erasure finds them by the tokens of the user's devices.
  @Test func erasureFindsRawTokens() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await register(20, in: world)
    let ledger = try await world.sealed("raw", count: 10)
    _ = try await ledger.commit(credit: 10)
    try await answer(ledger, ledger.targets(from: 0, count: 10))
    _ = try await world.store.erasure.erase(Self.user)
    var read: [Bool] = []
    try await world.store.results.forEachResult(of: "raw") { page in
      read += page.map { $0.token == nil }
      return true
    }
    expect(read.count == 10 && read.count { $0 } == 1)
  }

  /// A campaign that has not been expanded keeps the users and tokens of its job in sets.
  @Test func erasureReachesAudiencesThatAreNotExpanded() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await register(20, in: world)
    let users = #"{"users":[{"user":"\#(Self.user)","vars":{"x":"\#(Self.value)"}},"u1"]}"#
    try await world.activate(
      "users", audience: users, #","localized":{"de":{"apns":{"payload":{"aps":{"alert":"{{x}}"}}}}}"#)
    try await world.activate(
      "tokens", audience: #"{"tokens":["\#(TestStore.text(Self.victim))","\#(TestStore.text(1))"]}"#)
    _ = try await world.store.erasure.erase(Self.user)
    let left = try await world.command("SMEMBERS", world.keys.audience(0, "users")).map(\.string)
    expect(left, is: ["u1"])
    expect(try await world.command("HLEN", world.keys.values(0, "users")).integer, is: 0)
    let tokens = try await world.command("SMEMBERS", world.keys.audience(0, "tokens")).map { Array($0.bytes ?? []) }
    expect(tokens, is: [TestStore.token(1)])
  }

  /// Users of a control group have no target. Separate pages name them.
  @Test func erasedUserLeavesTheControlGroup() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await register(300, in: world)
    let campaign = try await world.activate("c", audience: #"{"segment":"*"}"#, #","control":0.5"#)
    let (ledger, progress) = try await world.claimed("c")
    let filter = DeviceFilter(
      campaign, service: TestStore.service, environment: "production", start: 0, control: nil)
    let targets = try #require(
      try await world.store.expansion.expand(ledger, of: campaign, filter: filter, departures: progress.departures))
    let count = targets.count
    let before = try await controlUsers(in: world)
    expect(before.count, is: 300 - count)
    let erased = try #require(before.first)
    let forgotten = try await world.store.erasure.erase(erased)
    expect(forgotten.devices == 1 && forgotten.completeBy == nil)
    let after = try await controlUsers(in: world)
    expect(after, is: before.filter { $0 != erased })
    _ = try await ledger.commit(credit: count)
    try await answer(ledger, ledger.targets(from: 0, count: count))
    let counters = try #require(try await ledger.close(.finish).counters)
    expect(counters.control, is: before.count)
    _ = try await world.store.slices.finish(ledger.slice, counters: counters, lane: campaign.delivery.lane, worker: "w")
    _ = try await world.store.repair.check { findings in
      expect(findings.isEmpty, "\(findings.map { "\($0.key): \($0.problem)" })")
    }
  }

  private func controlUsers(in world: TestStore) async throws -> [String] {
    let pages = try await world.command("LRANGE", world.keys.control(0, "c"), 0, -1)
    return pages.flatMap { $0.withBytes(ControlUsers.users) }
  }

  /// An older worker rejects a page with an erased target by its version, and does not report it as damaged.
  @Test func erasureGivesAnOlderSliceThePresentVersion() async throws {
    let world = try await TestStore(on: .single, partitions: 1)
    try await register(20, in: world)
    let (ledger, chunk) = try await world.expandAll("c")
    try await answer(ledger, chunk)
    let key = world.keys.slice(0, of: "c")
    try await world.command("HSET", key, "format", TargetPage.oldestErasableVersion)
    _ = try await world.store.erasure.erase("nobody")
    expect(try await world.command("HGET", key, "format").integer, is: TargetPage.oldestErasableVersion)
    _ = try await world.store.erasure.erase(Self.user)
    expect(try await world.command("HGET", key, "format").integer, is: TargetPage.formatVersion)
    try await expectNothing(in: world, "version \(TargetPage.oldestErasableVersion)")
  }

  /// The process that erases may end before each of its steps. Housekeeping then completes the erasure.
  @Test func erasureIsCompletedAfterACrashAtAnyStep() async throws {
    struct Killed: Error {}
    actor Steps {
      var left: Int
      init(_ left: Int) { self.left = left }
      func next() -> Bool {
        left -= 1
        return left < 0
      }
    }
    var (step, isComplete) = (0, false)
    while !isComplete {
      let world = try await TestStore(on: .single, partitions: 1, streamLength: 100)
      try await register(10, in: world)
      let campaign = try await world.activate("c", audience: #"{"segment":"*"}"#, #","results":"all""#)
      let (ledger, progress) = try await world.claimed("c")
      _ = try await world.expand(ledger, campaign, departures: progress.departures)
      _ = try await ledger.commit(credit: 10)
      try await answer(ledger, ledger.targets(from: 0, count: 10))
      let steps = Steps(step)
      do {
        try await StoreSteps.$beforeEach.withValue({ if await steps.next() { throw Killed() } }) {
          _ = try await world.store.erasure.erase(Self.user)
        }
        isComplete = true
      } catch is Killed {
        // The store has no record of the erasure if the process was killed before it began.
        if try await world.store.erasure.finishErasures() == 0 { _ = try await world.store.erasure.erase(Self.user) }
      }
      try await expectNothing(in: world, "killed before step \(step)")
      expect(try await world.command("EXISTS", world.keys.erasing).integer, is: 0)
      step += 1
    }
    expect(step > 10)
  }

  /// An older statement creates a list during the erasure, before one of the erasure's steps. The test tries every
  /// step.
  @Test(arguments: Backend.allCases)
  func listCreatedDuringAnErasureDoesNotKeepTheUser(on backend: Backend) async throws {
    actor Steps {
      private var left: Int
      init(_ left: Int) { self.left = left }
      func next() -> Bool {
        left -= 1
        return left == -1
      }
      /// Whether the erasure had fewer steps.
      var areLeft: Bool { left >= 0 }
    }
    var (step, hasEnded) = (0, false)
    while !hasEnded {
      let world = try await TestStore(on: backend, partitions: 1)
      try await register(10, in: world)
      let old = try await world.store.time() / 1000 - 3_600_000
      let statements = [
        RegistrationEvent(.tag(user: Self.user, segments: ["vip"], isMember: true), at: old),
        RegistrationEvent(.preference(user: Self.user, SuppressionList(app: "news"), isAllowed: false), at: old),
      ]
      let steps = Steps(step)
      try await StoreSteps.$beforeEach.withValue({
        guard await steps.next() else { return }
        try await StoreSteps.$beforeEach.withValue(nil) { try await world.store.registry.apply(statements) }
      }) {
        _ = try await world.store.erasure.erase(Self.user)
      }
      hasEnded = await steps.areLeft
      let lists = try await world.store.audiences.lists(of: Self.user)
      expect(lists.segments.isEmpty && lists.suppression.isEmpty, "before step \(step): \(lists)")
      step += 1
    }
  }

  /// The erasure runs after a list has its name and before it has its first user. A cluster would run both in any order
  /// if one step wrote them.
  @Test(arguments: Backend.allCases, ["vip", SuppressionList(app: "news").segment])
  func listHasItsNameBeforeItsFirstUser(on backend: Backend, list: String) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let statement = [Self.user: MembershipStatement(isMember: true, at: try await world.store.time() / 1000 - 1000)]
    let erasures = Mutex(0)
    let change = try await StoreSteps.$beforeEach.withValue({
      try await StoreSteps.$beforeEach.withValue(nil) {
        guard try await world.store.audiences.userLists() == [list] else { return }
        expect(try await world.store.audiences.size(ofSegment: list), is: 0)
        _ = try await world.store.erasure.erase(Self.user)
        erasures.withLock { $0 += 1 }
      }
    }) {
      try await world.store.audiences.set(statement, in: list)
    }
    expect(change.superseded, is: 1)
    expect(erasures.withLock { $0 }, is: 1)
    expect(try await world.store.audiences.size(ofSegment: list), is: 0)
  }

  /// Ways in which an older statement creates a list of users in several steps.
  enum LateList: CaseIterable {
    case importedSegment, importedSuppressionList, activity
  }

  /// An erasure runs before each step of a change that creates a list from older statements, and after its last one.
  @Test(arguments: Backend.allCases, LateList.allCases)
  func erasureDuringTheCreationOfAListRemovesTheUser(on backend: Backend, late: LateList) async throws {
    var (step, hasErased) = (0, true)
    while hasErased {
      let world = try await TestStore(on: backend, partitions: 1)
      let steps = Mutex((left: step, hasErased: false))
      try await StoreSteps.$beforeEach.withValue({
        let isNow = steps.withLock { steps in
          steps.left -= 1
          if steps.left == -1 { steps.hasErased = true }
          return steps.left == -1
        }
        guard isNow else { return }
        try await StoreSteps.$beforeEach.withValue(nil) { _ = try await world.store.erasure.erase(Self.user) }
      }) {
        try await Self.create(late, in: world)
      }
      hasErased = steps.withLock { $0.hasErased }
      if !hasErased { _ = try await world.store.erasure.erase(Self.user) }
      for list in try await world.store.audiences.userLists() {
        expect(try await world.store.audiences.size(ofSegment: list), is: 0, "\(list) before step \(step)")
      }
      expect(try await world.keyNames("{\(world.keys.namespace):*}:segment:*"), is: [], "before step \(step)")
      step += 1
    }
    expect(step > 3)
  }

  /// Creates a list with the user by a statement that is an hour old.
  private static func create(_ late: LateList, in world: TestStore) async throws {
    let (store, old) = (world.store, try await world.store.time() / 1000 - 3_600_000)
    switch late {
    case .importedSegment, .importedSuppressionList:
      let list = late == .importedSegment ? "vip" : SuppressionList(app: "news").segment
      var replacement = try await store.audiences.replacement(of: list, asOf: old)
      _ = try await store.audiences.add([user], to: &replacement)
      try await store.audiences.putInForce(replacement)
    case .activity:
      var device = TestStore.device(7, registeredAt: UInt64(old))
      (device.kind, device.activity) = (.liveActivity, "match")
      try await store.registry.register([DeviceRegistration(user: user, device: device)])
    }
  }
}
