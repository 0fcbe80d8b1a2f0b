/// The large jobs that a worker has in hand, in the order in which they came. They are taken in one after the other, beside
/// the small ones. Pure.
struct LargeJobs {
  /// Bytes from which on a job is large. A job below this size is checked within a millisecond.
  private static let size = 16_384
  /// Large jobs that a worker takes off the queue ahead of their turn, so that small jobs behind them need not wait. Each has
  /// at most a megabyte (`CampaignJob.maximumSize`).
  private static let most = 16

  private(set) var entries: [[UInt8]] = []

  /// Whether no further job is to be taken off the queue: it may be a large one.
  var isFull: Bool { entries.count >= Self.most }
  /// The job whose turn it is.
  var first: [UInt8]? { entries.first }

  static func isLarge(_ entry: [UInt8]) -> Bool { entry.count >= size }

  mutating func add(_ entry: [UInt8]) { entries.append(entry) }

  /// The first job is a campaign, or in the dead list.
  mutating func removeFirst() { entries.removeFirst() }
}
