import Foundation
import LedgerModel
import TestSupport

/// Random schedules of the ledger's model. They run in a process of their own, which uses only spare CPU time.
struct ModelRun {
  /// Number of schedules.
  var schedules: Int
  /// Seed of the first schedule.
  var seed: UInt64
  /// The broken rule, if any.
  var mutant: Mutant?

  /// Runs the schedules in this process.
  ///
  /// - Returns: a line to print, and whether no rule was violated.
  func run() async -> (line: String, isGood: Bool) {
    let summary = await runSchedules(count: schedules, seed: seed, mutant: mutant, cores: 1)
    let head = "model: \(summary.schedules) schedules, \(summary.steps) steps, \(summary.takeovers) with takeovers, "
    let tail = "\(summary.duplicates) duplicates, \(summary.violations.count) violations; seed \(seed)"
    let lines = [head + tail] + summary.violations.map { "\($0)" }
    return (lines.joined(separator: "\n"), summary.violations.isEmpty)
  }

  /// Starts this program again for the schedules, at the lowest priority.
  func start() async throws -> ChildProcess {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return try await ChildProcess.start(
      "nice", ["-n", "19", program, "--model", "--schedules", String(schedules), "--seed", String(seed)])
  }
}
