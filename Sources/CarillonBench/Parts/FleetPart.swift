import CampaignStore
import CommandSupport
import Glibc
import PushCore
import Redis

/// Cost of idle workers: few and many, without campaigns and with paused ones.
struct FleetPart: BenchPart {
  /// Maximum number of workers, for which the machine has enough memory.
  private static let most = 60
  private static let campaigns = 10
  /// Factor for `--seconds`, because the measured values are small and new workers need some time to become idle.
  private static let durationFactor = 4.0

  /// Resource usage of a fleet so far.
  private struct Usage {
    var commands = 0.0
    var redis = 0.0
    var workers = 0.0
  }

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: 10_000, seed: settings.seed)
    let redis = try await world.startRedis(devices)
    let simulator = try await world.startSimulator()
    var workers: [BenchProcess] = []
    func grow(to count: Int) async throws {
      while workers.count < count {
        workers.append(try await world.startWorker("fleet-\(workers.count)", simulator, redis, environment: [:]))
      }
    }
    func idle(_ what: String) async throws -> Usage {
      report.progress("fleet: \(workers.count) idle workers\(what)")
      try await Task.sleep(for: .seconds(Self.durationFactor * settings.seconds / 2))
      let (began, before) = (WallClock.now, try await usage(of: workers, redis))
      try await Task.sleep(for: .seconds(Self.durationFactor * settings.seconds))
      let (seconds, after) = (WallClock.now - began, try await usage(of: workers, redis))
      return Usage(
        commands: (after.commands - before.commands) / seconds, redis: (after.redis - before.redis) / seconds,
        workers: (after.workers - before.workers) / seconds)
    }
    let least = min(settings.clients.min() ?? 1, Self.most / 2)
    let most = max(least + 1, min(settings.clients.max() ?? Self.most, Self.most))
    try await grow(to: least)
    let few = try await idle("")
    try await grow(to: most)
    let many = try await idle("")
    try await pauseCampaigns(redis, workers)
    let paused = try await idle(", \(Self.campaigns) paused campaigns")
    for worker in workers { await world.stop(worker) }
    await world.stop(simulator.process)
    await world.stop(redis)

    let more = Double(most - least)
    try report.add(
      Figure(
        "fleet.commands", "an idle worker, commands to Redis a second", "",
        value: (many.commands - few.commands) / more,
        details: ["few": few.commands, "many": many.commands]))
    try report.add(
      Figure(
        "fleet.redis", "an idle worker, CPU of Redis a second", "µs", value: (many.redis - few.redis) / more * 1e6,
        details: ["few": few.redis * 1e6, "many": many.redis * 1e6]))
    try report.add(
      Figure(
        "fleet.worker", "an idle worker, share of a core", "%", value: many.workers / Double(most) * 100))
    try report.add(
      Figure(
        "fleet.paused", "\(most) workers, commands a second, with \(Self.campaigns) paused campaigns / without",
        "",
        value: paused.commands / many.commands, details: ["commands": paused.commands]))
  }

  private func usage(of workers: [BenchProcess], _ redis: BenchWorld.RedisProcess) async throws -> Usage {
    let fields = try await redis.client.serverInfo(section: "all").fields
    let number = { (name: String) in fields[name].flatMap { Double($0) } ?? 0 }
    return Usage(
      commands: number("total_commands_processed"), redis: number("used_cpu_user") + number("used_cpu_sys"),
      workers: workers.reduce(0) { $0 + ProcessCost.cpuMicroseconds(of: $1.id) / 1e6 })
  }

  private func pauseCampaigns(_ redis: BenchWorld.RedisProcess, _ workers: [BenchProcess]) async throws {
    for number in 0..<Self.campaigns {
      let id = "paused-\(number)"
      // The campaigns are scheduled, because otherwise they would be sent before the pause.
      let job = CampaignRun.job(id).dropLast() + #","sendAt":"\#(Self.tomorrow)"}"#
      _ = try await redis.client.command("LPUSH", redis.store.keys.campaigns, String(job))
      try await workers[0].wait(for: "campaign \(id)", seconds: 30) { try await redis.store.campaigns.find(id) != nil }
      try await redis.store.campaigns.control(id, .pause)
    }
  }

  private static var tomorrow: String { Timestamp.format(milliseconds: Int(WallClock.now * 1000) + 86_400_000) }
}
