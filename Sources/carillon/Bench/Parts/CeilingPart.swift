import Foundation

/// The native engine where answers take 50 ms: streams over latency is all there is to be had, and how much of it is.
struct CeilingPart: BenchPart {
  private static let milliseconds = 50
  private static let streams = 1000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    try BenchDevices(count: 10_000, seed: settings.seed).writeTokens(world.path("tokens"))
    var shares: [Int: [Double]] = [:]
    for round in 0..<settings.rounds {
      for connections in [1, 2] {
        report.progress("ceiling: \(connections) connections, round \(round + 1) of \(settings.rounds)")
        let simulator = try await world.startSimulator([
          "--latency", "\(Self.milliseconds)ms", "--seed", String(settings.seed), "--knob", "tracksDuplicates=false",
        ])
        let (output, _) = try await world.carillon(
          [
            "bench", "engine", "--engine", "native", "--app", "news", "--tokens", world.path("tokens"), "--seconds",
            String(settings.seconds), "--streams", String(Self.streams), "--payload",
            String(CampaignRun.payload.utf8.count),
          ],
          environment: world.environment(simulator).merging(["CARILLON_WORKER_CONNECTIONS": String(connections)]) { $1 }
        )
        await world.stop(simulator.process)
        let said = try JSONDecoder().decode(EngineSaid.self, from: Data(output.utf8))
        shares[connections, default: []].append(said.perSecond / ceiling(connections))
      }
    }
    for (connections, samples) in shares.sorted(by: { $0.key < $1.key }) {
      let figure = Figure(
        "ceiling.native.\(connections)",
        "native engine, answers after \(Self.milliseconds) ms, \(connections) × \(Self.streams) streams, share of the ceiling",
        "", samples: samples, details: ["ceilingPerSecond": ceiling(connections)])
      try report.add(figure)
    }
  }

  /// Answers a second that so many connections can have.
  private func ceiling(_ connections: Int) -> Double {
    Double(connections * Self.streams) * 1000 / Double(Self.milliseconds)
  }
}
