import CampaignStore
import CommandSupport
import Redis

/// A small campaign on a store with many partitions. Most of its slices have one or two targets, so the cost of slices
/// dominates.
struct SmallPart: BenchPart {
  private static let partitions = 5000
  private static let users = 5000
  private static let workers = 4
  private static let interval = Duration.milliseconds(10)

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    // Four of five devices are first devices of their users.
    let devices = BenchDevices(count: Self.users * 5 / 4, seed: settings.seed)
    report.progress("small: \(Self.users.grouped) users in \(Self.partitions.grouped) partitions")
    let redis = try await world.startRedis(devices, partitions: Self.partitions)
    let simulator = try await world.startSimulator()
    var workers: [BenchProcess] = []
    for number in 0..<Self.workers {
      workers.append(try await world.startWorker("small-\(number)", simulator, redis, environment: [:]))
    }
    // After a restart of Redis, workers take and send nothing new for the grace period of 3 s, because other workers
    // may have to replay lost writes.
    try await Task.sleep(for: .seconds(4))
    var runs: [Run] = []
    for round in 0...settings.rounds {
      runs.append(try await run("small-\(round)", redis, workers + [simulator.process]))
    }
    for worker in workers.reversed() { await world.stop(worker) }
    await world.stop(simulator.process)
    await world.stop(redis)
    try printResult(runs, to: report)
  }

  /// Result of one campaign.
  private struct Run {
    var seconds: Double
    var slices: Double
    /// CPU time of Redis per slice, in microseconds.
    var redis: Double
    /// CPU time of all workers per slice, in microseconds.
    var worker: Double
    /// Commands per slice, including those in scripts.
    var commands: Double
  }

  private func run(_ id: String, _ redis: BenchWorld.RedisProcess, _ processes: [BenchProcess]) async throws -> Run {
    let calls = try await RedisCommands(redis.client).total
    let cpu = ProcessCost.cpuMicroseconds(of: redis.process.id)
    let workers = processes.dropLast()
    let used = workers.reduce(0) { $0 + ProcessCost.cpuMicroseconds(of: $1.id) }
    let began = WallClock.now
    _ = try await redis.client.command("LPUSH", redis.store.keys.campaigns, CampaignRun.job(id, results: "none"))
    while true {
      try await Task.sleep(for: Self.interval)
      for process in processes + [redis.process] where process.poll() != nil {
        _ = try await process.finish()
        throw CommandError(.failed, "a process ended while a campaign ran")
      }
      guard let campaign = try await redis.store.campaigns.find(id), let end = campaign.times.finishedAt else {
        continue
      }
      guard campaign.state == .completed else {
        throw CommandError(.failed, "the campaign is \(campaign.state): \(campaign.reason ?? "")")
      }
      let slices = Double(campaign.slices.total)
      return Run(
        seconds: Double(end) / 1000 - began, slices: slices,
        redis: (ProcessCost.cpuMicroseconds(of: redis.process.id) - cpu) / slices,
        worker: (workers.reduce(0) { $0 + ProcessCost.cpuMicroseconds(of: $1.id) } - used) / slices,
        commands: (try await RedisCommands(redis.client).total - calls) / slices)
    }
  }

  /// Reports the runs. The first campaign opens the connections and is reported only in the details.
  private func printResult(_ all: [Run], to report: BenchReport) throws {
    let (first, runs) = (all[0], all.dropFirst())
    let name = "\(Self.users.grouped) users in \(Self.partitions.grouped) partitions, \(Self.workers) workers"
    try report.add(
      Figure(
        "small.seconds", "\(name): LPUSH to completed", "s", samples: runs.map(\.seconds),
        details: ["first": first.seconds, "slices": first.slices]))
    try report.add(Figure("small.redis", "\(name): Redis, CPU a slice", "µs", samples: runs.map(\.redis)))
    try report.add(Figure("small.worker", "\(name): workers, CPU a slice", "µs", samples: runs.map(\.worker)))
    try report.add(Figure("small.commands", "\(name): commands of Redis a slice", "", samples: runs.map(\.commands)))
  }
}
