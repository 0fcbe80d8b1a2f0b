/// `rate.lua`, in Swift and with a clock of the test's own: what a fleet of workers is lent, without Redis. A test holds the
/// two against each other.
public struct RateBucketModel: Sendable {
  private let interval: Double
  private let briskInterval: Double
  private let slice: Double
  private let burst: Double
  private let memory: Double
  private var clocks: (at: Double, brisk: Double)?
  private var slot = -1.0
  private var asks = 0
  private var before = 0

  /// - Parameters:
  ///   - perSecond: the rate.
  ///   - slice: µs, as `RateBucket` has it.
  ///   - burst: µs, likewise.
  ///   - memory: µs, likewise.
  public init(perSecond: Double, slice: Int, burst: Int, memory: Int) {
    interval = min(1_000_000 / perSecond, 31_536_000_000_000)
    briskInterval = interval / 1.02
    self.slice = max(Double(slice), interval)
    self.burst = Double(burst)
    self.memory = Double(memory)
  }

  /// Redis has forgotten it.
  public mutating func forget() { (clocks, slot, asks, before) = (nil, -1, 0, 0) }

  /// - Parameter now: µs.
  /// - Returns: the script's answer.
  public mutating func lend(_ wanted: Int, returned: Int, now: Int) -> (lent: Int, wait: Int) {
    let now = Double(now)
    func clock(_ value: Double?, _ length: Double, _ lag: Double) -> Double {
      min(now, max((value ?? now - length) - Double(returned) * length, now - max(lag, length)))
    }
    var (at, brisk) = (clock(clocks?.at, interval, memory), clock(clocks?.brisk, briskInterval, burst))
    let due = Int(min(((now - at + 1) / interval).rounded(.down), ((now - brisk + 1) / briskInterval).rounded(.down)))
    let current = (now / slice).rounded(.down)
    if slot != current { (asks, before) = (0, slot == current - 1 ? asks : 0) }
    slot = current
    if wanted > 0 { asks += 1 }
    let askers = max(asks, before, 1)
    let lent = max(0, min(wanted, (due + askers - 1) / askers))
    at += Double(lent) * interval
    brisk += Double(lent) * briskInterval
    clocks = (at, brisk)
    var wait = max(0, at + interval - now, brisk + briskInterval - now)
    if lent > 0, due < askers { wait += Double(askers - due) * interval / 2 }
    return (lent, Int(wait.rounded(.up)))
  }
}
