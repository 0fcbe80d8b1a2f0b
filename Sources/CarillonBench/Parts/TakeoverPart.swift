import CampaignStore
import CommandSupport
import Glibc
import Redis

/// Time until other workers hold the slices of a killed worker.
struct TakeoverPart: BenchPart {
  private static let fleet = 3
  private static let maximumSamples = 40

  /// The times of a takeover, in ms after the death of the worker.
  private struct Takeover {
    /// Time at which the dead worker's list was empty, because other workers had detected the death.
    var found: Double
    /// Time at which every slice of the dead worker was on another worker's list, or was finished and counted in its
    /// campaign.
    var held: Double
  }

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let samples = min(settings.samples, Self.maximumSamples)
    report.progress("takeover: \(samples) workers are killed")
    let devices = BenchDevices(count: min(100_000, 10 * settings.targets), seed: settings.seed)
    let redis = try await world.startRedis(devices)
    let simulator = try await world.startSimulator(["--latency", "200ms"])
    var workers: [(name: String, process: BenchProcess)] = []
    var started = 0
    func nextName() -> String {
      started += 1
      return "mortal-\(started)"
    }
    @Sendable func start(_ name: String) async throws -> BenchProcess {
      try await world.startWorker(name, simulator, redis, environment: ["CARILLON_WORKER_ENGINE": "native"])
    }
    for _ in 0..<Self.fleet {
      let name = nextName()
      workers.append((name, try await start(name)))
    }
    var campaigns: [String] = []
    var begun = 0
    // One campaign runs and one waits, so that every worker holds a slice.
    func feed() async throws {
      while let first = campaigns.first, try await redis.store.campaigns.find(first)?.times.finishedAt != nil {
        campaigns.removeFirst()
      }
      while campaigns.count < 2 {
        begun += 1
        campaigns.append("takeover-\(begun)")
        let job = CampaignRun.job("takeover-\(begun)", results: "none")
        _ = try await redis.client.command("LPUSH", redis.store.keys.campaigns, job)
      }
    }
    // A Redis that was just started may have lost writes. Workers therefore leave expired claims to their former owners
    // for one lease (6 s) after the start.
    try await Task.sleep(for: .seconds(7))
    var random = SplitMix(state: settings.seed)
    var takeovers: [Takeover] = []
    while takeovers.count < samples {
      try await feed()
      try await Task.sleep(for: .milliseconds(Int.random(in: 300..<900, using: &random)))
      let victim = workers.remove(at: Int.random(in: 0..<workers.count, using: &random))
      let heirs = workers.map(\.name)
      let successor = nextName()
      victim.process.send(SIGKILL)
      let died = WallClock.now
      // The replacement starts during the observation, so that no slice that is taken over and finished early is
      // missed.
      async let replacement = start(successor)
      let takeover = try await watch(
        redis.store, from: victim.name, to: heirs + [successor], since: died, workers[0].process)
      workers.append((successor, try await replacement))
      if let takeover { takeovers.append(takeover) }
      await world.stop(victim.process)
    }
    for worker in workers { await world.stop(worker.process) }
    await world.stop(simulator.process)
    await world.stop(redis)
    let times = takeovers.map(\.held)
    let (latencies, found) = (Latencies(milliseconds: times), Latencies(milliseconds: takeovers.map(\.found)))
    try report.add(
      Figure(
        "takeover.p99", "a worker is killed: until others have what it held, p99", "ms", value: latencies.at(0.99),
        samples: times,
        details: [
          "p50": latencies.at(0.5), "max": latencies.at(1), "foundP50": found.at(0.5), "foundMax": found.at(1),
        ]))
  }

  /// Waits until other workers have every slice of a dead worker.
  ///
  /// - Returns: `nil` if the dead worker held no slice.
  private func watch(
    _ store: CampaignStore, from victim: String, to heirs: [String], since died: Double, _ witness: BenchProcess
  ) async throws -> Takeover? {
    var left = Set(try await store.slices.processing(of: victim))
    guard !left.isEmpty else { return nil }
    var found: Double?
    try await witness.wait(for: "the slices of \(victim)", seconds: 60) {
      if found == nil, try await store.slices.processing(of: victim).isEmpty { found = (WallClock.now - died) * 1000 }
      for heir in heirs { left.subtract(try await store.slices.processing(of: heir)) }
      // A slice that was finished and counted between two checks was also taken over. A slice that the dead worker had
      // already closed appears on a list only for a moment.
      left = try await store.slices.uncounted(left)
      return left.isEmpty
    }
    let held = (WallClock.now - died) * 1000
    return Takeover(found: found ?? held, held: held)
  }
}
