@testable import CampaignStore
import APNs
import PushCore
import Redis

extension OutcomeBatch {
  /// Adds an outcome of a target in a chunk, as a worker does.
  mutating func append(
    _ outcome: Outcome, _ chunk: TargetChunk, _ position: Int, _ action: Action = .none, at instant: UInt64 = 5000,
    keepsResult: Bool = true, reason: String = ""
  ) {
    let status: UInt16 = outcome == .accepted ? 200 : outcome == .unregistered ? 410 : 400
    let record = LedgerRecord(
      state: .terminal(outcome), status: status, reason: Reason(name: reason).code, at: instant)
    append(
      record, at: chunk.first + position, action: action, token: chunk.token(position), user: chunk.user(position),
      timestamp: instant, keepsResult: keepsResult, unknownReason: reason)
  }
}

extension LedgerRecord {
  static func terminal(_ outcome: Outcome, attempt: UInt8 = 0, at: UInt64 = 5000) -> LedgerRecord {
    LedgerRecord(state: .terminal(outcome), attempt: attempt, status: outcome == .accepted ? 200 : 400, at: at)
  }

  /// Returns a waiting record with its delay, as it is in a commit.
  static func waiting(attempt: UInt8 = 0, milliseconds: UInt64 = 0, isAmbiguous: Bool = false) -> LedgerRecord {
    LedgerRecord(
      state: .waiting, attempt: attempt, history: AttemptHistory(isAmbiguous: isAmbiguous), status: 503,
      reason: Reason.serviceUnavailable.code, at: milliseconds)
  }
}

extension SliceLedger {
  /// Commits as an owner that has the current state of the slice.
  func commit(
    _ batch: inout OutcomeBatch, credit: Int, resent: Int = 0, departures: Int? = nil, suspects: [SealedTarget] = []
  ) async throws -> CommitAnswer {
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", store.keys.slice(slice.partition, of: slice.campaign), "seal", "seq", "replays")
    let known = try await store.run(pipeline)[0]
    let version = SliceVersion(sequence: known[1].integer ?? 0, replays: known[2].integer ?? 0)
    var request = CommitRequest(
      seal: Array(known[0].bytes ?? []), expected: .acknowledged(version), credit: credit, resent: resent,
      departures: departures)
    request.suspects = suspects
    return try await commit(&batch, request)
  }

  /// Commits records that affect only the ledger.
  @discardableResult
  func commit(
    _ records: [Int: LedgerRecord] = [:], credit: Int = 0, resent: Int = 0, departures: Int? = nil,
    suspects: [SealedTarget] = []
  ) async throws -> CommitAnswer {
    var batch = OutcomeBatch()
    for (index, record) in records { batch.append(record, at: index) }
    return try await commit(
      &batch, credit: credit, resent: resent, departures: departures, suspects: suspects)
  }

  /// Commits one outcome for each of a range of targets.
  @discardableResult
  func commit(_ outcome: Outcome, _ indexes: Range<Int>, credit: Int = 0) async throws -> CommitAnswer {
    try await commit(Dictionary(uniqueKeysWithValues: indexes.map { ($0, .terminal(outcome)) }), credit: credit)
  }

  /// Decides again about targets, by their indexes.
  func regrant(_ indexes: [Int], seal: [UInt8]) async throws -> [GrantDecision]? {
    let chunk = try await targets(from: 0, count: (indexes.max() ?? 0) + 1)
    return try await regrant(indexes.map(chunk.target), seal: seal)
  }

  func record(_ index: Int) async throws -> LedgerRecord {
    try await records(from: index, count: 1).records[0]
  }
}

extension CloseAnswer {
  var counters: SliceCounters? {
    if case .closed(let counters) = self { counters } else { nil }
  }
}

extension SealedTargets {
  /// Creates pages with the given bytes. Only their order and number matter here.
  init(pages: [[UInt8]]) {
    self.init()
    for page in pages {
      bytes += page
      ends.append(bytes.count)
    }
  }
}
