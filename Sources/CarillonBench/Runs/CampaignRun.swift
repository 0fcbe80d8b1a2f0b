import CampaignStore
import CommandSupport
import Foundation
import Glibc
import PushCore
import Redis

/// One campaign, measured from LPUSH to its end, with its own servers and workers.
struct CampaignRun: Sendable {
  /// Settings of the campaign.
  struct Settings: Sendable {
    var devices: BenchDevices
    var engine = "native"
    /// Value of the job's field `results`: the kind of results that are stored.
    var results = "failures"
    var workers = 1
    /// Whether 3 % of the devices are unregistered and 1 % have a bad token. The campaign removes these devices from
    /// the registry.
    var hasFailures = true
    /// Whether each push is personal, in five languages and with a separate id.
    var isPersonal = false
    /// Whether the workers' metrics are scraped every second.
    var isScraped = false
  }

  /// The result of the campaign. CPU times are microseconds per target.
  struct Result: Sendable {
    var seconds = 0.0
    /// CPU time of all workers together.
    var worker = 0.0
    var redis = 0.0
    /// Redis' own execution times, by command.
    var commands: [String: Double] = [:]
    var simulator = 0.0
    /// CPU time of this process, which only observes.
    var benchmark = 0.0
    /// Share of all cores that these processes used.
    var used = 0.0
    /// Share of all cores that other processes of the machine used.
    var others = 0.0
    /// Peak memory of a worker, in bytes.
    var workerPeak = 0.0
    /// Memory of Redis before the campaign (the registry), in bytes per device.
    var registryBytes = 0.0
    /// Growth of Redis' memory by the campaign, in bytes per target.
    var redisBytes = 0.0
    /// Number of completed targets over time, in seconds from the LPUSH. The number grows each time a slice is
    /// finished.
    var progress: [(seconds: Double, done: Int)] = []

    /// Targets per second.
    var rate = 0.0
  }

  /// A payload of 242 bytes, the size that the bare libcurl loop sends.
  static let payload =
    #"{"aps":{"alert":{"title":"Hello","body":"This is the body of a push, of the usual length or so"},"#
    + #""sound":"default"},"deeplink":"app://news/\#(String(repeating: "x", count: 113))"}"#
  private static let failures =
    #"failures=[{"share":0.03,"status":410,"reason":"Unregistered"},"#
    + #"{"share":0.01,"status":400,"reason":"BadDeviceToken"}]"#
  private static let interval = Duration.milliseconds(50)

  let world: BenchWorld
  let settings: Settings

  /// Returns a job to all devices.
  static func job(_ id: String, segment: String = "*", results: String = "failures", lane: String = "normal") -> String
  {
    #"{"id":"\#(id)","app":"news","audience":{"segment":"\#(segment)"},"apns":{"payload":\#(payload)},"#
      + #""results":"\#(results)","lane":"\#(lane)"}"#
  }

  /// Returns a job with personal texts. Its pushes are about as long as those of ``job(_:segment:results:lane:)``.
  static func personalJob(_ id: String, results: String) -> String {
    let languages = ["de": "Hallo", "fr": "Bonjour", "es": "Hola", "ja": "こんにちは"].sorted { $0.key < $1.key }.map {
      #""\#($0.key)":{"apns":{"payload":{"aps":{"alert":{"title":"\#($0.value) {{name|you}}"}}}}}"#
    }
    return
      #"{"id":"\#(id)","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":{"title":"Hello {{name|you}}","#
      + #""body":"This is yours for {{price:number.2}} until {{day:date}}, of the usual length"},"sound":"default"},"#
      + #""deeplink":"app://news/\#(String(repeating: "x", count: 40))"}},"uniqueKey":"push","#
      + #""localized":{\#(languages.joined(separator: ","))},"results":"\#(results)"}"#
  }

  /// Runs the campaign.
  func measure() async throws -> Result {
    let redis = try await world.startRedis(settings.devices)
    let simulator = try await world.startSimulator(settings.hasFailures ? ["--knob", Self.failures] : [])
    var workers: [BenchProcess] = []
    var scrapers: [MetricsScraper] = []
    for number in 0..<settings.workers {
      let scraper = settings.isScraped ? try MetricsScraper() : nil
      workers.append(
        try await world.startWorker(
          "w\(number)", simulator, redis, options: scraper?.options ?? [],
          environment: ["CARILLON_WORKER_ENGINE": settings.engine]))
      if let scraper { scrapers.append(scraper) }
    }
    for scraper in scrapers { try await scraper.begin() }
    let result = try await measure(redis, simulator, workers)
    for scraper in scrapers { scraper.end() }
    for worker in workers.reversed() { await world.stop(worker) }
    await world.stop(simulator.process)
    await world.stop(redis)
    return result
  }

  private func measure(
    _ redis: BenchWorld.RedisProcess, _ simulator: BenchWorld.SimulatorProcess, _ workers: [BenchProcess]
  ) async throws -> Result {
    var result = Result()
    let memory = try await RedisMemory(redis.client)
    let commands = try await RedisCommands(redis.client)
    let before = usage(redis, simulator, workers)
    let began = WallClock.now
    _ = try await redis.client.command(
      "LPUSH", redis.store.keys.campaigns,
      settings.isPersonal
        ? Self.personalJob("campaign", results: settings.results) : Self.job("campaign", results: settings.results))
    while true {
      try await Task.sleep(for: Self.interval)
      for process in workers + [redis.process, simulator.process] where process.poll() != nil {
        _ = try await process.finish()
        throw CommandError(.failed, "a process ended while a campaign ran")
      }
      guard let campaign = try await redis.store.campaigns.find("campaign") else { continue }
      let done = campaign.counters.outcomes.values.reduce(0, +)
      result.progress.append((WallClock.now - began, done))
      if campaign.state != .active {
        guard campaign.state == .completed, done == settings.devices.count, let end = campaign.times.finishedAt else {
          throw CommandError(
            .failed, "the campaign is \(campaign.state) with \(done) outcomes: \(campaign.reason ?? "")")
        }
        result.seconds = Double(end) / 1000 - began
        break
      }
    }
    let after = usage(redis, simulator, workers)
    let targets = Double(settings.devices.count)
    result.rate = targets / result.seconds
    result.worker = (after.worker - before.worker) / targets
    result.redis = (after.redis - before.redis) / targets
    result.simulator = (after.simulator - before.simulator) / targets
    result.benchmark = (after.own - before.own) / targets
    let cores = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN))) * (after.at - before.at) * 1e6
    let used = after.all - before.all
    result.used = used / cores
    result.others = max(0, after.machine - before.machine - used) / cores
    result.workerPeak = workers.map { ProcessCost.peakBytes(of: $0.id) }.max() ?? 0
    result.commands = try await RedisCommands(redis.client).since(commands, each: targets)
    result.registryBytes = memory.used / targets
    result.redisBytes = (try await RedisMemory(redis.client).used - memory.used) / targets
    return result
  }

  /// CPU times so far, in microseconds.
  private struct Usage {
    var at: Double
    var worker: Double
    var redis: Double
    var simulator: Double
    var own: Double
    var machine: Double

    var all: Double { worker + redis + simulator + own }
  }

  private func usage(
    _ redis: BenchWorld.RedisProcess, _ simulator: BenchWorld.SimulatorProcess, _ workers: [BenchProcess]
  ) -> Usage {
    Usage(
      at: WallClock.now, worker: workers.reduce(0) { $0 + ProcessCost.cpuMicroseconds(of: $1.id) },
      redis: ProcessCost.cpuMicroseconds(of: redis.process.id),
      simulator: ProcessCost.cpuMicroseconds(of: simulator.process.id), own: ProcessCost.ownMicroseconds(),
      machine: ProcessCost.machineMicroseconds())
  }
}
