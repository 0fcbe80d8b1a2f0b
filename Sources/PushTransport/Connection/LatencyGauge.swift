/// Whether answers take longer than the way to the service and back explains. Pure.
struct LatencyGauge: Sendable, Equatable {
  enum Verdict: Sendable, Equatable {
    /// They don't; with how much is left of what is put up with, 0 to 1.
    case flat(headroom: Double)
    /// They do, for the moment.
    case late
    /// They have for so long, or the way was measured so long ago, that it should be measured anew: see
    /// ``measured(_:now:)``.
    case doubtful
  }

  /// The way and back, in nanoseconds: the least that a round was seen to take since it was last measured.
  private var base: UInt64
  /// When a round took no longer than that, in monotonic nanoseconds.
  private var seenAt: UInt64
  private var measuredAt: UInt64?
  private var lateSince: UInt64?
  private var lateRounds = 0

  /// What may stand in a queue, in nanoseconds: scheduling, batching and this process' own work make up that much.
  private static let slack = 50_000_000.0
  /// Half of the way once more may stand in a queue as well; Netflix' limiter puts up with the same.
  private static let tolerance = 1.5
  /// Of that, what is chance: at one end it is the way all the same, at the other growth ends before answers are late.
  private static let margin = 0.1
  /// One stall makes the round late in which it ends and the next, so those two alone say nothing…
  private static let doubtfulRounds = 3
  /// …nor do rounds that are over before the machine has given others their turn, in nanoseconds…
  private static let doubtfulTime: UInt64 = 200_000_000
  /// …but a queue as long as this needs no second look.
  private static let unbearableTime: UInt64 = 5_000_000_000
  /// Measuring costs up to three round trips at a quarter of the rate: at most a twentieth of the time goes into it. In
  /// nanoseconds, and in ways.
  private static let leastInterval: UInt64 = 10_000_000_000
  private static let leastTrips: UInt64 = 45
  /// A way that was not seen for so long may be another by now, in nanoseconds.
  private static let longestUnseen: UInt64 = 30_000_000_000

  /// What answers may take, in nanoseconds: beyond that the window doesn't grow.
  var bearable: Double { Double(base) * Self.tolerance + Self.slack }

  /// - Parameter way: what the first answer took.
  init(way: UInt64 = 0, now: UInt64 = 0) {
    base = way
    seenAt = now
  }

  /// The way and back was measured.
  ///
  /// - Parameter way: in nanoseconds; `nil` if it is not longer than was known.
  mutating func measured(_ way: UInt64?, now: UInt64) {
    if let way { base = way }
    seenAt = now
    measuredAt = now
    lateSince = nil
    lateRounds = 0
  }

  /// Judges what the answers of one round took.
  ///
  /// - Parameters:
  ///   - latency: of the round, in nanoseconds.
  ///   - roundBegan: when, in monotonic nanoseconds.
  mutating func record(_ latency: UInt64, roundBegan: UInt64, now: UInt64) -> Verdict {
    base = min(latency, base)
    let headroom = (bearable - Double(latency)) / (bearable - Double(base))
    if headroom > 1 - Self.margin { seenAt = now }
    let mayMeasure = measuredAt.map { now &- $0 >= max(Self.leastInterval, base &* Self.leastTrips) } ?? true
    if headroom > 0 {
      lateSince = nil
      lateRounds = 0
      if mayMeasure, now &- seenAt >= Self.longestUnseen { return .doubtful }
      return .flat(headroom: max(0, (headroom - Self.margin) / (1 - Self.margin)))
    }
    let since = lateSince ?? roundBegan
    lateSince = since
    lateRounds += 1
    let lasted = now &- since
    let isDoubtful =
      lateRounds >= Self.doubtfulRounds && lasted >= Self.doubtfulTime || lasted >= Self.unbearableTime
    return isDoubtful && mayMeasure ? .doubtful : .late
  }
}
