import CampaignStore

/// The memory use that Redis last reported. Pure: time is an argument.
struct MemoryMonitor {
  /// The last reported use; `nil` before the first report.
  private(set) var use: MemoryUse?
  private var seenAt: UInt64 = 0

  /// Minimum time between two reports, in ns. A tenth of the memory stays free, and even a large fleet can't fill it in
  /// this time.
  private static let interval: UInt64 = 250_000_000

  /// Returns whether a new report is due.
  func isDue(_ now: UInt64) -> Bool { use == nil || now - seenAt >= Self.interval }

  mutating func record(_ use: MemoryUse, at now: UInt64) {
    self.use = use
    seenAt = now
  }
}
