import CampaignStore

/// What Redis last said of its memory. Pure: time is an argument.
struct MemoryMonitor {
  /// `nil` before the first look.
  private(set) var use: MemoryUse?
  private var seenAt: UInt64 = 0

  /// ns between looks: in a shorter time not even a fleet fills the tenth that is left free.
  private static let interval: UInt64 = 250_000_000

  /// Whether to look again.
  func isDue(_ now: UInt64) -> Bool { use == nil || now - seenAt >= Self.interval }

  mutating func note(_ use: MemoryUse, at now: UInt64) {
    self.use = use
    seenAt = now
  }
}
