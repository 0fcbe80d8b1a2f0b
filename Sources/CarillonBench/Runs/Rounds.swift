/// The samples of a benchmark's rounds, one per round.
struct Rounds: Sendable {
  private let sorted: [Double]

  init(_ samples: [Double]) {
    sorted = samples.sorted()
  }

  /// The middle sample, or the mean of the two in the middle; 0 without samples.
  var median: Double {
    guard !sorted.isEmpty else { return 0 }
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  var smallest: Double { sorted.first ?? 0 }
  var largest: Double { sorted.last ?? 0 }
}
