/// Interval between two checks of a connection's timeouts.
enum TickInterval {
  /// Number of checks per timeout: a timeout is detected late by at most 1/16 of its duration.
  private static let ticksPerTimeout: UInt64 = 16
  /// Minimum and maximum interval in nanoseconds. A check costs a wake-up, so there are at most 200 per second. At
  /// least two checks per second keep long timeouts exact to half a second.
  private static let range: ClosedRange<UInt64> = 5_000_000...500_000_000

  /// Returns the interval in nanoseconds for the shortest of a connection's timeouts.
  static func nanoseconds(shortest: UInt64) -> UInt64 {
    max(range.lowerBound, min(shortest / ticksPerTimeout, range.upperBound))
  }
}
