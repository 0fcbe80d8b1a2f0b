import CommandSupport

/// Growth with a campaign's size. Every device accepts, so the registry does not change and all growth of Redis belongs
/// to the campaign.
struct GrowthPart: BenchPart {
  private static let modes = ["none", "all"]

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let sizes = settings.sizes.sorted()
    guard let smallest = sizes.first, let largest = sizes.last else { return }
    var runs: [String: [Int: CampaignRun.Result]] = [:]
    for size in sizes {
      for results in Self.modes {
        report.progress("growth: \(size.grouped) targets, results \(results)")
        let devices = BenchDevices(count: size, seed: settings.seed)
        let run = CampaignRun(
          world: world, settings: .init(devices: devices, results: results, hasFailures: false))
        runs[results, default: [:]][size] = try await run.measure()
      }
    }
    for size in sizes {
      let devices = BenchDevices(count: size, seed: settings.seed)
      let name = "\(size.grouped) devices"
      try report.add(
        Figure("growth.\(size).import", "\(name): imported a second", "/s", value: await world.importRate(devices) ?? 0)
      )
      try report.add(
        Figure(
          "growth.\(size).registry", "\(name): Redis, memory a device", "B",
          value: runs["none"]?[size]?.registryBytes ?? 0))
    }
    for results in Self.modes {
      for size in sizes {
        guard let run = runs[results]?[size] else { continue }
        let (key, name) = ("growth.\(size).\(results)", "\(size.grouped) accepted targets, \(results)")
        try report.add(Figure("\(key).rate", "\(name): targets a second", "/s", samples: [run.rate]))
        try report.add(Figure("\(key).worker", "\(name): worker, CPU a target", "µs", samples: [run.worker]))
        try report.add(Figure("\(key).redis", "\(name): Redis, CPU a target", "µs", samples: [run.redis]))
        try report.add(Figure("\(key).peak", "\(name): worker, peak memory", "MB", samples: [run.workerPeak.megabytes]))
        try report.add(Figure("\(key).bytes", "\(name): Redis, memory a target", "B", samples: [run.redisBytes]))
      }
      try report.add(
        Figure(
          "growth.redis.\(results)", "Redis, memory a target beyond the registry, \(results): the most of all sizes",
          "B",
          value: sizes.compactMap { runs[results]?[$0]?.redisBytes }.max() ?? 0))
      plot(results, sizes.compactMap { size in runs[results]?[size].map { (Double(size), $0) } }, report)
    }
    func peak(_ size: Int) -> Double { Self.modes.compactMap { runs[$0]?[size]?.workerPeak }.max() ?? 0 }
    try report.add(
      Figure(
        "growth.worker.peak", "worker, peak memory, \(largest.grouped) targets", "MB", value: peak(largest).megabytes))
    guard smallest < largest else { return }
    try report.add(
      Figure(
        "growth.worker.ratio", "worker, peak memory, \(largest.grouped) / \(smallest.grouped) targets", "",
        value: peak(largest) / peak(smallest)))
    // A worker stores data of the last three seconds. A shorter campaign does not reach the full amount, so small sizes
    // are not comparable.
    for (size, next) in zip(sizes, sizes.dropFirst()) where sizes.count > 2 {
      try report.add(
        Figure(
          "growth.worker.ratio.\(next)", "worker, peak memory, \(next.grouped) / \(size.grouped) targets", "",
          value: peak(next) / peak(size)))
    }
  }

  private func plot(_ results: String, _ runs: [(Double, CampaignRun.Result)], _ report: BenchReport) {
    report.costs += [
      .init(name: "worker, \(results)", points: runs.map { ($0, $1.worker) }),
      .init(name: "Redis, \(results)", points: runs.map { ($0, $1.redis) }),
      .init(name: "simulator, \(results)", points: runs.map { ($0, $1.simulator) }),
    ]
  }
}

extension Double {
  /// Bytes as MB.
  var megabytes: Double { self / 1e6 }
}
