import PushCore

/// The outcomes of a committed batch, which the worker keeps for a replay after a failover. They need a few bytes for
/// each target. Tokens and users are not stored here; they are read from the sealed targets.
public struct RecordedOutcomes: Sendable {
  /// Consecutive targets with the same record, including its time. This is typical, because a connection reads many
  /// answers together.
  private struct RecordRun {
    var first: UInt32
    var count: UInt32
    var hasLines: Bool
    var record: LedgerRecord
  }

  /// Further effects of an outcome: neither in the ledger nor in the results hash.
  private struct Effect {
    var index: UInt32
    var action: OutcomeBatch.Action
    var timestamp: UInt64
    var unknownReason: [UInt8]
  }

  private var runs: [RecordRun] = []
  private var effects: [Effect] = []

  /// Whether there is nothing to replay.
  public var isEmpty: Bool { runs.isEmpty }

  /// Stores the outcomes of a batch, except those that Redis has refused. A replay of a refused outcome could end a
  /// target as undelivered, although the new owner of the slice has sent its push.
  ///
  /// - Parameters:
  ///   - batch: the committed batch.
  ///   - isOwner: whether the worker owned the slice at the commit.
  public init(_ batch: OutcomeBatch, isOwner: Bool) {
    for entry in batch.entries where isOwner || entry.record.mayComeFromFormerOwner {
      add(entry.record, at: entry.index, hasLine: entry.tokenLength > 0)
      guard entry.detail >= 0 else { continue }
      let detail = batch.details[Int(entry.detail)]
      effects.append(
        Effect(
          index: entry.index, action: detail.action, timestamp: detail.timestamp, unknownReason: detail.unknownReason))
    }
  }

  private mutating func add(_ record: LedgerRecord, at index: UInt32, hasLine: Bool) {
    if let last = runs.last, index == last.first + last.count, hasLine == last.hasLines, record == last.record {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(RecordRun(first: index, count: 1, hasLines: hasLine, record: record))
    }
  }

  /// Returns the batch for a replay, with tokens and users from the slice's sealed targets.
  public func batch(of ledger: SliceLedger) async throws -> OutcomeBatch {
    var batch = OutcomeBatch()
    var effects = self.effects[...]
    var targets = TargetReader(ledger)
    for run in runs {
      for index in run.first..<(run.first + run.count) {
        let effect = effects.first?.index == index ? effects.removeFirst() : nil
        let index = Int(index)
        guard run.hasLines || effect != nil else {
          batch.append(run.record, at: index)
          continue
        }
        // If the list does not have this index, the outcome belongs to a sealed list that Redis has lost, or to another
        // slice.
        guard let (token, user) = try await targets.target(index) else { continue }
        batch.append(
          run.record, at: index, action: effect?.action ?? .none, token: token, user: user,
          timestamp: effect?.timestamp ?? 0, keepsResult: run.hasLines,
          unknownReason: effect.map { String(decoding: $0.unknownReason, as: UTF8.self) } ?? "")
      }
    }
    return batch
  }
}

/// Reads sealed targets in the order of their indexes, several pages at a time.
struct TargetReader {
  private let ledger: SliceLedger
  private var chunk: TargetChunk?

  /// Number of targets read in one command.
  private static let chunkSize = 512

  init(_ ledger: SliceLedger) {
    self.ledger = ledger
  }

  /// Returns the token and the user of a target; `nil` if there is no such target.
  mutating func target(_ index: Int) async throws -> (token: ArraySlice<UInt8>, user: ArraySlice<UInt8>)? {
    if chunk.map({ index < $0.first || index >= $0.first + Self.chunkSize }) ?? true {
      chunk = try await ledger.targets(from: index / TargetPage.size * TargetPage.size, count: Self.chunkSize)
    }
    guard let chunk, index - chunk.first < chunk.count else { return nil }
    return (chunk.token(index - chunk.first), chunk.user(index - chunk.first))
  }
}
