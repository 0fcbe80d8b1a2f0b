@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// Replay of outcomes that were kept without tokens and users. It has the same effects as the first commit.
struct RecordedOutcomesTests {
  /// More targets than one read returns.
  private static let count = 700

  @Test(arguments: Backend.allCases)
  func replayedOutcomesHaveTheSameEffects(on backend: Backend) async throws {
    var seed = Seed("replayedOutcomesHaveTheSameEffects on \(backend)")
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.registerUsers(0..<Self.count)
    let (ledger, chunk) = try await world.expandAll("a")
    let before = try await dump(world)
    for _ in 0..<3 {
      var batch = OutcomeBatch()
      var index = 0
      while index < Self.count {
        Self.append(chunk, index, to: &batch, &seed)
        index += Int.random(in: 1...3, using: &seed)
      }
      _ = try await commit(&batch, to: ledger)
      let after = try await state(world)
      try await bringBack(before, in: world)
      expect(try await state(world) != after)
      var again = try await RecordedOutcomes(batch, isOwner: true).batch(of: ledger)
      expect(again.count, is: batch.count)
      _ = try await commit(&again, to: ledger)
      expect(try await state(world), is: after)
      try await bringBack(before, in: world)
    }
  }

  /// Redis refuses some outcomes of a worker that has lost its claim. If the worker replayed them later, a target that
  /// the new owner has sent would end as undelivered.
  @Test func replayDoesNotContainRefusedOutcomesOfAFormerOwner() async throws {
    let states = [LedgerRecord.waiting()] + Outcome.allCases.map { LedgerRecord.terminal($0) }
    let world = try await TestStore(on: .single, partitions: 1)
    let former = try await world.sealed("a", count: states.count, granted: states.count)
    try await world.endLease("a")
    let owner = try await world.claimed("a", worker: "new").ledger
    var batch = OutcomeBatch()
    for (index, record) in states.enumerated() { batch.append(record, at: index) }
    let answer = try await former.commit(&batch, credit: 0)
    expect(!answer.isOwner)
    let recorded = try await owner.records(from: 0, count: states.count).records
    let undelivered = Outcome.allCases.count(where: \.saysUndelivered)
    expect(recorded.count { $0.state == .granted }, is: 1 + undelivered)

    var again = try await RecordedOutcomes(batch, isOwner: false).batch(of: former)
    expect(again.count, is: Outcome.allCases.count - undelivered)
    let request = CommitRequest(seal: former.claim, expected: .replay(granted: states.count))
    _ = try await former.commit(&again, request)
    expect(try await owner.records(from: 0, count: states.count).records, is: recorded)
  }

  private func commit(_ batch: inout OutcomeBatch, to ledger: SliceLedger) async throws -> CommitAnswer {
    try await ledger.commit(&batch, CommitRequest(seal: ledger.claim, expected: .replay(granted: Self.count)))
  }

  private static func append(_ chunk: TargetChunk, _ index: Int, to batch: inout OutcomeBatch, _ seed: inout Seed) {
    let at = UInt64.random(in: 5000...5001, using: &seed)
    switch Int.random(in: 0..<8, using: &seed) {
    case 0: batch.append(.unregistered, chunk, index, .prune, at: at, reason: "Unregistered")
    case 1: batch.append(.badToken, chunk, index, .quarantine, at: at, keepsResult: false, reason: "BadDeviceToken")
    case 2: batch.append(.rejected, chunk, index, at: at, reason: "NobodyKnows")
    case 3: batch.append(.terminal(.accepted, at: at), at: index)
    case 4: batch.append(LedgerRecord(state: .granted, attempt: 1), at: index)
    default: batch.append(.terminal(.accepted, at: at), at: index, token: chunk.token(index))
    }
  }

  private func bringBack(_ dumps: [(key: String, value: [UInt8]?)], in world: TestStore) async throws {
    for (key, value) in dumps {
      try await world.command("DEL", key)
      if let value { try await world.command("RESTORE", key, 0, value) }
    }
  }

  private func dump(_ world: TestStore) async throws -> [(key: String, value: [UInt8]?)] {
    var dumps: [(String, [UInt8]?)] = []
    let keys = world.keys
    for key in [
      keys.slice(0, of: "a"), keys.ledger(0, "a"), keys.results(0, "a"), keys.reasons(0, "a"), keys.devices(0),
      keys.users(0), keys.outbox(0), keys.quarantine(0), keys.departures(0),
    ] {
      dumps.append((key, try await world.command("DUMP", key).bytes.map { Array($0) }))
    }
    return dumps
  }

  /// All effects of outcomes, except the times at which Redis received them.
  private func state(_ world: TestStore) async throws -> [[UInt8]] {
    let keys = world.keys
    var state: [[UInt8]] = []
    for key in [keys.results(0, "a"), keys.reasons(0, "a"), keys.devices(0), keys.quarantine(0)] {
      let reply = try await world.command("HGETALL", key)
      let fields = stride(from: 0, to: reply.count, by: 2)
      let cut = key == keys.quarantine(0) ? Self.timeOfNotice : 0
      state += fields.map { Self.bytes(reply[$0]) + Self.bytes(reply[$0 + 1]).dropFirst(cut) }.sorted {
        $0.lexicographicallyPrecedes($1)
      }
    }
    state.append(Self.bytes(try await world.command("GETRANGE", keys.ledger(0, "a"), 0, -1)))
    state += try await world.command("SMEMBERS", keys.users(0)).map(Self.bytes)
      .sorted { $0.lexicographicallyPrecedes($1) }
    state += try await world.command("LRANGE", keys.outbox(0), 0, -1).map {
      Array(Self.bytes($0).dropFirst(Self.timeOfNotice))
    }
    let slice = try await world.slice("a").numbers
    return state
      + slice.filter { $0.key != "lease" }.map { Array("\($0) \($1)".utf8) }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The length of the time with which a note and an entry begin.
  private static let timeOfNotice = 6

  private static func bytes(_ reply: RedisReply) -> [UInt8] { Array(reply.bytes ?? []) }
}
