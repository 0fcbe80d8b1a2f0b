@testable import CampaignStore
import PushCore
import Redis
import TestKit
import Testing

/// Replay after Redis lost acknowledged writes, and the locks that keep other workers from using a slice that is only
/// partly replayed.
struct FailoverReplayTests {
  /// Values of all keys of a campaign's slices, to which a crashed server falls back.
  private struct Snapshot {
    var dumps: [(key: String, dump: [UInt8]?)] = []

    init(of id: String, in world: TestStore) async throws {
      let keys = world.keys
      let claim = try await world.command("HGET", keys.slice(0, of: id), "claim").string ?? ""
      for key in [
        keys.slice(0, of: id), keys.building(0, id, claim: claim), keys.targets(0, id), keys.ledger(0, id),
        keys.retry(0, id),
        keys.results(0, id), keys.reasons(0, id),
      ] {
        dumps.append((key, try await world.command("DUMP", key).bytes.map { Array($0) }))
      }
    }

    func bringBack(in world: TestStore) async throws {
      for (key, dump) in dumps {
        try await world.command("DEL", key)
        if let dump { try await world.command("RESTORE", key, 0, dump) }
      }
    }
  }

  private func replay(_ ledger: SliceLedger, granted: Int, _ records: [(Int, LedgerRecord)]) async throws
    -> CommitAnswer
  {
    var batch = OutcomeBatch()
    for (index, record) in records { batch.append(record, at: index) }
    return try await ledger.commit(&batch, CommitRequest(seal: ledger.claim, expected: .replay(granted: granted)))
  }

  @Test(arguments: Backend.allCases)
  func replayRestoresOutcomesAndGrants(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 20, granted: 4)
    let before = try await Snapshot(of: "a", in: world)
    try await ledger.commit([0: .terminal(.accepted), 1: .waiting(), 2: .waiting(milliseconds: 60_000)], credit: 10)
    // Target 1 has been granted again by now.
    expect(try await ledger.record(1).attempt, is: 1)
    let after = try await world.slice("a").numbers
    try await before.bringBack(in: world)

    _ = try await replay(
      ledger, granted: after["granted"] ?? 0,
      [(0, .terminal(.accepted)), (1, .waiting()), (2, .waiting(milliseconds: 60_000))])
    _ = try await replay(ledger, granted: 0, [(1, LedgerRecord(state: .granted, attempt: 1))])
    let observed = try await world.slice("a").numbers
    for field in ["granted", "16"] { expect(observed[field], is: after[field], "\(field)") }
    expect(observed["waiting"], is: 0)
    expect(observed["doubt"], is: (after["doubt"] ?? 0) + 1)
    expect(try await ledger.record(1).attempt, is: 1)
    expect(try await ledger.record(1).state, is: .granted)
  }

  @Test(arguments: Backend.allCases)
  func ownerWhoseCommitsWereLostIsGrantedNothing(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let ledger = try await world.sealed("a", count: 20)
    let before = try await Snapshot(of: "a", in: world)
    try await ledger.commit(credit: 5)
    let version = SliceVersion(sequence: 1)
    try await before.bringBack(in: world)

    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(version), credit: 5)
    let answer = try await ledger.commit(&nothing, request)
    expect(answer.isOwner)
    expect(answer.version, is: SliceVersion())
    expect(answer.granted, is: 0)
  }

  @Test(arguments: Backend.allCases)
  func ownerIsGrantedNothingBeforeItKnowsOfAnothersReplay(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: 20)
    try await stale.commit(credit: 5)
    try await world.endLease("a")
    let (owner, progress) = try await world.claimed("a")
    _ = try await replay(stale, granted: 8, [(6, .terminal(.accepted))])

    var nothing = OutcomeBatch()
    var request = CommitRequest(seal: progress.seal, expected: .acknowledged(progress.version), credit: 5)
    let answer = try await owner.commit(&nothing, request)
    expect(answer.isOwner)
    expect(answer.granted, is: 8)
    expect(answer.inDoubt, is: 7)
    expect(answer.version, is: SliceVersion(sequence: 1, replays: 1))
    request.expected = .acknowledged(answer.version.next)
    expect(try await owner.commit(&nothing, request).granted, is: 13)
  }

  @Test(arguments: Backend.allCases)
  func outcomesOfAStaleOwnerBeyondTheGrantsAreAReplay(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let stale = try await world.sealed("a", count: 20)
    try await stale.commit(credit: 2)
    let before = try await Snapshot(of: "a", in: world)
    try await stale.commit(credit: 5)
    try await before.bringBack(in: world)
    try await world.endLease("a")
    let (owner, progress) = try await world.claimed("a")

    var late = OutcomeBatch()
    late.append(.terminal(.accepted), at: 6)
    let observed = try await stale.commit(
      &late, CommitRequest(seal: stale.claim, expected: .acknowledged(SliceVersion(sequence: 2)), credit: 5))
    expect(!observed.isOwner)
    expect(observed.granted, is: 7)
    var nothing = OutcomeBatch()
    let answer = try await owner.commit(
      &nothing, CommitRequest(seal: progress.seal, expected: .acknowledged(progress.version), credit: 5))
    expect(answer.granted, is: 7)
    expect(answer.version.replays, is: 1)
  }

  @Test(arguments: Backend.allCases)
  func outcomesUnderAnotherSealAreDropped(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let first = try await world.claimed("a")
    let campaign = try await world.activate("a")
    try await world.registerUsers(0..<10)
    let unsealed = try await Snapshot(of: "a", in: world)
    expect(try await world.expand(first.ledger, campaign), is: 10)
    try await first.ledger.commit(credit: 10)
    try await unsealed.bringBack(in: world)
    try await world.endLease("a")
    let second = try await world.claimed("a")
    expect(try await world.expand(second.ledger, campaign), is: 10)
    try await second.ledger.commit(credit: 10)

    let answer = try await replay(first.ledger, granted: 10, [(0, .terminal(.accepted))])
    expect(!answer.isOwner)
    expect(!answer.isSealed)
    expect(try await second.ledger.record(0).state, is: .granted)
    expect(try await world.slice("a").numbers["doubt"], is: 10)
  }

  @Test(arguments: Backend.allCases)
  func sealIsRestoredWithTheSameListUnderTheSameName(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1, users: 0..<700)
    let campaign = try await world.activate("a")
    let before = try await Snapshot(of: "a", in: world)
    let ledger = try await world.claimed("a").ledger
    let targets = try #require(
      try await world.store.expansion.expand(
        ledger, of: campaign, filter: TestStore.filter))
    let list = try await world.command("LRANGE", world.keys.targets(0, "a"), 0, -1).map(\.string)
    try await before.bringBack(in: world)

    guard case .claimed(let progress) = try await ledger.claim(worker: "w") else {
      Issue.record("the claim is free")
      return
    }
    expect(!progress.isSealed)
    expect(try await world.store.expansion.restore(targets, of: ledger))
    expect(try await world.command("LRANGE", world.keys.targets(0, "a"), 0, -1).map(\.string), is: list)
    expect(try await world.slice("a").text["seal"], is: String(decoding: ledger.claim, as: UTF8.self))
  }

  @Test(arguments: Backend.allCases)
  func claimsThatRanOutAreDeathsUntilAnOutcomeIsRecorded(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let first = try await world.sealed("a", count: 5)
    try await first.commit(credit: 2)
    for deaths in 1...2 {
      try await world.endLease("a")
      expect(try await world.claimed("a").progress.deaths, is: deaths)
    }
    try await world.endLease("a")
    let (owner, _) = try await world.claimed("a")
    expect(try await owner.bisect(0...1))
    try await owner.commit([0: .terminal(.accepted)])
    try await world.endLease("a")
    let (next, suspected) = try await world.claimed("a")
    expect(suspected.deaths, is: 4)
    expect(suspected.bisected, is: 0...1)
    expect(try await owner.bisect(nil), is: false)
    expect(try await next.bisect(nil))
    // The slice was released, so this is not a death.
    try await next.unclaim()
    expect(try await world.claimed("a").progress.deaths, is: 0)
  }
}
