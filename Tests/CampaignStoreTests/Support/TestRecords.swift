import CampaignStore
import PushCore

extension LedgerRecord {
  static func terminal(_ outcome: Outcome, attempt: UInt8 = 0, at: UInt64 = 5000) -> LedgerRecord {
    LedgerRecord(state: .terminal(outcome), attempt: attempt, status: outcome == .accepted ? 200 : 400, at: at)
  }

  /// As it goes into a commit: with its delay.
  static func waiting(attempt: UInt8 = 0, milliseconds: UInt64 = 0) -> LedgerRecord {
    LedgerRecord(state: .waiting, attempt: attempt, status: 503, reason: .serviceUnavailable, at: milliseconds)
  }
}

extension SliceLedger {
  /// Commits records that concern nothing but the ledger.
  @discardableResult
  func commit(_ records: [Int: LedgerRecord] = [:], credit: Int = 0, resent: Int = 0) async throws -> CommitAnswer {
    var batch = OutcomeBatch()
    for (index, record) in records { batch.append(record, at: index) }
    return try await commit(&batch, credit: credit, resent: resent)
  }

  /// Commits one outcome for each of a range of targets.
  @discardableResult
  func commit(_ outcome: Outcome, _ indexes: Range<Int>, credit: Int = 0) async throws -> CommitAnswer {
    try await commit(Dictionary(uniqueKeysWithValues: indexes.map { ($0, .terminal(outcome)) }), credit: credit)
  }

  func record(_ index: Int) async throws -> LedgerRecord {
    try await records(from: index, count: 1)[0]
  }
}
