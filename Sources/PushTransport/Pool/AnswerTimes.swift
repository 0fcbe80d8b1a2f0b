/// Histogram of the latencies of answers. It has only plain numbers without heap storage. A connection counts the
/// answers of a turn and delivers the counts with the answers, so a push costs at most four comparisons and no lock.
public struct AnswerTimes: Sendable, Equatable {
  /// Upper bounds of the ranges in nanoseconds. Latencies above the last bound are counted in one more range. A round
  /// trip to APNs takes about 10 to 100 ms, a timeout 30 s.
  public static let bounds: [UInt64] = [
    5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
    5_000_000_000, 10_000_000_000, 30_000_000_000,
  ]

  /// The counters are not a SIMD vector, because of an error in Swift 6.3: if an async function stores such a vector,
  /// the program writes beyond the end of the task's memory. AddressSanitizer found this in a test.
  private var counters = InlineArray<13, UInt64>(repeating: 0)
  /// Sum of all latencies in nanoseconds.
  public private(set) var sum: UInt64 = 0

  /// Creates an empty histogram.
  public init() {}

  /// Number of answers in each range; one more than ``bounds``.
  public var counts: [UInt64] { counters.indices.map { counters[$0] } }

  /// Records the latency of one answer, in nanoseconds.
  mutating func record(_ time: UInt64) {
    counters[Self.range(of: time)] &+= 1
    sum &+= time
  }

  mutating func add(_ other: AnswerTimes) {
    for range in counters.indices { counters[range] &+= other.counters[range] }
    sum &+= other.sum
  }

  /// Returns whether two histograms have the same counts and the same sum.
  public static func == (left: AnswerTimes, right: AnswerTimes) -> Bool {
    left.sum == right.sum && left.counters.indices.allSatisfy { left.counters[$0] == right.counters[$0] }
  }

  /// Returns the position of a latency's range in ``bounds``, with at most four comparisons.
  static func range(of time: UInt64) -> Int {
    if time <= 250_000_000 {
      if time <= 25_000_000 { return time <= 5_000_000 ? 0 : time <= 10_000_000 ? 1 : 2 }
      return time <= 50_000_000 ? 3 : time <= 100_000_000 ? 4 : 5
    }
    if time <= 2_500_000_000 { return time <= 500_000_000 ? 6 : time <= 1_000_000_000 ? 7 : 8 }
    return time <= 5_000_000_000 ? 9 : time <= 10_000_000_000 ? 10 : time <= 30_000_000_000 ? 11 : 12
  }
}
