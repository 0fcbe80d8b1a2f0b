import Histogram

/// Latencies in an HdrHistogram, from 1 µs and with three significant digits. The size of the histogram does not depend
/// on the number of values.
struct Latencies {
  private var histogram: Histogram<UInt32>

  /// - Parameter milliseconds: negative values count as 0.
  init(milliseconds: [Double] = []) {
    histogram = Histogram(numberOfSignificantValueDigits: .three)
    for sample in milliseconds { record(milliseconds: sample) }
  }

  mutating func record(milliseconds: Double) {
    histogram.record(UInt64((max(0, milliseconds) * 1000).rounded()))
  }

  /// Returns the percentile for `share` (0 to 1), in ms; 0 without values.
  func at(_ share: Double) -> Double {
    histogram.totalCount == 0 ? 0 : Double(histogram.valueAtPercentile(share * 100)) / 1000
  }
}
