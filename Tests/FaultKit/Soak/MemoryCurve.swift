/// Memory over time, with a test for growth.
public struct MemoryCurve: Codable, Sendable {
  /// Name of the measured process.
  public let name: String
  /// Each sample: seconds since the start, and kB.
  private var samples: [[Double]] = []

  /// Growth that is ignored, because allocators keep freed pages and tables double their size.
  private static let tolerance = (share: 0.1, kilobytes: 8192.0)

  init(name: String) { self.name = name }

  mutating func add(seconds: Double, kilobytes: Int) { samples.append([seconds, Double(kilobytes)]) }

  /// Samples after the first fifth of the time, in which caches and pools are filled.
  private var settled: ArraySlice<[Double]> { samples.dropFirst(samples.count / 5) }

  /// Growth in kB per hour, by least squares.
  public var slope: Double {
    let points = settled
    let count = Double(points.count)
    guard count >= 3 else { return 0 }
    let (meanX, meanY) = (points.reduce(0) { $0 + $1[0] } / count, points.reduce(0) { $0 + $1[1] } / count)
    let spread = points.reduce(0) { $0 + ($1[0] - meanX) * ($1[0] - meanX) }
    guard spread > 0 else { return 0 }
    return 3600 * points.reduce(0) { $0 + ($1[0] - meanX) * ($1[1] - meanY) } / spread
  }

  /// Whether the slope over the measured time is within the tolerance.
  public var isFlat: Bool {
    guard let first = settled.first, let last = settled.last else { return true }
    let mean = settled.reduce(0) { $0 + $1[1] } / Double(settled.count)
    return slope * (last[0] - first[0]) / 3600 <= max(Self.tolerance.kilobytes, mean * Self.tolerance.share)
  }

  /// The line of the report.
  public var line: String {
    guard let first = settled.first, let last = settled.last else { return "\(name): not measured" }
    let most = settled.map { $0[1] }.max() ?? 0
    return "\(name): \(isFlat ? "flat" : "NOT FLAT"), \(Int(first[1])) kB then, \(Int(last[1])) kB now, "
      + "\(Int(most)) kB at most, \(Int(slope)) kB an hour, \(samples.count) samples"
  }
}
