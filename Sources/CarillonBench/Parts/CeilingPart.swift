import CommandSupport

/// The native engine with a latency of 50 ms. The ceiling is the number of streams divided by the latency. The part
/// measures which share of the ceiling the engine reaches.
struct CeilingPart: BenchPart {
  private static let milliseconds = 50
  private static let streams = 1000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    try BenchDevices(count: 10_000, seed: settings.seed).writeTokens(world.path("tokens"))
    var measured: [Int: [Measured]] = [:]
    for round in 0..<settings.rounds {
      for connections in [1, 2] {
        report.progress("ceiling: \(connections) connections, round \(round + 1) of \(settings.rounds)")
        let simulator = try await world.startSimulator([
          "--latency", "\(Self.milliseconds)ms", "--seed", String(settings.seed), "--knob", "tracksDuplicates=false",
        ])
        let (output, _) = try await world.run(
          [
            world.program, "engine", "--engine", "native", "--app", "news", "--tokens", world.path("tokens"),
            "--seconds",
            String(settings.seconds), "--streams", String(Self.streams), "--payload",
            String(CampaignRun.payload.utf8.count),
          ],
          environment: world.environment(simulator).merging(["CARILLON_WORKER_CONNECTIONS": String(connections)]) { $1 }
        )
        await world.stop(simulator.process)
        guard let line = OutputLine(output.utf8) else { throw CommandError(.failed, "the engine printed: \(output)") }
        measured[connections, default: []].append((try line.number("perSecond"), try line.number("inFlight")))
      }
    }
    for (connections, runs) in measured.sorted(by: { $0.key < $1.key }) {
      let streams = Double(connections * Self.streams)
      try report.add(
        Figure(
          "ceiling.native.\(connections)",
          "native engine, \(Self.milliseconds) ms, \(connections) × \(Self.streams) streams, share of the ceiling", "",
          samples: runs.map { $0.perSecond / ceiling(connections) }))
      // The remaining share is lost to unused streams of the window, or to answers that take longer than the latency.
      try report.add(
        Figure(
          "ceiling.native.\(connections).streams",
          "\(connections) × \(Self.streams) streams, \(Self.milliseconds) ms: share of them in use", "",
          samples: runs.map { $0.inFlight / streams }))
      // On a busy machine there may be no answers in such a short time.
      let answered = runs.filter { $0.perSecond > 0 }
      guard !answered.isEmpty else { continue }
      try report.add(
        Figure(
          "ceiling.native.\(connections).latency",
          "\(connections) × \(Self.streams) streams, \(Self.milliseconds) ms: what an answer takes", "ms",
          samples: answered.map { $0.inFlight / $0.perSecond * 1000 }))
    }
  }

  /// Output of `carillon-bench engine --seconds`.
  private typealias Measured = (perSecond: Double, inFlight: Double)

  /// Returns the highest possible number of answers per second with these connections.
  private func ceiling(_ connections: Int) -> Double {
    Double(connections * Self.streams) * 1000 / Double(Self.milliseconds)
  }
}
