import Histogram

/// Times, in an HdrHistogram: from 1 µs up, to three digits, however many there are.
struct Latencies {
  private var histogram: Histogram<UInt32>

  /// - Parameter milliseconds: negative ones count as 0.
  init(milliseconds: [Double] = []) {
    histogram = Histogram(numberOfSignificantValueDigits: .three)
    for sample in milliseconds { record(milliseconds: sample) }
  }

  mutating func record(milliseconds: Double) {
    histogram.record(UInt64((max(0, milliseconds) * 1000).rounded()))
  }

  /// ms that `share` (0 to 1) of all are not above; 0 where there is nothing.
  func at(_ share: Double) -> Double {
    histogram.totalCount == 0 ? 0 : Double(histogram.valueAtPercentile(share * 100)) / 1000
  }
}
