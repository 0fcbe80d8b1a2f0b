/// When the backends of apps are asked how they are. Pure: time is an argument.
struct BackendSchedule {
  private struct Check {
    var isUnderWay: Bool
    /// `EventLoop.now`.
    var dueAt: UInt64
  }

  /// By the app's name.
  private var checks: [String: Check] = [:]

  /// Begins the check of a backend, if it is due and no check of this backend is under way.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: whether the backend is to be asked.
  mutating func begin(_ app: String, _ backend: AppBackend, _ now: UInt64) -> Bool {
    if let check = checks[app], check.isUnderWay || check.dueAt > now { return false }
    checks[app] = Check(isUnderWay: true, dueAt: now + UInt64(backend.interval) * 1_000_000)
    return true
  }

  /// Ends a check, with or without an answer.
  mutating func end(_ app: String) { checks[app]?.isUnderWay = false }
}
