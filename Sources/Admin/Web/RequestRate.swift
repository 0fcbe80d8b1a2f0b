/// How many requests somebody may make: so many a second, and a few more at once. Pure: time is an argument.
struct RequestRate {
  /// Requests a second, and at once.
  let rate: Double
  let burst: Double
  private var left: Double
  private var seenAt: UInt64 = 0

  init(rate: Double, burst: Double) {
    self.rate = rate
    self.burst = burst
    left = burst
  }

  /// Takes one.
  ///
  /// - Parameter now: monotonic nanoseconds.
  /// - Returns: `nil` when there is one, or the seconds after which there will be.
  mutating func take(now: UInt64) -> Int? {
    if seenAt == 0 { seenAt = now }
    left = min(burst, left + Double(now &- min(now, seenAt)) / 1e9 * rate)
    seenAt = now
    guard left >= 1 else { return max(1, Int(((1 - left) / rate).rounded(.up))) }
    left -= 1
    return nil
  }
}
