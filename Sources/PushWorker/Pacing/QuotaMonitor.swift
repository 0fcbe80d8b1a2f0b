import CampaignStore

/// Decides when this worker reports to the fleet that a quota refuses pushes. Pure: time is an argument.
///
/// When a quota is used up, the service refuses every push. A service that is busy for a moment refuses single pushes,
/// which are sent again without a report.
struct QuotaMonitor {
  /// Number of pushes that exceeded the quota, since the start of the worker.
  private(set) var exceeded = 0
  /// Average number of pushes that this worker sends from one refused push to the next.
  private var gap = QuotaMonitor.largestGap
  private var sentBefore = 0
  private var refusedAt: UInt64?
  /// `EventLoop.now` since which the service has refused almost every push.
  private var refusingSince: UInt64?
  private var reportedAt: UInt64?
  private var loggedAt: UInt64?

  /// Time in ns between two reports.
  static let interval: UInt64 = 5_000_000_000
  /// Time in ns between two log lines about the quota. A quota stays used up for at most a minute.
  static let logInterval: UInt64 = 60_000_000_000
  /// Largest value of ``gap`` at which this worker reports refused pushes.
  static let maximumGap = 4.0
  /// Initial and largest value of ``gap``. If the service refuses none of this many consecutive pushes, it counts as
  /// accepting pushes.
  private static let largestGap = 64.0
  /// Time in ns after which a refusal says nothing about the present. A refused push is sent again after about a
  /// minute.
  private static let memory: UInt64 = 90_000_000_000
  /// Weight of the latest gap in the average ``gap``. With this weight, about twenty consecutive refused pushes cause a
  /// report.
  private static let weight = 0.125

  /// Records a push that exceeded the quota.
  ///
  /// - Parameters:
  ///   - limit: limit in pushes per minute that the service named; `nil` if it named none.
  ///   - sent: number of pushes that the worker sent under the quota since its start.
  ///   - now: `EventLoop.now`.
  /// - Returns: the report to send now; `nil` for none.
  mutating func record(limit: Int?, sent: Int, now: UInt64) -> QuotaReport? {
    exceeded += 1
    gap += (min(max(1, Double(sent - sentBefore)), Self.largestGap) - gap) * Self.weight
    (sentBefore, refusedAt) = (sent, now)
    refusingSince = gap <= Self.maximumGap ? refusingSince ?? now : nil
    guard gap <= Self.maximumGap, reportedAt.map({ now >= $0 + Self.interval }) ?? true else { return nil }
    reportedAt = now
    return QuotaReport(perMinute: limit)
  }

  /// Returns the time since which the service has refused almost every push; `nil` if it accepts pushes, or if this is
  /// not known.
  ///
  /// - Parameter sent: number of pushes that the worker sent under the quota since its start.
  func refusal(sent: Int, now: UInt64) -> UInt64? {
    guard let refusedAt, now < refusedAt + Self.memory, Double(sent - sentBefore) < Self.largestGap else { return nil }
    return refusingSince
  }

  /// Returns whether a report is logged: the first one in a minute.
  mutating func shouldLog(_ now: UInt64) -> Bool {
    if let loggedAt, now < loggedAt + Self.logInterval { return false }
    loggedAt = now
    return true
  }
}
