/// A token bucket that limits the requests of a client. Pure: the caller supplies the time.
struct RequestRate {
  /// Permitted requests per second. The `burst` is the maximum number of saved permits.
  let rate: Double
  let burst: Double
  private var left: Double
  private var seenAt: UInt64 = 0

  init(rate: Double, burst: Double) {
    self.rate = rate
    self.burst = burst
    left = burst
  }

  /// Takes a permit.
  ///
  /// - Parameter now: monotonic nanoseconds.
  /// - Returns: `nil` if a permit was available; otherwise the seconds until the next permit.
  mutating func take(now: UInt64) -> Int? {
    if seenAt == 0 { seenAt = now }
    left = min(burst, left + Double(now &- min(now, seenAt)) / 1e9 * rate)
    seenAt = now
    guard left >= 1 else { return max(1, Int(((1 - left) / rate).rounded(.up))) }
    left -= 1
    return nil
  }
}
