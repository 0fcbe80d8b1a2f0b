public import PushTransport
import Foundation
import Synchronization
import TestSupport

/// The environment of a case: its random values, its worlds, and the record of faults that fired.
public final class Stage: Sendable {
  /// The size of the case.
  public let scale: FaultScale
  /// Engine of the workers in its worlds.
  public let engine: PushEngineKind
  private let folder: URL
  private let environment: [String: String]
  private struct Contents {
    var random: Seed
    var worlds: [FaultWorld] = []
    var report: CaseReport
    /// Number of duplicates that the injections since the last check allow.
    var allowed = 0
    /// Number of findings of the checker and of ``Stage/require(_:_:)``.
    var detections = 0
  }
  private let contents: Mutex<Contents>

  init(_ fault: FaultCase, scale: FaultScale, engine: PushEngineKind, seed: UInt64, folder: URL) {
    self.scale = scale
    self.engine = engine
    self.folder = folder
    environment = fault.environment
    contents = Mutex(
      Contents(random: Seed(value: seed), report: CaseReport(fault, engine: engine.rawValue, seed: seed)))
  }

  // MARK: Choosing

  /// Returns one number for the short form, and another for the full one.
  public func times(short: Int, full: Int) -> Int { scale == .short ? short : full }

  /// Returns a random number that depends on the seed.
  public func random(_ range: ClosedRange<Int>) -> Int { contents.withLock { .random(in: range, using: &$0.random) } }

  /// Returns a random element that depends on the seed; `nil` if there are none.
  public func random<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[random(0...(elements.count - 1))]
  }

  /// Waits for a random time: the pace of injections.
  public func elapse(milliseconds: ClosedRange<Int>) async {
    await TestSupport.elapse(.milliseconds(random(milliseconds)))
  }

  // MARK: Worlds

  /// Builds a world for this case. It is closed with the case.
  public func world(_ change: (inout FaultWorld.Options) -> Void = { _ in }) async throws -> FaultWorld {
    var options = FaultWorld.Options()
    change(&options)
    options.environment["CARILLON_WORKER_ENGINE"] = engine.rawValue
    options.environment.merge(environment) { $1 }
    let number = contents.withLock { $0.worlds.count }
    let logs = folder.appending(path: "world-\(number)")
    try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
    let world = try await FaultWorld(options, folder: logs)
    contents.withLock { $0.worlds.append(world) }
    return world
  }

  /// Closes the worlds.
  func close() async {
    let worlds = contents.withLock { contents in
      defer { contents.worlds = [] }
      return contents.worlds
    }
    for world in worlds {
      let (times, disturbed) = await (world.takeovers.times, world.takeovers.disturbedTimes)
      contents.withLock {
        $0.report.takeovers += times.map { Int($0 / .milliseconds(1)) }
        $0.report.disturbedTakeovers += disturbed.map { Int($0 / .milliseconds(1)) }
      }
      await world.close()
    }
  }

  // MARK: Recording

  /// Records injections that certainly fired.
  ///
  /// - Parameters:
  ///   - fault: the kind of fault: one of those that the case announces.
  ///   - times: number of injections.
  ///   - duplicates: number of duplicates that all of them together allow.
  public func fired(_ fault: String, times: Int = 1, duplicates: Int = 0) {
    contents.withLock {
      $0.report.injections[fault, default: 0] += times
      $0.allowed += duplicates
    }
  }

  /// Records faults that the simulator or a proxy fired by rate. They are counted separately.
  public func firedByRate(_ fault: String, times: Int, duplicates: Int = 0) {
    contents.withLock {
      $0.report.rated[fault, default: 0] += times
      $0.allowed += duplicates
    }
  }

  /// Allows duplicates for an event that is not a fault of the case.
  public func allow(duplicates: Int) { contents.withLock { $0.allowed += duplicates } }

  /// Adds a note to the report.
  public func addNote(_ text: String) { contents.withLock { $0.report.notes.append(text) } }

  /// Records a violation.
  public func violated(_ text: String) { contents.withLock { $0.report.violations.append(text) } }

  /// Records a violation if the condition is false.
  public func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { violated(text()) }
  }

  // MARK: Checking

  /// Records a violation if the condition is false, as ``expect(_:_:)`` does. Here the violation also proves that a
  /// mutant was detected.
  public func require(_ condition: Bool, _ text: @autoclosure () -> String) {
    guard !condition else { return }
    violated(text())
    contents.withLock { $0.detections += 1 }
  }

  /// Checks the campaigns that a world submitted since its last check, and the leftovers in Redis. Compares the
  /// duplicates with the number that the injections since the last check allow. Running workers continue.
  ///
  /// - Parameter campaign: a campaign that must end before the check.
  public func check(_ world: FaultWorld, after campaign: FaultCampaign? = nil) async throws {
    if let campaign { try await world.ended(campaign) }
    let allowed = contents.withLock { contents in
      defer { contents.allowed = 0 }
      return contents.allowed
    }
    let verdict = try await Checker(world: world, bound: allowed).check()
    contents.withLock {
      $0.report.bound += allowed
      $0.report.duplicates += verdict.duplicates
      $0.report.campaigns += verdict.campaigns
      $0.report.targets += verdict.targets
      $0.report.violations += verdict.violations
      $0.detections += verdict.violations.count
    }
    world.forgetCampaigns()
  }

  /// Number of violations that the checker or a ``require(_:_:)`` of the case found.
  var detections: Int { contents.withLock { $0.detections } }

  var report: CaseReport { contents.withLock { $0.report } }
}
