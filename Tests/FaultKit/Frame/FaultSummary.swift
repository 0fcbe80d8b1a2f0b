public import Foundation

/// The result of a run of cases.
public struct FaultSummary: Codable, Sendable {
  public var seed: UInt64
  public var reports: [CaseReport]
  /// Cases that were not played for lack of time.
  public var unplayed: [String]
  public var seconds: Double

  /// Whether all cases were played or skipped, and none failed.
  public var isGood: Bool { unplayed.isEmpty && reports.allSatisfy { $0.verdict != .failed } }

  /// Number of injections that fired.
  public var injections: Int { reports.flatMap(\.injections.values).reduce(0, +) }
  /// Number of kinds of fault that fired.
  public var kinds: Int { Set(reports.flatMap { Array($0.injections.keys) + Array($0.rated.keys) }).count }

  /// JSON with sorted keys.
  public var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return try encoder.encode(self)
    }
  }

  /// The table: a line for each case, and the sums.
  public var table: String {
    var lines = [
      "| case | engine | fault | injections | the checker requires | duplicates allowed | observed | takeover p50 / p99 / max |",
      "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for report in reports {
      let faults = report.injections.merging(report.rated) { $0 + $1 }.sorted { $0.key < $1.key }
      let names = faults.map(\.key).joined(separator: "; ")
      let counts = faults.map { String($0.value) }.joined(separator: "; ")
      let verdict = report.verdict == .passed ? report.invariant : "\(report.verdict): \(report.violations.first ?? "")"
      lines.append(
        "| \(report.name) | \(report.engine) | \(names) | \(counts) | \(verdict) | \(report.bound) (\(report.boundInWords)) | "
          + "\(report.duplicates) | \(Self.quantiles(report.takeovers)) |")
    }
    let targets = reports.reduce(0) { $0 + $1.targets }
    let failed = reports.count { $0.verdict == .failed }
    let skipped = reports.count { $0.verdict == .skipped }
    lines.append("")
    lines.append(
      "\(kinds) kinds of fault, \(injections) injections (and \(reports.flatMap(\.rated.values).reduce(0, +)) by rate), "
        + "\(reports.reduce(0) { $0 + $1.campaigns }) campaigns of \(targets) targets in \(Int(seconds)) s; "
        + "takeover p50 / p99 / max \(Self.quantiles(reports.flatMap(\.takeovers))), where others died meanwhile "
        + Self.quantiles(reports.flatMap(\.disturbedTakeovers)))
    lines.append(
      "\(reports.count - failed - skipped) cases passed, \(failed) failed, \(skipped) skipped, "
        + "\(unplayed.count) not played; seed \(seed)")
    return lines.joined(separator: "\n")
  }

  /// Returns quantiles in seconds, with the number of values.
  static func quantiles(_ milliseconds: [Int]) -> String {
    guard !milliseconds.isEmpty else { return "–" }
    let sorted = milliseconds.sorted()
    func at(_ share: Double) -> String {
      let index = min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)
      return String(format: "%.1f", Double(sorted[max(0, index)]) / 1000)
    }
    return "\(at(0.5)) / \(at(0.99)) / \(at(1)) s (\(sorted.count))"
  }
}

extension CaseReport {
  /// The report for a terminal.
  public var line: String {
    let fired = injections.merging(rated) { $0 + $1 }.sorted { $0.key < $1.key }.map { "\($0.key) ×\($0.value)" }
    let head =
      "\(verdict) \(name): \(fired.joined(separator: ", ")); \(duplicates) of \(bound) duplicates, "
      + "\(targets) targets, takeover \(FaultSummary.quantiles(takeovers)), \(Int(seconds)) s, \(engine), seed \(seed)"
    let rest =
      (verdict == .passed ? [] : violations.prefix(12).map { "  \($0)" }) + notes.map { "  \($0)" }
      + (mutant.map { ["  detection: \($0)"] } ?? [])
    return ([head] + rest + (logs.map { ["  logs in \($0)"] } ?? [])).joined(separator: "\n")
  }
}
