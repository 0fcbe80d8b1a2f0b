/// The times of the checks of apps' backends. Pure: time is an argument.
struct BackendSchedule {
  private struct Check {
    var isUnderWay: Bool
    /// `EventLoop.now`.
    var dueAt: UInt64
  }

  /// The checks by the app's name.
  private var checks: [String: Check] = [:]

  /// Begins the check of a backend, if it is due and no check of this backend is running.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: Whether the caller must check the backend.
  mutating func begin(_ app: String, _ backend: AppBackend, _ now: UInt64) -> Bool {
    if let check = checks[app], check.isUnderWay || check.dueAt > now { return false }
    checks[app] = Check(isUnderWay: true, dueAt: now + UInt64(backend.interval) * 1_000_000)
    return true
  }

  /// Ends a check, with or without an answer.
  mutating func end(_ app: String) { checks[app]?.isUnderWay = false }
}
