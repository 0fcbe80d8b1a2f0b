public import PushTransport
public import Foundation
import TestSupport

extension FaultCase {
  /// Limit of attempts. In one attempt a mutant may break no rule visibly, and on a busy machine a campaign may end
  /// before its fault.
  private static let maximumTries = 10

  /// Plays the case until its faults have fired; a mutant until the checker has found a violation.
  ///
  /// - Parameters:
  ///   - scale: the size of the case.
  ///   - engine: engine of its workers.
  ///   - seed: seed of its random values.
  ///   - logs: folder for the logs of a failure.
  public func run(_ scale: FaultScale, engine: PushEngineKind, seed: UInt64, logs: URL) async -> CaseReport {
    let began = ContinuousClock.now
    var report = await play(scale, engine, seed: seed, logs: logs)
    var tries = 1
    while report.verdict == .failed, isMutant || report.isMissed, tries < Self.maximumTries {
      tries += 1
      report = await play(scale, engine, seed: seed &+ UInt64(tries), logs: logs)
    }
    if report.verdict == .passed, isMutant || tries > 1 {
      report.notes.append("\(isMutant ? "noticed" : "fired") at attempt \(tries)")
    }
    report.seconds = (ContinuousClock.now - began) / .seconds(1)
    return report
  }

  private func play(_ scale: FaultScale, _ engine: PushEngineKind, seed: UInt64, logs: URL) async -> CaseReport {
    let folder = logs.appending(path: "\(name)-\(seed)")
    let stage = Stage(self, scale: scale, engine: engine, seed: seed, folder: folder)
    var (skipped, isMissed) = (false, false)
    do {
      try? FileManager.default.removeItem(at: folder)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try await script(stage)
      let fired = stage.report.injections.merging(stage.report.rated) { $0 + $1 }
      let missed = faults.filter { fired[$0, default: 0] == 0 }
      isMissed = !missed.isEmpty && stage.report.violations.isEmpty
      for fault in missed { stage.violated("\(fault): never fired") }
      if stage.report.campaigns == 0 { stage.violated("nothing was checked") }
    } catch let reason as FaultSkipped {
      skipped = true
      stage.violated("\(reason)")
    } catch {
      stage.violated("\(error)")
    }
    await stage.close()
    var report = stage.report
    let isGood = isMutant ? stage.detections > 0 : report.violations.isEmpty
    report.verdict = skipped ? .skipped : isGood ? .passed : .failed
    report.isMissed = isMissed
    if isMutant {
      report.mutant = isGood ? report.violations.first : nil
      report.violations = isGood ? [] : ["the checker found no violation"] + report.violations
      // These numbers would be misleading in the summary: the mutant does not show how the real ledger behaves.
      report.injections = [:]
      report.takeovers = []
      report.disturbedTakeovers = []
    }
    if report.verdict == .failed {
      report.logs = folder.path
    } else {
      try? FileManager.default.removeItem(at: folder)
    }
    return report
  }
}
