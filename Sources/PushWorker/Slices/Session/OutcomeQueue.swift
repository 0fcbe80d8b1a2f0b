import CampaignStore

/// Outcomes of a slice that Redis has not recorded yet. Pure: time is an argument.
struct OutcomeQueue {
  /// The batches, oldest first; never empty.
  private var batches: [OutcomeBatch] = [OutcomeBatch()]
  private(set) var count = 0
  private var oldest: UInt64 = 0
  /// A bit for every target whose outcome Redis has not acknowledged. In Redis, such a target is still granted.
  private var unrecorded: [UInt64] = []

  /// Allocates the marks of unrecorded outcomes.
  ///
  /// - Parameter targets: Number of targets of the slice.
  mutating func prepare(for targets: Int) {
    unrecorded = Array(repeating: 0, count: (targets + 63) / 64)
  }

  /// Returns the age of the oldest outcome, in ms.
  func age(_ now: UInt64) -> Int { count > 0 ? Int((now - oldest) / 1_000_000) : 0 }

  /// Number of outcomes that ``takeBatch(_:)`` returns next.
  var nextCount: Int { batches[0].count }

  /// Adds an outcome to the last batch. Starts a new batch if the last one is full.
  ///
  /// - Parameter now: `EventLoop.now`.
  mutating func record(_ now: UInt64, _ body: (inout OutcomeBatch) -> Void) {
    if batches[batches.count - 1].count >= SliceSituation.fullBatch { batches.append(OutcomeBatch()) }
    body(&batches[batches.count - 1])
    if count == 0 { oldest = now }
    count += 1
  }

  /// Removes and returns the oldest outcomes, which the caller records now.
  mutating func takeBatch(_ now: UInt64) -> OutcomeBatch {
    let batch = batches.removeFirst()
    if batches.isEmpty { batches.append(OutcomeBatch()) }
    count -= batch.count
    oldest = now
    return batch
  }

  /// Puts back a batch that could not be recorded.
  mutating func putBack(_ batch: OutcomeBatch) {
    batches.insert(batch, at: 0)
    count += batch.count
  }

  /// Returns whether Redis has not acknowledged the outcome of a target.
  func isUnrecorded(_ index: Int) -> Bool {
    index / 64 < unrecorded.count && unrecorded[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Marks the outcome of a target as not acknowledged.
  mutating func markUnrecorded(_ index: Int) {
    unrecorded[index / 64] |= 1 << UInt64(index % 64)
  }

  /// Marks outcomes as acknowledged by Redis.
  mutating func markRecorded(_ batch: OutcomeBatch) {
    batch.forEachIndex { unrecorded[$0 / 64] &= ~(1 << UInt64($0 % 64)) }
  }
}
