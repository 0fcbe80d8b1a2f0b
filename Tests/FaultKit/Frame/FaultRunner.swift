public import PushTransport
public import Foundation

/// Plays cases, several at a time: most of their time is waiting for leases to run out.
public struct FaultRunner: Sendable {
  /// What all randomness follows from.
  public var seed: UInt64
  /// What workers send with; see ``FaultCases/engine(of:among:seed:)``.
  public var engines: [PushEngineKind]
  /// Cases that are played at a time.
  public var worlds: Int
  /// How much of each.
  public var scale: FaultScale
  /// When no case is begun any more.
  public var limit: Duration
  /// Where the logs of failures are kept.
  public var logs: URL

  /// Memberwise.
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

  /// Plays them in order.
  ///
  /// - Parameter told: called with every report as it comes.
  public func run(_ cases: [FaultCase], told: @Sendable (CaseReport) -> Void) async -> FaultSummary {
    let began = ContinuousClock.now
    var waiting = cases[...]
    var reports: [CaseReport] = []
    await withTaskGroup(of: CaseReport.self) { group in
      func next() {
        guard ContinuousClock.now - began < limit, let fault = waiting.popFirst() else { return }
        // For a mutant the short form is enough: it is to be noticed, not to be measured.
        let scale = fault.isMutant ? .short : scale
        let engine = FaultCases.engine(of: fault.name, among: engines, seed: seed)
        group.addTask { await fault.run(scale, engine: engine, seed: seed(of: fault), logs: logs) }
      }
      for _ in 0..<worlds { next() }
      for await report in group {
        told(report)
        reports.append(report)
        next()
      }
    }
    let order = Dictionary(uniqueKeysWithValues: cases.enumerated().map { ($1.name, $0) })
    reports.sort { order[$0.name, default: 0] < order[$1.name, default: 0] }
    return FaultSummary(
      seed: seed, reports: reports, unplayed: waiting.map(\.name),
      seconds: (ContinuousClock.now - began) / .seconds(1))
  }

  /// A seed of its own for every case, whatever others are played.
  private func seed(of fault: FaultCase) -> UInt64 {
    // FNV-1a.
    fault.name.utf8.reduce(0xcbf2_9ce4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
