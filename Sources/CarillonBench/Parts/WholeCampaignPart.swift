import CommandSupport

/// Whole campaigns, from LPUSH to completed, by engine and by the kind of stored results.
struct WholeCampaignPart: BenchPart {
  /// The kinds of stored results, by engine. With the curl engine, the kind of results hardly changes the total CPU
  /// time, so one kind is sufficient.
  private static let modes = ["native": ["none", "failures", "all"], "curl": ["failures"]]

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    let cases = settings.engines.flatMap { engine in (Self.modes[engine] ?? []).map { (engine, results: $0) } }
    var runs: [String: [CampaignRun.Result]] = [:]
    for round in 0..<settings.rounds {
      for (engine, results) in cases {
        report.progress("campaign: \(engine), results \(results), round \(round + 1) of \(settings.rounds)")
        let run = CampaignRun(
          world: world, settings: .init(devices: devices, engine: engine, results: results))
        runs["\(engine).\(results)", default: []].append(try await run.measure())
      }
    }
    for (engine, results) in cases {
      guard let own = runs["\(engine).\(results)"], let last = own.last else { continue }
      try CampaignFigures.report(
        own, key: "campaign.\(engine).\(results)", name: "\(devices.count.grouped) targets, \(engine), \(results)",
        to: report)
      report.timelines.append(.init(name: "\(engine), \(results)", points: Timeline.rates(last.progress, every: 0.5)))
    }
  }
}

/// Figures of campaigns of one kind.
enum CampaignFigures {
  static func report(_ runs: [CampaignRun.Result], key: String, name: String, to report: BenchReport) throws {
    func add(
      _ part: String, _ what: String, _ unit: String, _ value: (CampaignRun.Result) -> Double
    ) throws {
      try report.add(Figure("\(key).\(part)", "\(name): \(what)", unit, samples: runs.map(value)))
    }
    func median(_ value: (CampaignRun.Result) -> Double) -> Double { Rounds(runs.map(value)).median }
    var rate = Figure("\(key).rate", "\(name): targets a second", "/s", samples: runs.map(\.rate))
    // Microseconds per target times targets per second: the number of busy cores.
    let cores = [
      "worker": median { $0.worker * $0.rate / 1e6 }, "Redis": median { $0.redis * $0.rate / 1e6 },
      "simulator": median { $0.simulator * $0.rate / 1e6 },
    ]
    rate.details = cores
    if median(\.used) >= BenchTargets.saturation {
      let busy = cores.sorted { $0.value > $1.value }.map { "\($0.key) \(Figure.text($0.value))" }
      rate.skippedReason = "met: all cores busy (\(busy.joined(separator: ", ")))"
    }
    try report.add(rate)
    try add("worker", "workers, CPU a target", "µs", \.worker)
    try report.add(
      Figure(
        "\(key).redis", "\(name): Redis, CPU a target", "µs", samples: runs.map(\.redis),
        details: runs.last?.commands ?? [:]))
    try add("simulator", "simulator, CPU a target", "µs", \.simulator)
    try add("benchmark", "benchmark itself, CPU a target", "µs", \.benchmark)
    try add("used", "share of all cores used by these", "", \.used)
    try add("others", "share used by the rest of the machine", "", \.others)
  }
}
