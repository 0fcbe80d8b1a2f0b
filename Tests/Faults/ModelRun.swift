import Foundation
import LedgerModel
import TestSupport

/// Random schedules of the ledger's model, in a process of its own that gets what the worlds leave of the machine.
struct ModelRun {
  /// How many.
  var schedules: Int
  /// Of the first.
  var seed: UInt64
  /// The rule that is broken, if any.
  var mutant: Mutant?

  /// Runs them here.
  ///
  /// - Returns: a line to print, and whether no rule was broken.
  func run() async -> (line: String, isGood: Bool) {
    let summary = await runSchedules(count: schedules, seed: seed, mutant: mutant, cores: 1)
    let head = "model: \(summary.schedules) schedules, \(summary.steps) steps, \(summary.takeovers) with takeovers, "
    let tail = "\(summary.duplicates) duplicates, \(summary.violations.count) violations; seed \(seed)"
    let lines = [head + tail] + summary.violations.map { "\($0)" }
    return (lines.joined(separator: "\n"), summary.violations.isEmpty)
  }

  /// Starts this program again for them, at the lowest priority.
  func start() async throws -> ChildProcess {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return try await ChildProcess.start(
      "nice", ["-n", "19", program, "--model", "--schedules", String(schedules), "--seed", String(seed)])
  }
}
