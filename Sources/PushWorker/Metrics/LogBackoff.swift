/// When to tell again of trouble that goes on: at once, then after a second, two, four, and so on up to a minute.
struct LogBackoff {
  private var toldAt: UInt64?
  private var pause = Self.shortest
  private var unsaid = 0

  private static let shortest: UInt64 = 1_000_000_000
  private static let longest: UInt64 = 60_000_000_000

  /// Takes note of one more.
  ///
  /// - Parameter now: `EventLoop.now`.
  /// - Returns: how many were kept quiet since the last, when it is to be told; else `nil`.
  mutating func note(_ now: UInt64) -> Int? {
    guard let last = toldAt else {
      toldAt = now
      return 0
    }
    guard now - last >= pause else {
      unsaid += 1
      return nil
    }
    // Trouble that had ended begins anew.
    pause = now - last > 2 * pause ? Self.shortest : min(2 * pause, Self.longest)
    defer { unsaid = 0 }
    toldAt = now
    return unsaid
  }
}
