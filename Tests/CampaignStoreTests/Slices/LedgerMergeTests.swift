@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Merges of records by `commit.lua`, compared with a model in Swift. A record never returns to an earlier state, and
/// the counters change with the records.
struct LedgerMergeTests {
  @Test(arguments: Backend.allCases)
  func everyPairOfRecordsMergesLikeTheModel(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let pairs = LedgerModel.states.flatMap { old in LedgerModel.states.map { (old, $0) } }
    let ledger = try await world.sealed("a", count: pairs.count)
    var model = LedgerModel(count: pairs.count)
    try await ledger.commit(credit: pairs.count)
    model.grant(pairs.count)
    for side in [\(LedgerRecord, LedgerRecord).0, \.1] {
      try await ledger.commit(Dictionary(uniqueKeysWithValues: pairs.indices.map { ($0, pairs[$0][keyPath: side]) }))
      for (index, pair) in pairs.enumerated() { model.merge(pair[keyPath: side], at: index) }
      try await expectAgreement(model, world, ledger)
    }
  }

  @Test(arguments: Backend.allCases)
  func mergingTwiceIsMergingOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let states = LedgerModel.states
    let ledger = try await world.sealed("a", count: states.count)
    let batch = Dictionary(uniqueKeysWithValues: zip(states.indices, states))
    try await ledger.commit(credit: states.count)
    try await ledger.commit(batch)
    let once = try await world.slice("a").numbers.filter { !["lease", "seq"].contains($0.key) }
    try await ledger.commit(batch)
    expect(try await world.slice("a").numbers.filter { !["lease", "seq"].contains($0.key) }, is: once)
  }

  @Test(arguments: Backend.allCases, [1, 2, 3])
  func randomCommitsOfOwnerAndStaleOwnerKeepTheCounters(on backend: Backend, round: UInt64) async throws {
    var seed = Seed("randomCommitsOfOwnerAndStaleOwnerKeepTheCounters \(round)")
    let count = 200
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: count)
    try await world.endLease("a")
    let owner = try await world.claimed("a").ledger
    var model = LedgerModel(count: count)
    let states = LedgerModel.states
    for _ in 0..<60 {
      let isOwner = Int.random(in: 0..<4, using: &seed) > 0
      // Neighbours, gaps and single targets; sometimes in a range, sometimes anywhere.
      let start = Int.random(in: 0..<count, using: &seed)
      let indexes = (0..<Int.random(in: 0...40, using: &seed)).map { _ in
        min(count - 1, start + Int.random(in: 0..<(Bool.random(using: &seed) ? 30 : count), using: &seed))
      }
      let credit = Int.random(in: 0..<20, using: &seed)
      var batch: [Int: LedgerRecord] = [:]
      for index in indexes { batch[index] = states.randomElement(using: &seed) }
      let answer = try await (isOwner ? owner : stale).commit(batch, credit: credit)
      for (index, record) in batch { model.merge(record, at: index, byOwner: isOwner) }
      if isOwner { model.grant(credit) }
      expect(answer.isOwner, is: isOwner)
      expect(answer.granted, is: model.granted, "seed \(seed.value)")
      expect(answer.inDoubt, is: model.inDoubt, "seed \(seed.value)")
      expect(answer.waiting, is: model.waiting, "seed \(seed.value)")
    }
    try await expectAgreement(model, world, owner)
  }

  /// Undelivered outcomes of a stale owner are dropped, and they do not raise the high-water mark.
  @Test(arguments: Backend.allCases)
  func undeliveredOutcomesOfAStaleOwnerAreDropped(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: 6)
    try await world.endLease("a")
    let owner = try await world.claimed("a", worker: "new").ledger
    expect(try await stale.commit([3: .terminal(.expired), 4: .terminal(.failed)]).granted, is: 0)
    let answer = try await stale.commit([1: .terminal(.accepted), 2: .terminal(.failed), 3: .terminal(.expired)])
    expect(answer.granted == 2 && answer.inDoubt == 1)
    expect(try await owner.records(from: 0, count: 6).records.map(\.state.code), is: [0, 16, 0, 0, 0, 0])
  }

  @Test(arguments: Backend.allCases)
  func sameTargetTwiceInOneBatchCountsOnce(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 3, granted: 3)
    var batch = OutcomeBatch()
    batch.append(.waiting(milliseconds: 60_000), at: 1)
    batch.append(.terminal(.accepted), at: 1)
    batch.append(.terminal(.failed), at: 1)
    let answer = try await ledger.commit(&batch, credit: 0)
    expect(answer.waiting, is: 0)
    expect(answer.inDoubt, is: 2)
    expect(try await world.slice("a").numbers["16"], is: 1)
    expect(try await world.command("ZCARD", world.keys.retry(0, "a")).integer, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func indexBeyondTheTargetsIsIgnored(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 3)
    let answer = try await ledger.commit([2: .terminal(.accepted), 3: .terminal(.accepted), 9: .terminal(.failed)])
    expect(answer.granted, is: 3)
    expect(answer.inDoubt, is: 2)
    expect(try await world.slice("a").numbers["16"], is: 1)
    expect(try await world.slice("a").numbers["22"], is: nil)
  }

  /// Compares the model with the records, the counters of the hash and the index of retries.
  private func expectAgreement(_ model: LedgerModel, _ world: TestStore, _ ledger: SliceLedger) async throws {
    let records = try await ledger.records(from: 0, count: model.records.count).records
    let now = try await world.store.time() / 1000
    for (index, (record, expected)) in zip(records, model.records).enumerated() {
      var expected = expected
      if expected.state == .waiting {
        // The script converts delays to times of Redis' clock.
        expect((-600_000...0).contains(Int(record.at) - now - Int(expected.at)))
        expected.at = record.at
      }
      expect(record, is: expected, "target \(index)")
    }
    let slice = try await world.slice("a").numbers
    expect(slice["granted"], is: model.granted)
    expect(slice["doubt"], is: model.inDoubt)
    expect(slice["waiting"], is: model.waiting)
    for outcome in Outcome.allCases {
      expect(slice[String(outcome.rawValue)] ?? 0 == model.outcomes[outcome] ?? 0, "\(outcome)")
    }
    let indexed = try await world.command("ZRANGE", world.keys.retry(0, "a"), 0, -1).compactMap(\.integer)
    expect(indexed.sorted(), is: model.records.indices.filter { model.records[$0].state == .waiting })
    // Every target is in exactly one of these groups.
    let answered = model.outcomes.values.reduce(0, +)
    expect(answered + model.waiting + model.inDoubt + model.records.count - model.granted, is: model.records.count)
  }
}
