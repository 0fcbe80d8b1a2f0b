/// Exact percentiles of few samples: every sample is kept, so nothing is rounded to buckets.
struct Percentiles: Sendable {
  private let sorted: [Double]

  init(_ samples: [Double]) {
    sorted = samples.sorted()
  }

  /// The smallest sample that `share` (0 to 1) of all are not above (nearest rank); 0 without samples.
  func at(_ share: Double) -> Double {
    guard !sorted.isEmpty else { return 0 }
    let rank = (share * Double(sorted.count)).rounded(.up)
    return sorted[min(max(Int(rank), 1), sorted.count) - 1]
  }

  /// The middle sample, or the mean of the two in the middle.
  var median: Double {
    guard !sorted.isEmpty else { return 0 }
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  var smallest: Double { sorted.first ?? 0 }
  var largest: Double { sorted.last ?? 0 }
}
