import CampaignStore

/// Decides when a worker repeats its report to the fleet. A report costs Redis a write, so an unchanged report is
/// rarely repeated. Time is an argument.
struct ReportPace {
  /// Time in ns after which an unchanged report is repeated, because Redis may have lost it without an error.
  private static let interval: UInt64 = 60_000_000_000

  private var reported: WorkerReport?
  private var reportedAt: UInt64 = 0
  /// The number of recorded outcomes and retries at the last call of ``perSecond(_:_:)``, and the time of that call.
  private var counted: (recorded: Int, at: UInt64)?

  /// Returns how many outcomes and retries were recorded per second since the last call.
  ///
  /// - Parameters:
  ///   - recorded: Number of outcomes and retries recorded since the start.
  ///   - now: `EventLoop.now`.
  mutating func perSecond(_ recorded: Int, _ now: UInt64) -> Int {
    defer { counted = (recorded, now) }
    guard let counted, now > counted.at else { return 0 }
    return Int((Double(recorded - counted.recorded) * 1e9 / Double(now - counted.at)).rounded())
  }

  /// Returns the report if this heartbeat must contain it. Returns `nil` if the last report is recent and unchanged.
  mutating func next(_ report: WorkerReport, _ now: UInt64) -> WorkerReport? {
    guard report != reported || now >= reportedAt + Self.interval else { return nil }
    reported = report
    reportedAt = now
    return report
  }

  /// Records that the report did not arrive, or was lost.
  mutating func invalidate() { reported = nil }
}
