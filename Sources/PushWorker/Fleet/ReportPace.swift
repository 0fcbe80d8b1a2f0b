import CampaignStore

/// When a worker says again what it is, and how fast it is: each time costs Redis a write. Pure: time is an argument.
struct ReportPace {
  /// ns after which it is said again though nothing has changed: Redis may have lost it, and nobody would notice.
  private static let interval: UInt64 = 60_000_000_000

  private var told: WorkerReport?
  private var toldAt: UInt64 = 0
  /// What was recorded at the last look, and when that was.
  private var counted: (recorded: Int, at: UInt64)?

  /// What was recorded a second since this was asked last.
  ///
  /// - Parameters:
  ///   - recorded: since the start.
  ///   - now: `EventLoop.now`.
  mutating func perSecond(_ recorded: Int, _ now: UInt64) -> Int {
    defer { counted = (recorded, now) }
    guard let counted, now > counted.at else { return 0 }
    return Int((Double(recorded - counted.recorded) * 1e9 / Double(now - counted.at)).rounded())
  }

  /// What is to be said with this heartbeat; `nil` for nothing new.
  mutating func next(_ report: WorkerReport, _ now: UInt64) -> WorkerReport? {
    guard report != told || now >= toldAt + Self.interval else { return nil }
    told = report
    toldAt = now
    return report
  }

  /// It did not arrive, or got lost.
  mutating func forget() { told = nil }
}
