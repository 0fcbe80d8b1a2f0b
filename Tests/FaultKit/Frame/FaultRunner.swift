public import PushTransport
public import Foundation

/// Plays several cases concurrently. This is efficient, because cases mostly wait for leases to expire.
public struct FaultRunner: Sendable {
  /// Seed of all random values.
  public var seed: UInt64
  /// Engines of the workers; see ``FaultCases/engine(of:among:seed:)``.
  public var engines: [PushEngineKind]
  /// Number of concurrent cases.
  public var worlds: Int
  /// The size of each case.
  public var scale: FaultScale
  /// Time after which no more cases start.
  public var limit: Duration
  /// Folder for the logs of failures.
  public var logs: URL

  /// Creates a runner with these settings.
  public init(
    seed: UInt64, engines: [PushEngineKind], worlds: Int, scale: FaultScale, limit: Duration, logs: URL
  ) {
    self.seed = seed
    self.engines = engines
    self.worlds = worlds
    self.scale = scale
    self.limit = limit
    self.logs = logs
  }

  /// Plays the cases in order. In the full form, cases that measure times or rates are played last, one at a time.
  ///
  /// - Parameter onReport: called with each report when its case ends.
  public func run(_ cases: [FaultCase], onReport: @Sendable (CaseReport) -> Void) async -> FaultSummary {
    let began = ContinuousClock.now
    let measuring = scale == .full ? cases.filter(\.measures) : []
    let names = Set(measuring.map(\.name))
    var reports: [CaseReport] = []
    for (cases, worlds) in [(cases.filter { !names.contains($0.name) }, worlds), (measuring, 1)] {
      var waiting = cases[...]
      await withTaskGroup(of: CaseReport.self) { group in
        func next() {
          guard ContinuousClock.now - began < limit, let fault = waiting.popFirst() else { return }
          // The short form is enough for a mutant, because the checker must only notice it.
          let scale = fault.isMutant ? .short : scale
          let engine = FaultCases.engine(of: fault.name, among: engines, seed: seed)
          group.addTask { await fault.run(scale, engine: engine, seed: seed(of: fault), logs: logs) }
        }
        for _ in 0..<worlds { next() }
        for await report in group {
          onReport(report)
          reports.append(report)
          next()
        }
      }
    }
    let played = Set(reports.map(\.name))
    let order = Dictionary(uniqueKeysWithValues: cases.enumerated().map { ($1.name, $0) })
    reports.sort { order[$0.name, default: 0] < order[$1.name, default: 0] }
    return FaultSummary(
      seed: seed, reports: reports, unplayed: cases.map(\.name).filter { !played.contains($0) },
      seconds: (ContinuousClock.now - began) / .seconds(1))
  }

  /// Returns a case's own seed. It does not depend on the other cases.
  private func seed(of fault: FaultCase) -> UInt64 {
    // FNV-1a.
    fault.name.utf8.reduce(0xcbf2_9ce4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
