@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Batches of slices. The slices take their steps together, but each has a fence of its own.
struct SliceBatchTests {
  private func ledgers(_ world: TestStore, _ id: String, _ partitions: Range<Int>) -> [SliceLedger] {
    partitions.map {
      SliceLedger(
        store: world.store, slice: SliceReference(campaign: id, partition: $0), lease: TestStore.timeout, app: "news")
    }
  }

  private func batch(_ ledgers: [SliceLedger], _ world: TestStore, _ campaign: Campaign) -> SliceBatch {
    SliceBatch(ledgers, store: world.store.pinned(), of: campaign, filter: TestStore.filter)
  }

  @Test(arguments: Backend.allCases)
  func slicesAreDequeuedTogetherAndOnlyOneCampaigns(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 5, activating: "a")
    try await world.activate("b")
    let first = try await world.store.slices.dequeueSlices(worker: "w", atMost: { _ in 3 })
    expect(Set(first).count == 3 && Set(first.map(\.campaign)).count == 1)
    expect(Set(try await world.store.slices.processing(of: "w")), is: Set(first))
    var all = first
    while case let more = try await world.store.slices.dequeueSlices(worker: "w", atMost: { _ in 3 }), !more.isEmpty {
      expect(more.count <= 3)
      all += more
    }
    expect(all.count == 10 && Set(all).count == 10)
  }

  @Test(arguments: Backend.allCases)
  func invalidPartitionIsNotDequeued(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 3, activating: "a")
    try await world.command("LPUSH", world.keys.open("a"), "17", "x", "1.0")
    let slices = try await world.store.slices.dequeueSlices(worker: "w", atMost: { _ in 10 })
    expect(slices.map(\.partition).sorted(), is: [0, 1, 2])
  }

  @Test(arguments: Backend.allCases, [#"{"segment":"*"}"#, #"{"segment":"a & !b"}"#, #"{"segment":"a"}"#])
  func batchIsExpandedSealedGrantedAndEnded(on backend: Backend, audience: String) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<30)
    try await world.store.audiences.add((0..<20).map { "u\($0)" }, to: "a")
    try await world.store.audiences.add((0..<5).map { "u\($0)" }, to: "b")
    let campaign = try await world.activate("c", audience: audience)
    let expected = audience.contains("*") ? 30 : audience.contains("!") ? 15 : 20
    let ledgers = ledgers(world, "c", 0..<8)
    var batch = batch(ledgers, world, campaign)
    for answer in try await batch.claim(worker: "w", gracePeriod: 0) {
      guard case .claimed(let progress) = try answer.get() else { throw TestSupportError("not claimed") }
      expect(!progress.isSealed)
    }
    let counts = try await batch.expand(Array(0..<8)).map { try $0.get() }
    expect(counts.reduce(0) { $0 + ($1 ?? 0) }, is: expected)
    let answers = try await batch.seal((0..<8).map { ($0, counts[$0] ?? 0) })
    var ended: [(SliceReference, SliceCounters)] = []
    var commits: [SliceCommit] = []
    for (position, answer) in answers.enumerated() {
      let answer = try answer.get()
      expect(answer.isSealed)
      if let counters = answer.counters {
        expect(counts[position], is: 0)
        ended.append((ledgers[position].slice, counters))
        continue
      }
      expect(answer.commit?.granted, is: counts[position])
      // The batch and Redis have the same sealed targets.
      let chunk = try await ledgers[position].targets(from: 0, count: 10)
      expect(chunk.bytes == batch.targets(of: position).chunk.bytes && chunk.count == counts[position])
      var outcomes = OutcomeBatch()
      for index in 0..<chunk.count { outcomes.append(LedgerRecord(state: .terminal(.accepted), at: 1), at: index) }
      commits.append(
        SliceCommit(
          ledger: ledgers[position], outcomes: outcomes,
          request: CommitRequest(
            seal: ledgers[position].claim, expected: .acknowledged(answer.commit?.version.next ?? SliceVersion())),
          closes: true))
    }
    for (commit, answer) in zip(commits, try await world.store.slices.commit(&commits)) {
      ended.append((commit.ledger.slice, try #require(try answer.get().counters)))
    }
    expect(try await world.store.slices.finish(ended, lane: .normal, worker: "w"), is: .completed)
    let record = try #require(try await world.store.campaigns.show("c"))
    expect(record.counters.targets == expected && record.counters.outcomes == [.accepted: expected])
    // An ended slice is counted once, however often its end is reported.
    expect(try await world.store.slices.finish(ended, lane: .normal, worker: "w"), is: nil)
    expect(try await world.store.campaigns.show("c")?.counters.targets, is: expected)
  }

  @Test(arguments: Backend.allCases)
  func failureOfOneSliceDoesNotAffectTheOthers(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 4, users: 0..<40)
    let campaign = try await world.activate("c")
    let ledgers = ledgers(world, "c", 0..<4)
    // One slice belongs to another worker, one can't be read, and one loses its claim before the seal.
    _ = try await world.claimed("c", 0, worker: "other")
    try await world.command("DEL", world.keys.users(1))
    try await world.command("SET", world.keys.users(1), "x")
    var batch = batch(ledgers, world, campaign)
    let claims = try await batch.claim(worker: "w", gracePeriod: 0)
    guard case .held = try claims[0].get() else { throw TestSupportError("claimed what another holds") }
    #expect(throws: StoreError.self) { try claims[1].get() }
    for position in 2...3 {
      guard case .claimed = try claims[position].get() else { throw TestSupportError("not claimed") }
    }
    let counts = try await batch.expand([2, 3]).map { try $0.get() ?? 0 }
    expect(counts.allSatisfy { $0 > 0 })
    try await world.endLease("c", 2)
    _ = try await world.claimed("c", 2, worker: "other")
    let answers = try await batch.seal([(2, counts[0]), (3, counts[1])]).map { try $0.get() }
    expect(!answers[0].isSealed && answers[0].commit == nil)
    expect(answers[1].isSealed && answers[1].commit?.granted == counts[1])
    expect(try await world.slice("c", 2).numbers["granted"], is: nil)
  }

  @Test(arguments: Backend.allCases)
  func sliceWithManyMembersLeavesTheBatch(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<3000)
    let campaign = try await world.activate("c")
    let ledgers = ledgers(world, "c", 0..<1)
    var batch = batch(ledgers, world, campaign)
    _ = try await batch.claim(worker: "w", gracePeriod: 0)
    expect(try await batch.expand([0])[0].get(), is: nil)
    // The slice is expanded alone under the same claim, and every user occurs once.
    expect(try await world.expand(ledgers[0], campaign), is: 3000)
  }

  @Test(arguments: Backend.allCases)
  func sliceWithTargetsLeftIsNotEnded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 2, granted: 2)
    var outcomes = OutcomeBatch()
    outcomes.append(LedgerRecord(state: .terminal(.accepted), at: 1), at: 0)
    var commits = [
      SliceCommit(
        ledger: ledger, outcomes: outcomes,
        request: CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion(sequence: 1))), closes: true)
    ]
    let answer = try await world.store.slices.commit(&commits)[0].get()
    expect(answer.counters == nil && answer.commit?.inDoubt == 1)
    expect(try await world.slice("a").text["phase"], is: "sealed")
  }
}
