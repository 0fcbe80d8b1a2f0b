import CommandSupport

/// A whole campaign with personal pushes in five languages, compared with a campaign to the same users in which all
/// pushes are equal.
struct PersonalPart: BenchPart {
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed, hasAttributes: true)
    var runs: [Bool: [CampaignRun.Result]] = [:]
    for round in 0..<settings.rounds {
      for isPersonal in [false, true] {
        report.progress("personal: \(isPersonal ? "personal" : "plain"), round \(round + 1) of \(settings.rounds)")
        let run = CampaignRun(world: world, settings: .init(devices: devices, isPersonal: isPersonal))
        runs[isPersonal, default: []].append(try await run.measure())
      }
    }
    for (isPersonal, what) in [(false, "plain"), (true, "own")] {
      try CampaignFigures.report(
        runs[isPersonal] ?? [], key: "personal.\(what)", name: "\(devices.count.grouped) targets, \(what)", to: report)
    }
    let ratios = zip(runs[true] ?? [], runs[false] ?? []).map { $0.worker / $1.worker }
    try report.add(
      Figure("personal.ratio", "worker's CPU a target of a personal campaign / of a plain one", "", samples: ratios))
  }
}
