import CampaignStore
import CommandSupport
import Foundation
import Redis

/// Events on the registrations list that one worker applies: alone, and while it sends a campaign.
struct EventsPart: BenchPart {
  private static let interval = Duration.milliseconds(10)
  /// Number of events of one command.
  private static let page = 500

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    let simulator = try await world.startSimulator()
    var (alone, beside): ([Run], [Run]) = ([], [])
    for round in 0..<settings.rounds {
      report.progress("events: \(devices.count.grouped), round \(round + 1) of \(settings.rounds)")
      let redis = try await world.startRedis(devices)
      let worker = try await world.startWorker(
        "events", simulator, redis, environment: ["CARILLON_WORKER_ENGINE": "native"])
      // After a restart of Redis, workers take and send nothing new for the grace period of 3 s, because other workers
      // may have to replay lost writes.
      try await Task.sleep(for: .seconds(4))
      alone.append(try await run(devices.count / 2, round: 2 * round, redis, worker))
      _ = try await redis.client.command(
        "LPUSH", redis.store.keys.campaigns, CampaignRun.job("events-\(round)", results: "failures"))
      beside.append(try await run(devices.count / 2, round: 2 * round + 1, redis, worker))
      await world.stop(worker)
      await world.stop(redis)
    }
    await world.stop(simulator.process)
    let name = "events about \((devices.count / 2).grouped) devices"
    try report.add(Figure("events.rate", "\(name): applied a second", "/s", samples: alone.map(\.rate)))
    try report.add(Figure("events.redis", "\(name): Redis, CPU of each", "µs", samples: alone.map(\.redis)))
    try report.add(Figure("events.worker", "\(name): worker, CPU of each", "µs", samples: alone.map(\.worker)))
    try report.add(
      Figure("events.beside", "\(name) beside a campaign: applied a second", "/s", samples: beside.map(\.rate)))
  }

  /// Result of one batch of events.
  private struct Run {
    var rate: Double
    /// Microseconds per event.
    var redis: Double
    var worker: Double
  }

  /// Fills a list that no worker reads, renames it to the event list, and waits until it is empty.
  private func run(
    _ count: Int, round: Int, _ redis: BenchWorld.RedisProcess, _ worker: BenchProcess
  ) async throws -> Run {
    let (list, pile) = (redis.store.keys.events(.registrations), redis.store.keys.events(.registrations) + "-pile")
    for start in stride(from: 0, to: count, by: Self.page) {
      var pipeline = RedisPipeline()
      pipeline.command("LPUSH") { arguments in
        arguments.append(pile)
        for number in start..<min(start + Self.page, count) { arguments.append(Self.event(number, round)) }
      }
      for reply in try await redis.client.execute(pipeline) { try reply.get() }
    }
    let before = (
      redis: ProcessCost.cpuMicroseconds(of: redis.process.id), worker: ProcessCost.cpuMicroseconds(of: worker.id)
    )
    let began = WallClock.now
    _ = try await redis.client.command("RENAME", pile, list).get()
    while try await redis.client.command("EXISTS", list).get().integer == 1 {
      guard worker.poll() == nil else { throw CommandError(.failed, "the worker ended while it applied events") }
      try await Task.sleep(for: Self.interval)
    }
    let seconds = WallClock.now - began
    return Run(
      rate: Double(count) / seconds,
      redis: (ProcessCost.cpuMicroseconds(of: redis.process.id) - before.redis) / Double(count),
      worker: (ProcessCost.cpuMicroseconds(of: worker.id) - before.worker) / Double(count))
  }

  /// Returns one of four kinds of events: one new device, two updates of a known device, one tag.
  private static func event(_ number: Int, _ round: Int) -> String {
    let user = "e\(number / 4 + round * 1_000_000)"
    guard number % 4 != 3 else { return #"{"op":"tag","user":"\#(user)","tags":["seen-\#(number % 7)"]}"# }
    let token = String(number / 4 * 2654435761 % 0xFFFF_FFFF + (round + 1) << 33, radix: 16)
    let padded = String(repeating: "0", count: 64 - token.count) + token
    return #"{"op":"register","user":"\#(user)","token":"\#(padded)","app":"news","locale":"de-DE","timezone":"#
      + #""Europe/Berlin","appVersion":"5.2.\#(number % 4)","osVersion":"18.1","plan":"gold","level":"\#(number % 90)"}"#
  }
}
