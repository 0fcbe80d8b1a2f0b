import CampaignStore

/// The jobs on the worker's list whose intake takes long, in the order of their arrival. The worker takes them in one
/// after the other, at the same time as small jobs. Pure.
struct LargeJobs {
  /// Maximum number of large jobs that a worker holds. It holds several, so that small jobs behind them in the queue
  /// need not wait. Each has at most 1 MiB (`CampaignJob.maximumSize`).
  private static let most = 16

  private(set) var entries: [[UInt8]] = []

  /// Whether no further job may be taken from the queue, because it may be large.
  var isFull: Bool { entries.count >= Self.most }
  /// The next job.
  var first: [UInt8]? { entries.first }

  static func isLarge(_ entry: [UInt8]) -> Bool { entry.count >= LargeJobThread.size }

  mutating func add(_ entry: [UInt8]) { entries.append(entry) }

  /// Removes the first job, which is now a campaign or on the dead list.
  mutating func removeFirst() { entries.removeFirst() }
}
