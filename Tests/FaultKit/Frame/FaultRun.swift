public import Foundation
import TestSupport

extension FaultCase {
  /// Plays the case once.
  ///
  /// - Parameters:
  ///   - scale: how much of it.
  ///   - seed: what its randomness begins with.
  ///   - logs: where the logs of a failure are kept.
  public func run(_ scale: FaultScale, seed: UInt64, logs: URL) async -> CaseReport {
    let began = ContinuousClock.now
    let folder = logs.appending(path: "\(name)-\(seed)")
    let stage = Stage(self, scale: scale, seed: seed, folder: folder)
    var verdict = CaseReport.Verdict.passed
    do {
      try? FileManager.default.removeItem(at: folder)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try await script(stage)
      let fired = stage.report.injections.merging(stage.report.rated) { $0 + $1 }
      for fault in faults where fired[fault, default: 0] == 0 { stage.violated("\(fault): never fired") }
      if stage.report.campaigns == 0 { stage.violated("nothing was checked") }
    } catch let skipped as FaultSkipped {
      verdict = .skipped
      stage.violated("\(skipped)")
    } catch {
      stage.violated("\(error)")
    }
    await stage.close()
    var report = stage.report
    report.seconds = (ContinuousClock.now - began) / .seconds(1)
    report.verdict = verdict == .skipped ? .skipped : (report.violations.isEmpty != isMutant ? .passed : .failed)
    if isMutant, report.violations.isEmpty { report.violations = ["the checker did not object to a broken ledger"] }
    if report.verdict == .failed {
      report.logs = folder.path
    } else {
      try? FileManager.default.removeItem(at: folder)
    }
    return report
  }
}
