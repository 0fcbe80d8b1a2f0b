import CommandSupport

/// The same campaign with 1, 2 and 4 workers.
struct WorkersPart: BenchPart {
  private static let counts = [1, 2, 4]

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    var runs: [Int: [CampaignRun.Result]] = [:]
    for round in 0..<settings.rounds {
      for count in Self.counts {
        report.progress("workers: \(count), round \(round + 1) of \(settings.rounds)")
        let run = CampaignRun(world: world, settings: .init(devices: devices, workers: count))
        runs[count, default: []].append(try await run.measure())
      }
    }
    for count in Self.counts {
      try CampaignFigures.report(
        runs[count] ?? [], key: "workers.\(count)", name: "\(devices.count.grouped) targets, \(count) workers",
        to: report)
    }
  }
}
