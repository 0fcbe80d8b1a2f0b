import CommandSupport

/// Cost of scraping a worker's metrics every second: a whole campaign with and without it, and one scrape alone.
struct ScrapedPart: BenchPart {
  private static let scrapes = 2000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    var runs: [Bool: [CampaignRun.Result]] = [:]
    for round in 0..<settings.rounds {
      // The order changes each round, so that neither variant always runs second on a warm machine.
      for isScraped in round % 2 == 0 ? [false, true] : [true, false] {
        report.progress(
          "scraped: \(isScraped ? "every second" : "never"), round \(round + 1) of \(settings.rounds)")
        let run = CampaignRun(world: world, settings: .init(devices: devices, isScraped: isScraped))
        runs[isScraped, default: []].append(try await run.measure())
      }
    }
    for (isScraped, what) in [(false, "never"), (true, "every second")] {
      try CampaignFigures.report(
        runs[isScraped] ?? [], key: "scraped.\(isScraped)",
        name: "\(devices.count.grouped) targets, metrics asked for \(what)", to: report)
    }
    let pairs = zip(runs[true] ?? [], runs[false] ?? [])
    try report.add(
      Figure(
        "scraped.worker", "worker's CPU a target, metrics asked for every second / never", "",
        samples: pairs.map { $0.worker / $1.worker }))
    try report.add(
      Figure("scraped.cost", "metrics, CPU of a worker each time", "µs", samples: [try await cost(world)]))
  }

  /// Returns the CPU time of an idle worker for one answer, in µs.
  private func cost(_ world: BenchWorld) async throws -> Double {
    let redis = try await world.startRedis(nil)
    let simulator = try await world.startSimulator()
    let scraper = try MetricsScraper()
    let worker = try await world.startWorker("scraped", simulator, redis, options: scraper.options, environment: [:])
    try scraper.scrape()
    let before = ProcessCost.cpuMicroseconds(of: worker.id)
    for _ in 0..<Self.scrapes { try scraper.scrape() }
    let cost = (ProcessCost.cpuMicroseconds(of: worker.id) - before) / Double(Self.scrapes)
    await world.stop(worker)
    await world.stop(simulator.process)
    await world.stop(redis)
    return cost
  }
}
