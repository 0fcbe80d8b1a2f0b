import PushCore

/// What a batch of outcomes has recorded, in a few bytes a target: whom they concern stands in the sealed targets.
public struct RecordedOutcomes: Sendable {
  /// Neighbours that became the same at the same time: what came in one read from APNs.
  private struct Stretch {
    var first: UInt32
    var count: UInt32
    var hasLines: Bool
    var record: LedgerRecord
  }

  /// What an outcome did beside the ledger and the results hash.
  private struct Effect {
    var index: UInt32
    var action: OutcomeBatch.Action
    var timestamp: UInt64
    var reason: [UInt8]
  }

  private var stretches: [Stretch] = []
  private var effects: [Effect] = []

  /// - Parameter batch: as it was committed.
  public init(_ batch: OutcomeBatch) {
    for entry in batch.entries {
      add(entry.record, at: entry.index, hasLine: entry.tokenLength > 0)
      guard entry.detail >= 0 else { continue }
      let detail = batch.details[Int(entry.detail)]
      effects.append(
        Effect(index: entry.index, action: detail.action, timestamp: detail.timestamp, reason: detail.reason))
    }
  }

  private mutating func add(_ record: LedgerRecord, at index: UInt32, hasLine: Bool) {
    if let last = stretches.last, index == last.first + last.count, hasLine == last.hasLines, record == last.record {
      stretches[stretches.count - 1].count += 1
    } else {
      stretches.append(Stretch(first: index, count: 1, hasLines: hasLine, record: record))
    }
  }

  /// The batch once more, with tokens and users as the slice's sealed targets have them.
  public func batch(of ledger: SliceLedger) async throws -> OutcomeBatch {
    var batch = OutcomeBatch()
    var effects = self.effects[...]
    var chunk: TargetChunk?
    for stretch in stretches {
      for index in stretch.first..<(stretch.first + stretch.count) {
        let effect = effects.first?.index == index ? effects.removeFirst() : nil
        let index = Int(index)
        guard stretch.hasLines || effect != nil else {
          batch.append(stretch.record, at: index)
          continue
        }
        if chunk.map({ index < $0.first || index >= $0.first + Self.chunkSize }) ?? true {
          let first = index / TargetPage.size * TargetPage.size
          chunk = try await ledger.targets(from: first, count: Self.chunkSize)
        }
        // An index that the list does not have is another slice's, or of a seal that Redis forgot.
        guard let chunk, index - chunk.first < chunk.count else { continue }
        let position = index - chunk.first
        batch.append(
          stretch.record, at: index, action: effect?.action ?? .none, token: chunk.token(position),
          user: chunk.user(position), timestamp: effect?.timestamp ?? 0, keepsResult: stretch.hasLines,
          unknownReason: effect.map { String(decoding: $0.reason, as: UTF8.self) } ?? "")
      }
    }
    return batch
  }

  /// Targets read at once.
  private static let chunkSize = 512
}
