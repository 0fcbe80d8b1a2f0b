@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Feedback about pruned devices. It reaches the owner index and the app's backend at least once, and undoes no later
/// change.
struct FeedbackTests {
  @Test(arguments: Backend.allCases)
  func prunedTokenIsReportedAndHasNoOwner(on backend: Backend) async throws {
    let world = try await pruned(on: backend, user: #"x "quoted" ü"#)
    expect(
      try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: [#"x "quoted" ü"#])
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    expect(try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: [nil])
    let lines = try await world.command("LRANGE", world.keys.feedback, 0, -1)
    let time = try await world.store.time() / 1000
    let members = try JSONValue(parsing: Array(lines[0].bytes ?? []), maximumDepth: 1)
    guard case .object(let object) = members.kind else {
      Issue.record("no object: \(lines)")
      return
    }
    let text = Dictionary(
      uniqueKeysWithValues: object.map { member -> (String, String) in
        if case .string(let string) = member.value.kind { (member.name, string) } else { (member.name, "") }
      })
    expect(text["user"], is: #"x "quoted" ü"#)
    expect(text["token"], is: TestStore.text(1))
    expect(text["app"], is: "news")
    expect(text["reason"], is: "Unregistered")
    let at = try #require(Timestamp.milliseconds(text["at"] ?? ""))
    expect((time - 60_000...time).contains(at))
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 0)
  }

  @Test(arguments: Backend.allCases)
  func deviceThatRegisteredAgainBeforeTheDeliveryStays(on backend: Backend) async throws {
    let world = try await pruned(on: backend, user: "x", registeredAt: 0)
    // Without a registration time of its own, the device looks like the pruned one.
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1, registeredAt: 0))
    ])
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    expect(try await world.store.registry.user("x")?.devices.count, is: 1)
    expect(try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: ["x"])
  }

  @Test(arguments: Backend.allCases)
  func deviceThatMovedBeforeTheDeliveryKeepsItsNewOwner(on backend: Backend) async throws {
    let world = try await pruned(on: backend, user: "x")
    try await world.store.registry.register([
      DeviceRegistration(user: "y", device: TestStore.device(1, registeredAt: 2000))
    ])
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    expect(try await world.store.registry.user("y")?.devices.count, is: 1)
    expect(try await world.store.registry.owners(of: [TestStore.deviceToken(1)], TestStore.service), is: ["y"])
  }

  @Test(arguments: Backend.allCases)
  func severalPartitionsAreDeliveredTogether(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<60)
    let campaign = try await world.activate("a")
    var pruned = 0
    // One partition has nothing to deliver.
    for partition in 0..<7 {
      let ledger = try await world.claimed("a", partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      try await ledger.commit(credit: count)
      let chunk = try await ledger.targets(from: 0, count: count)
      var batch = OutcomeBatch()
      for position in 0..<count { batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered") }
      _ = try await ledger.commit(&batch, credit: 0)
      pruned += count
    }
    expect(try await world.store.results.deliverFeedback(from: 0..<8), is: pruned)
    expect(try await world.command("LLEN", world.keys.feedback).integer, is: pruned)
    let owners = try await world.store.registry.owners(
      of: (0..<60).map { try TestStore.deviceToken($0) }, TestStore.service)
    expect(owners.count { $0 == nil }, is: pruned)
    for partition in 0..<8 { expect(try await world.command("LLEN", world.keys.outbox(partition)).integer, is: 0) }
  }

  /// A raw token of a job whose device a user has registered.
  private func raw(
    on backend: Backend, registeredAt: UInt64, answeredAt: UInt64
  ) async throws -> (world: TestStore, ledger: SliceLedger) {
    let world = try await TestStore(on: backend, partitions: 1, streamLength: 100)
    let device = TestStore.device(0, registeredAt: registeredAt)
    try await world.store.registry.register([DeviceRegistration(user: "x", device: device)])
    let ledger = try await world.sealed("a", count: 1, granted: 1)
    let chunk = try await ledger.targets(from: 0, count: 1)
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, at: answeredAt, reason: "Unregistered")
    _ = try await ledger.commit(&batch, credit: 0)
    return (world, ledger)
  }

  private func expectFeedback(_ count: Int, _ world: TestStore) async throws {
    expect(try await world.command("LLEN", world.keys.feedback).integer, is: count)
    expect(try await world.command("XLEN", world.keys.events).integer, is: count)
  }

  @Test(arguments: Backend.allCases)
  func rawTokenRegisteredAfterTheAnswerIsNotReported(on backend: Backend) async throws {
    let (world, ledger) = try await raw(on: backend, registeredAt: 9000, answeredAt: 5000)
    _ = try await world.store.results.deliverFeedback(from: [0])
    expect(try await world.store.registry.user("x")?.devices.count, is: 1)
    try await expectFeedback(0, world)
    let counters = try #require(try await ledger.close(.finish).counters)
    expect(counters.outcomes == [.unregistered: 1] && counters.pruned == 0)
  }

  @Test(arguments: Backend.allCases)
  func rawTokenRegisteredBeforeTheDeliveryIsNotReported(on backend: Backend) async throws {
    let (world, _) = try await raw(on: backend, registeredAt: 1000, answeredAt: 5000)
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(0, registeredAt: 9000))
    ])
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    expect(try await world.store.registry.user("x")?.devices.count, is: 1)
    try await expectFeedback(0, world)
  }

  @Test(arguments: Backend.allCases)
  func removedRawTokenIsReportedAtEachDelivery(on backend: Backend) async throws {
    let (world, ledger) = try await raw(on: backend, registeredAt: 1000, answeredAt: 5000)
    let entry = try #require(try await world.command("LINDEX", world.keys.outbox(0), 0).bytes.map(Array.init))
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    expect(try await world.store.registry.user("x") == nil)
    try await expectFeedback(1, world)
    // A worker died after the removal and before the message to the backend.
    try await world.command("RPUSH", world.keys.outbox(0), entry)
    expect(try await world.store.results.deliverFeedback(from: [0]), is: 1)
    try await expectFeedback(2, world)
    expect(try await ledger.close(.finish).counters?.pruned, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func twoWorkersOnOneOutboxLoseNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<1200)
    let (ledger, chunk) = try await world.expandAll("a")
    for start in stride(from: 0, to: 1200, by: 400) {
      var batch = OutcomeBatch()
      for position in start..<(start + 400) {
        batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered")
      }
      _ = try await ledger.commit(&batch, credit: 0)
    }
    let delivered = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 { group.addTask { try await world.store.results.deliverFeedback(from: [0]) } }
      return try await group.reduce(0, +)
    }
    expect(delivered, is: 1200)
    let lines = try await world.command("LRANGE", world.keys.feedback, 0, -1).compactMap(\.string)
    expect(lines.count >= 1200)
    expect(Set(lines).count, is: 1200)
    expect(try await world.command("HLEN", world.keys.owner(0)).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func secondDeliveryRemovesNothingFromTheOutbox(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.command("RPUSH", world.keys.outbox(0), "1", "2", "3", "4", "5")
    func deliver(_ count: Int, _ first: String, _ last: String) async throws -> Int? {
      try await world.redis.script(StoreScripts.trim, keys: [world.keys.outbox(0)]) {
        $0.append(count)
        $0.append(first)
        $0.append(last)
      }.get().integer
    }
    expect(try await deliver(2, "1", "2"), is: 1)
    expect(try await deliver(2, "1", "2"), is: 0)
    expect(try await deliver(3, "3", "4"), is: 0)
    expect(try await deliver(3, "3", "5"), is: 1)
    expect(try await deliver(3, "3", "5"), is: 0)
  }

  /// A store in which a commit has pruned a user's only device, and the feedback has not been delivered.
  private func pruned(on backend: Backend, user: String, registeredAt: UInt64 = 1000) async throws -> TestStore {
    let world = try await TestStore(on: backend, partitions: 1)
    let device = TestStore.device(1, registeredAt: registeredAt)
    try await world.store.registry.register([DeviceRegistration(user: user, device: device)])
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, reason: "Unregistered")
    _ = try await ledger.commit(&batch, credit: 0)
    expect(try await world.store.registry.user(user) == nil)
    return world
  }
}
