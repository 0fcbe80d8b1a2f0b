/// A model of `rate.lua` in Swift with a clock of the test's own: it grants permits to a fleet of workers without
/// Redis. A test compares it with the script.
public struct RateBucketModel: Sendable {
  /// The kinds of rate.
  public enum Rate: Sendable {
    case perSecond(Double)
    /// Spread over this number of µs.
    case over(Double)
    /// Until this number of µs since the epoch.
    case until(Double)
  }

  /// The progress of the campaign, for rates that depend on the number of its targets.
  public struct Progress: Sendable {
    /// Number of all slices.
    public var slices = 1
    /// Number of finished slices, and number of targets in them.
    public var finished = (slices: 0, targets: 0)
    /// Number of slices that the requesting worker holds, and number of targets in them.
    public var inHand = (slices: 0, targets: 0)
    /// Start of the campaign in µs since the epoch.
    public var startedAt = 0

    public init() {}
  }

  private let rate: Rate
  private let slice: Double
  private let burst: Double
  private let memory: Double
  private var clocks: (at: Double, brisk: Double)?
  private var schedule: (sent: Double, end: Double)?
  private var slot = -1.0
  private var asks = 0
  private var before = 0

  /// - Parameters:
  ///   - slice: µs, as in `RateBucket`.
  ///   - burst: µs, as in `RateBucket`.
  ///   - memory: µs, as in `RateBucket`.
  public init(_ rate: Rate, slice: Int, burst: Int, memory: Int) {
    self.rate = rate
    self.slice = Double(slice)
    self.burst = Double(burst)
    self.memory = Double(memory)
  }

  /// Simulates that Redis lost the bucket.
  public mutating func forget() { (clocks, schedule, slot, asks, before) = (nil, nil, -1, 0, 0) }

  /// - Parameter now: µs since the epoch.
  /// - Returns: the script's answer, and the µs per push.
  public mutating func lease(
    _ wanted: Int, returned: Int, now: Int, _ progress: Progress = Progress()
  ) -> (leased: Int, wait: Int, interval: Double) {
    if wanted == 0, clocks == nil { return (0, 0, 0) }
    let now = Double(now)
    let interval = min(interval(now, Double(returned), progress), 31_536_000_000_000)
    let briskInterval = interval / 1.02
    func clock(_ value: Double?, _ length: Double, _ lag: Double) -> Double {
      min(now, max((value ?? now - length) - Double(returned) * length, now - max(lag, length)))
    }
    var (at, brisk) = (clock(clocks?.at, interval, memory), clock(clocks?.brisk, briskInterval, burst))
    let due = Int(min(((now - at + 1) / interval).rounded(.down), ((now - brisk + 1) / briskInterval).rounded(.down)))
    let current = (now / max(slice, interval)).rounded(.down)
    if slot != current { (asks, before) = (0, slot == current - 1 ? asks : 0) }
    slot = current
    if wanted > 0 { asks += 1 }
    let askers = max(asks, before, 1)
    let leased = max(0, min(wanted, (due + askers - 1) / askers))
    at += Double(leased) * interval
    brisk += Double(leased) * briskInterval
    clocks = (at, brisk)
    schedule?.sent += Double(leased)
    var wait = max(0, at + interval - now, brisk + briskInterval - now)
    if leased > 0, due < askers { wait += Double(askers - due) * interval / 2 }
    return (leased, Int(wait.rounded(.up)), interval)
  }

  /// Returns the µs per push.
  private mutating func interval(_ now: Double, _ returned: Double, _ progress: Progress) -> Double {
    if case .perSecond(let perSecond) = rate { return 1_000_000 / perSecond }
    let (known, targets) = (
      Double(max(1, progress.finished.slices + progress.inHand.slices)),
      Double(progress.finished.targets + progress.inHand.targets)
    )
    let total = max(1, targets, targets * Double(progress.slices) / known)
    let started = progress.startedAt > 0 ? Double(progress.startedAt) : now
    var (length, spread) = (0.0, false)
    switch rate {
    case .perSecond: break
    case .over(let time): (length, spread) = (time, true)
    case .until(let end): length = max(1, end - started)
    }
    let average = length / total
    var sent = schedule?.sent ?? Double(progress.finished.targets)
    if schedule == nil, spread, now - started > memory {
      sent = max(sent, total * min(1, (now - started) / length))
    }
    sent = max(0, sent - returned)
    let at = max(clocks?.at ?? now - average, now - max(memory, average * 1.25))
    let left = total - sent
    guard spread else {
      let end = started + length - length / 50
      schedule = (sent, end)
      return max(1, (end - now) / max(left, total / 100))
    }
    let end = (schedule?.end ?? started + length) + max(0, at - (clocks?.at ?? at))
    schedule = (sent, end)
    let interval = left > 0 && end > at ? (end - at) / (left + 1) : average
    return max(1, average / 1.25, min(average * 1.25, interval))
  }
}
