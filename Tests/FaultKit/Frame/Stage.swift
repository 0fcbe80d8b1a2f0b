public import PushTransport
import Foundation
import Synchronization
import TestSupport

/// What a case is played on: its randomness, its worlds, and the record of what fired.
public final class Stage: Sendable {
  /// How much is played.
  public let scale: FaultScale
  /// What the workers of its worlds send with.
  public let engine: PushEngineKind
  private let folder: URL
  private let environment: [String: String]
  private struct Contents {
    var random: Seed
    var worlds: [FaultWorld] = []
    var report: CaseReport
    /// Duplicates that the injections since the last check allow.
    var allowed = 0
    /// What the checker and ``Stage/require(_:_:)`` found.
    var objections = 0
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

  /// One number for the short form, another for the full one.
  public func times(short: Int, full: Int) -> Int { scale == .short ? short : full }

  /// A number that follows from the seed.
  public func random(_ range: ClosedRange<Int>) -> Int { contents.withLock { .random(in: range, using: &$0.random) } }

  /// An element that follows from the seed; `nil` of nothing.
  public func random<Element>(of elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[random(0...(elements.count - 1))]
  }

  /// Lets a random time pass: the pace of injections.
  public func elapse(milliseconds: ClosedRange<Int>) async {
    await FaultKit.elapse(.milliseconds(random(milliseconds)))
  }

  // MARK: Worlds

  /// Builds a world for this case; it is taken down with the case.
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

  /// Takes the worlds down.
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

  /// Takes note of injections that certainly fired.
  ///
  /// - Parameters:
  ///   - fault: the kind; one of those the case announces.
  ///   - times: how many.
  ///   - duplicates: how many duplicates all of them together allow.
  public func fired(_ fault: String, times: Int = 1, duplicates: Int = 0) {
    contents.withLock {
      $0.report.injections[fault, default: 0] += times
      $0.allowed += duplicates
    }
  }

  /// Takes note of faults that the simulator or a proxy fired by rate: counted apart.
  public func firedByRate(_ fault: String, times: Int, duplicates: Int = 0) {
    contents.withLock {
      $0.report.rated[fault, default: 0] += times
      $0.allowed += duplicates
    }
  }

  /// Allows duplicates for something that is not what the case is about.
  public func allow(duplicates: Int) { contents.withLock { $0.allowed += duplicates } }

  /// Takes note of something worth a line in the report.
  public func note(_ text: String) { contents.withLock { $0.report.notes.append(text) } }

  /// Takes note that something did not hold.
  public func violated(_ text: String) { contents.withLock { $0.report.violations.append(text) } }

  /// Takes note of a violation unless something holds.
  public func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { violated(text()) }
  }

  // MARK: Checking

  /// Takes note of an objection unless something holds: like ``expect(_:_:)``, but enough to catch a mutant.
  public func require(_ condition: Bool, _ text: @autoclosure () -> String) {
    guard !condition else { return }
    violated(text())
    contents.withLock { $0.objections += 1 }
  }

  /// Checks all campaigns of a world that have been submitted since its last check, and what is left of them; the
  /// duplicates are held against what the injections since then allow. Workers that still run go on.
  public func check(_ world: FaultWorld) async throws {
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
      $0.objections += verdict.violations.count
    }
    world.forgetCampaigns()
  }

  /// How many violations were found by the checker itself, or by what a case checks in its place.
  var objections: Int { contents.withLock { $0.objections } }

  var report: CaseReport { contents.withLock { $0.report } }
}
