/// Gauge that decides whether answers take longer than a round trip to the service.
struct LatencyGauge: Sendable, Equatable {
  enum Verdict: Sendable, Equatable {
    /// Answers take about as long as a round trip. `headroom` is the unused part of the tolerance, 0 to 1.
    case flat(headroom: Double)
    /// At the moment, answers take longer than a round trip.
    case late
    /// The round trip should be measured again (``measured(_:now:)``), because answers have been late for a long time,
    /// or the last measurement is old.
    case doubtful
  }

  /// Round-trip time in nanoseconds: the shortest latency of a round since the last measurement.
  private var base: UInt64
  /// Time of the last round whose latency was about `base`, in monotonic nanoseconds.
  private var seenAt: UInt64
  private var measuredAt: UInt64?
  private var lateSince: UInt64?
  private var lateRounds = 0

  /// Tolerated queueing time in nanoseconds, in addition to the relative tolerance. Scheduling, batching and this
  /// process' own work take up to this time.
  private static let slack = 50_000_000.0
  /// Tolerated latency as a multiple of the round-trip time: queueing may add half of the round-trip time. Netflix'
  /// limiter tolerates the same.
  private static let tolerance = 1.5
  /// Share of the tolerance that may be chance. A latency in the lowest tenth of the tolerance still counts as the
  /// round-trip time. In the highest tenth, the window stops growing before answers are late.
  private static let margin = 0.1
  /// Minimum number of late rounds before a new measurement. One delay can make two rounds late, so two are not enough.
  private static let doubtfulRounds = 3
  /// Minimum duration of late rounds before a new measurement, in nanoseconds. In a shorter time, other processes on
  /// the machine may be the cause.
  private static let doubtfulTime: UInt64 = 200_000_000
  /// Duration of late rounds, in nanoseconds, after which a new measurement is due even with fewer than
  /// ``doubtfulRounds``.
  private static let maximumLateTime: UInt64 = 5_000_000_000
  /// Minimum interval between measurements, in nanoseconds and in round trips. A measurement takes up to three round
  /// trips at a quarter of the rate, so measurements reduce the rate by at most a twentieth.
  private static let minimumInterval: UInt64 = 10_000_000_000
  private static let minimumTrips: UInt64 = 45
  /// Nanoseconds after which the round-trip time may have changed, if no round has confirmed it.
  private static let maximumUnconfirmed: UInt64 = 30_000_000_000

  /// Tolerated latency in nanoseconds. Above it, the window does not grow.
  var toleratedLatency: Double { Double(base) * Self.tolerance + Self.slack }

  /// - Parameter way: latency of the first answer, in nanoseconds.
  init(way: UInt64 = 0, now: UInt64 = 0) {
    base = way
    seenAt = now
  }

  /// Records a measurement of the round-trip time.
  ///
  /// - Parameter way: round-trip time in nanoseconds; `nil` if the known time is still correct.
  mutating func measured(_ way: UInt64?, now: UInt64) {
    if let way { base = way }
    seenAt = now
    measuredAt = now
    lateSince = nil
    lateRounds = 0
  }

  /// Judges the latency of one round.
  ///
  /// - Parameters:
  ///   - latency: latency of the round in nanoseconds.
  ///   - roundBegan: beginning of the round in monotonic nanoseconds.
  mutating func record(_ latency: UInt64, roundBegan: UInt64, now: UInt64) -> Verdict {
    base = min(latency, base)
    let headroom = (toleratedLatency - Double(latency)) / (toleratedLatency - Double(base))
    if headroom > 1 - Self.margin { seenAt = now }
    let mayMeasure = measuredAt.map { now &- $0 >= max(Self.minimumInterval, base &* Self.minimumTrips) } ?? true
    if headroom > 0 {
      lateSince = nil
      lateRounds = 0
      if mayMeasure, now &- seenAt >= Self.maximumUnconfirmed { return .doubtful }
      return .flat(headroom: max(0, (headroom - Self.margin) / (1 - Self.margin)))
    }
    let since = lateSince ?? roundBegan
    lateSince = since
    lateRounds += 1
    let lasted = now &- since
    let isDoubtful =
      lateRounds >= Self.doubtfulRounds && lasted >= Self.doubtfulTime || lasted >= Self.maximumLateTime
    return isDoubtful && mayMeasure ? .doubtful : .late
  }
}
