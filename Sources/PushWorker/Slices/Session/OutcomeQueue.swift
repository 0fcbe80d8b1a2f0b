import CampaignStore

/// Outcomes of a slice that are known here and not yet to Redis. Pure: time is an argument.
struct OutcomeQueue {
  /// The first is the oldest; never empty.
  private var batches: [OutcomeBatch] = [OutcomeBatch()]
  private(set) var count = 0
  private var oldest: UInt64 = 0
  /// A bit for every target of which Redis has yet to be told, where it still reads as granted.
  private var untold: [UInt64] = []

  /// - Parameter targets: of the slice.
  mutating func prepare(for targets: Int) {
    untold = Array(repeating: 0, count: (targets + 63) / 64)
  }

  /// ms since the oldest outcome came.
  func age(_ now: UInt64) -> Int { count > 0 ? Int((now - oldest) / 1_000_000) : 0 }

  /// Outcomes that ``takeBatch(_:)`` would hand out.
  var nextCount: Int { batches[0].count }

  /// The batch that an outcome goes to: a new one when the last is full.
  ///
  /// - Parameter now: `EventLoop.now`.
  mutating func record(_ now: UInt64, _ body: (inout OutcomeBatch) -> Void) {
    if batches[batches.count - 1].count >= SliceSituation.fullBatch { batches.append(OutcomeBatch()) }
    body(&batches[batches.count - 1])
    if count == 0 { oldest = now }
    count += 1
  }

  /// The oldest outcomes, to be recorded now.
  mutating func takeBatch(_ now: UInt64) -> OutcomeBatch {
    let batch = batches.removeFirst()
    if batches.isEmpty { batches.append(OutcomeBatch()) }
    count -= batch.count
    oldest = now
    return batch
  }

  /// Puts a batch back that could not be recorded.
  mutating func putBack(_ batch: OutcomeBatch) {
    batches.insert(batch, at: 0)
    count += batch.count
  }

  /// Whether Redis has yet to be told what became of a target.
  func isUntold(_ index: Int) -> Bool {
    index / 64 < untold.count && untold[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Takes note that an outcome is on its way to Redis.
  mutating func markUntold(_ index: Int) {
    untold[index / 64] |= 1 << UInt64(index % 64)
  }

  /// Takes note that Redis has acknowledged outcomes.
  mutating func markTold(_ batch: OutcomeBatch) {
    batch.forEachIndex { untold[$0 / 64] &= ~(1 << UInt64($0 % 64)) }
  }
}
