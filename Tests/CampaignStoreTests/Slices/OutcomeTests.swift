@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Effects of an outcome outside the ledger: on the device, the results hash, the reasons and the outbox.
struct OutcomeTests {
  @Test(
    arguments: Backend.allCases,
    [
      // Columns: registeredAt, timestamp of the answer, whether the device is pruned.
      (1000, 999, false), (1000, 1000, true), (1000, 1001, true), (0, 1, true), (0, 0, true),
      (1_700_000_000_001, 1_700_000_000_000, false),
    ] as [(UInt64, UInt64, Bool)])
  func prunesWhatRegisteredAtOrBeforeTheAnswer(
    on backend: Backend, rule: (registeredAt: UInt64, timestamp: UInt64, isPruned: Bool)
  ) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<1, registeredAt: rule.registeredAt)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, at: rule.timestamp, reason: "Unregistered")
    _ = try await ledger.commit(&batch, credit: 0)
    let isGone = try await world.store.registry.user("u0") == nil
    expect(isGone, is: rule.isPruned)
    expect(try await world.slice("a").numbers["pruned"], is: rule.isPruned ? 1 : nil)
    expect(try await world.command("LLEN", world.keys.outbox(0)).integer, is: rule.isPruned ? 1 : 0)
    // The outcome is recorded in both cases.
    expect(try await world.slice("a").numbers["17"], is: 1)
  }

  @Test(arguments: Backend.allCases)
  func deviceThatRegisteredAgainDuringThePushStays(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<1, registeredAt: 1000)
    let (ledger, chunk) = try await world.expandAll("a")
    try await world.registerUsers(0..<1, registeredAt: 9000)
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, at: 5000, reason: "Unregistered")
    _ = try await ledger.commit(&batch, credit: 0)
    expect(try await world.store.registry.user("u0")?.devices.map(\.registeredAt), is: [9000])
  }

  @Test(arguments: Backend.allCases)
  func usersAreThoseWithADevice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.registry.register([
      DeviceRegistration(user: "x", device: TestStore.device(1)),
      DeviceRegistration(user: "x", device: TestStore.device(2)),
      DeviceRegistration(user: "y", device: TestStore.device(3)),
    ])
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    for position in 0..<3 where chunk.token(position).last != 2 {
      batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered")
    }
    _ = try await ledger.commit(&batch, credit: 0)
    expect(try await world.store.registry.user("x")?.devices.map(\.token), is: [TestStore.token(2)])
    expect(try await world.store.registry.user("y") == nil)
    expect(try await world.command("SMEMBERS", world.keys.users(0)).map(\.string), is: ["x"])
  }

  @Test(arguments: Backend.allCases)
  func quarantinedDeviceIsKeptAndNotReachedAgain(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.badToken, chunk, 0, .quarantine, reason: "BadDeviceToken")
    _ = try await ledger.commit(&batch, credit: 0)
    let user = String(decoding: chunk.user(0), as: UTF8.self)
    expect(try await world.store.registry.user(user)?.devices.map(\.isQuarantined), is: [true])
    expect(try await world.slice("a").numbers["quarantined"], is: 1)
    expect(try await world.command("LLEN", world.keys.outbox(0)).integer, is: 0)
    expect(try await world.expandAll("b").chunk.count, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func repeatedCommitDoesNothingTwice(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, reason: "Unregistered")
    batch.append(.badToken, chunk, 1, .quarantine, reason: "BadDeviceToken")
    for _ in 0..<2 { _ = try await ledger.commit(&batch, credit: 0) }
    expect(try await world.slice("a").numbers["pruned"], is: 1)
    expect(try await world.slice("a").numbers["quarantined"], is: 1)
    expect(try await world.command("LLEN", world.keys.outbox(0)).integer, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func supersededOutcomePrunesNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<1)
    let (ledger, chunk) = try await world.expandAll("a")
    try await ledger.commit([0: .terminal(.accepted)])
    var batch = OutcomeBatch()
    batch.append(.unregistered, chunk, 0, .prune, reason: "Unregistered")
    _ = try await ledger.commit(&batch, credit: 0)
    expect(try await world.store.registry.user("u0")?.devices.count, is: 1)
    expect(try await world.command("EXISTS", world.keys.results(0, "a")).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func resultsHashHasTheLinesOfTheMode(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<4)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.accepted, chunk, 0, at: 1_700_000_000_001)
    batch.append(.badToken, chunk, 1, at: 1_700_000_000_002, reason: "BadDeviceToken")
    batch.append(.rejected, chunk, 2, keepsResult: false, reason: "PayloadTooLarge")
    batch.append(
      LedgerRecord(state: .terminal(.failed), at: 1_700_000_000_003), at: 3, action: .none, token: chunk.token(3),
      user: chunk.user(3), timestamp: 0, keepsResult: true)
    _ = try await ledger.commit(&batch, credit: 0)
    let key = world.keys.results(0, "a")
    func line(_ position: Int) async throws -> String? {
      try await world.command("HGET", key, Hex.encode(chunk.token(position))).string
    }
    expect(try await line(0), is: "accepted 200 - 1700000000001")
    expect(try await line(1), is: "badToken 400 BadDeviceToken 1700000000002")
    expect(try await line(2), is: nil)
    expect(try await line(3), is: "failed - - 1700000000003")
  }

  @Test(arguments: Backend.allCases)
  func acceptanceTakesTheLineOfTheOutcomeItOverrides(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    for position in 0..<3 { batch.append(.unknown, chunk, position, reason: "Strange") }
    _ = try await ledger.commit(&batch, credit: 0)
    // In `failures` mode an acceptance has no detail; in `all` mode it has one.
    batch.removeAll()
    batch.append(.terminal(.accepted), at: 0)
    batch.append(.accepted, chunk, 1)
    _ = try await ledger.commit(&batch, credit: 0)
    let lines = try await world.command("HGETALL", world.keys.results(0, "a"))
    expect(lines.count, is: 4)
    expect(try await world.command("HGET", world.keys.results(0, "a"), Hex.encode(chunk.token(0))).isNull)
    expect(
      try await world.command("HGET", world.keys.results(0, "a"), Hex.encode(chunk.token(1))).string,
      is: "accepted 200 - 5000")
    expect(try await world.command("HKEYS", world.keys.reasons(0, "a")).map(\.integer), is: [2])
  }

  @Test(arguments: Backend.allCases)
  func unknownReasonIsKeptAsText(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<2)
    let (ledger, chunk) = try await world.expandAll("a")
    var batch = OutcomeBatch()
    batch.append(.rejected, chunk, 0, keepsResult: false, reason: "TooManyMoons")
    batch.append(.rejected, chunk, 1, keepsResult: false, reason: "BadPath")
    _ = try await ledger.commit(&batch, credit: 0)
    expect(try await ledger.record(0).reason, is: .other)
    var reasons: [String] = []
    try await world.store.results.forEachResult(of: "a") { page in
      reasons += page.map(\.reason)
      return true
    }
    expect(reasons, is: ["TooManyMoons", "BadPath"])
    // Only a reason without a code of its own takes space outside the ledger.
    expect(try await world.command("HLEN", world.keys.reasons(0, "a")).integer, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func rawTokenIsPrunedAtItsOwner(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<3)
    let tokens = (0..<5).map { "\"" + TestStore.text($0) + "\"" }.joined(separator: ",")
    let campaign = try await world.activate("a", audience: #"{"tokens":[\#(tokens)]}"#)
    while let slice = try await world.store.slices.dequeueSlice(worker: "w") {
      let ledger = try await world.claimed("a", slice.partition).ledger
      let count = try #require(try await world.expand(ledger, campaign))
      try await ledger.commit(credit: count)
      let chunk = try await ledger.targets(from: 0, count: count)
      var batch = OutcomeBatch()
      for position in 0..<count {
        // Tokens 0 and 3 are unregistered, 1 and 4 are bad. Tokens 3 and 4 have no owner.
        switch Int(chunk.token(position).last ?? 0) % 3 {
        case 0: batch.append(.unregistered, chunk, position, .prune, reason: "Unregistered")
        case 1: batch.append(.badToken, chunk, position, .quarantine, reason: "BadDeviceToken")
        default: batch.append(.accepted, chunk, position)
        }
      }
      _ = try await ledger.commit(&batch, credit: 0)
      try await world.store.results.deliverFeedback(from: [slice.partition])
    }
    expect(try await world.store.registry.user("u0") == nil)
    expect(try await world.store.registry.user("u1")?.devices.map(\.isQuarantined), is: [true])
    expect(try await world.store.registry.user("u2")?.devices.map(\.isQuarantined), is: [false])
    expect(
      try await world.store.registry.owners(
        of: [TestStore.deviceToken(0), TestStore.deviceToken(1)], TestStore.service),
      is: [
        nil, "u1",
      ])
    expect(try await world.command("LLEN", world.keys.feedback).integer, is: 1)
    let counters = try #require(try await world.store.campaigns.show("a")).counters
    expect(counters.pruned, is: 1)
    expect(counters.quarantined, is: 1)
    expect(counters.outcomes, is: [.accepted: 1, .unregistered: 2, .badToken: 2])
  }
}
