/// Decides when a repeated error is logged again: immediately, then after 1 s, 2 s, 4 s, and so on up to a minute.
struct LogBackoff {
  private var loggedAt: UInt64?
  private var pause = Self.shortest
  private var suppressed = 0

  private static let shortest: UInt64 = 1_000_000_000
  private static let longest: UInt64 = 60_000_000_000

  /// Counts an error, and decides whether to log it.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: The number of errors suppressed since the last log line, if this one must be logged; otherwise `nil`.
  mutating func count(_ now: UInt64) -> Int? {
    guard let last = loggedAt else {
      loggedAt = now
      return 0
    }
    guard now - last >= pause else {
      suppressed += 1
      return nil
    }
    // If the error did not occur for longer than twice the interval, the intervals start again from the shortest.
    pause = now - last > 2 * pause ? Self.shortest : min(2 * pause, Self.longest)
    defer { suppressed = 0 }
    loggedAt = now
    return suppressed
  }
}
