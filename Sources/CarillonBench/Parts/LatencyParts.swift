import CampaignStore
import CommandSupport
import Glibc
import Redis

/// Latency of an urgent campaign's first push while a bulk campaign uses every core.
struct UrgentPart: BenchPart {
  /// Number of targets of each urgent campaign.
  private static let urgent = 1000
  /// Devices of the bulk campaigns, which run in succession.
  private static let maximumBulk = 200_000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    report.progress("urgent: \(settings.samples) campaigns while bulk campaigns use every core")
    let devices = BenchDevices(count: min(settings.targets, Self.maximumBulk), urgent: Self.urgent, seed: settings.seed)
    let scene = try await LatencyScene(world, devices)
    var bulk: [String] = []
    var begun = 0
    // One campaign runs and the next one waits, so that a campaign is running at any time.
    func feed() async throws {
      while let first = bulk.first, try await scene.hasEnded(first) { bulk.removeFirst() }
      while bulk.count < 2 {
        begun += 1
        bulk.append("bulk-\(begun)")
        try await scene.push(CampaignRun.job("bulk-\(begun)", segment: "* & !urgent", results: "none", lane: "bulk"))
      }
    }
    try await feed()
    try await scene.waitForArrival()
    let began = WallClock.now
    let machine = ProcessCost.machineMicroseconds()
    var random = SplitMix(state: settings.seed)
    var times: [Double] = []
    for sample in 0..<settings.samples {
      try await feed()
      let id = "urgent-\(sample)"
      times.append(
        try await scene.push(CampaignRun.job(id, segment: "urgent", results: "none", lane: "urgent")))
      try await scene.waitForEnd(id)
      try await Task.sleep(for: .milliseconds(Int.random(in: 0..<100, using: &random)))
    }
    let seconds = WallClock.now - began
    let cores = Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let busy = (ProcessCost.machineMicroseconds() - machine) / (seconds * 1e6 * cores)
    let log = try await scene.end(prefix: BenchDevices.urgentPrefix)
    var figure = try Figure.latency(
      "urgent.first", "urgent campaign, LPUSH to its first push at APNs while bulk campaigns use every core, p99", 0.99,
      log, times)
    figure.details["busy"] = busy
    figure.details["bulkPerSecond"] = Double(log.others) / seconds
    try report.add(figure)
    try report.add(
      Figure("urgent.bulk", "bulk pushes a second at the same time", "/s", value: Double(log.others) / seconds))
  }
}

/// Latency of a campaign with one target on an idle worker.
struct SinglePart: BenchPart {
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: 10_000, seed: settings.seed)
    let scene = try await LatencyScene(world, devices)
    report.progress("single: \(settings.samples) campaigns with one target")
    var random = SplitMix(state: settings.seed)
    var times: [Double] = []
    // The first campaign opens the connection and does not count.
    for sample in 0...settings.samples {
      let id = "single-\(sample)"
      let user = Int.random(in: 0..<devices.users / 2, using: &random) * 2 + 1
      let time = try await scene.push(
        #"{"id":"\#(id)","app":"news","audience":{"users":["u\#(user)"]},"apns":{"payload":\#(CampaignRun.payload)}}"#)
      if sample > 0 { times.append(time) }
      try await scene.waitForEnd(id)
      try await Task.sleep(for: .milliseconds(Int.random(in: 20..<60, using: &random)))
    }
    let log = try await scene.end(prefix: "")
    try report.add(
      Figure.latency("single.first", "campaign with one target, LPUSH to its push at APNs, p50", 0.5, log, times))
  }
}

/// Latency of an urgent campaign's first push while two workers take in expensive jobs of another app.
struct ExpensiveJobsPart: BenchPart {
  private static let workers = 2
  /// Number of expensive jobs that wait or are taken in at any time: two for each worker.
  private static let waiting = 4
  private static let recipients = 5000
  /// Largest numbers of languages and variants in a job.
  private static let (languages, variants) = (255, 8)

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    report.progress("jobs: \(settings.samples) campaigns while workers take in expensive jobs")
    let devices = BenchDevices(count: 10_000, urgent: 100, seed: settings.seed)
    let scene = try await LatencyScene(world, devices, workers: Self.workers, hasAndroid: true)
    var jobs: [String] = []
    var begun = 0
    func feed() async throws {
      var open: [String] = []
      for id in jobs where try await !scene.hasEnded(id) { open.append(id) }
      jobs = open
      while jobs.count < Self.waiting {
        begun += 1
        jobs.append("expensive-\(begun)")
        try await scene.push(Self.job("expensive-\(begun)"))
      }
    }
    let began = WallClock.now
    var random = SplitMix(state: settings.seed)
    var times: [Double] = []
    // The first campaign opens the connection and does not count.
    for sample in 0...settings.samples {
      try await feed()
      let id = "urgent-\(sample)"
      let time = try await scene.push(CampaignRun.job(id, segment: "urgent", results: "none", lane: "urgent"))
      if sample > 0 { times.append(time) }
      try await scene.waitForEnd(id)
      try await Task.sleep(for: .milliseconds(Int.random(in: 0..<100, using: &random)))
    }
    let taken = Double(begun - jobs.count) / (WallClock.now - began)
    try await scene.redis.store.queue.forEachDeadJob { job in
      throw CommandError(.failed, "job \(job.id ?? "") is on the dead list: \(job.reason)")
    }
    let log = try await scene.end(prefix: BenchDevices.urgentPrefix)
    try report.add(
      Figure.latency(
        "jobs.first", "urgent campaign, LPUSH to its first push at APNs beside expensive jobs, p99", 0.99, log, times))
    try report.add(Figure("jobs.taken", "expensive jobs taken in at the same time", "/s", value: taken))
  }

  /// Returns a job of the app `android` whose content is as expensive to check as a job's content can be. Its users
  /// have no devices.
  private static func job(_ id: String) -> String {
    let users = (0..<recipients).map { #"{"user":"y\#($0)","vars":{"price":\#($0).5,"city":"Oslo"}}"# }
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let tags = letters.flatMap { first in letters.map { "q\(first)\($0)" } }.prefix(languages)
    let variants = (0..<variants).map { variant in
      let texts = tags.map { #""\#($0)":{"body":"\#(variant) {{price:number.2}} {{city}}"}"# }
      return #"{"name":"v\#(variant)","message":{"body":"{{price}}"},"localized":{\#(texts.joined(separator: ","))}}"#
    }
    return
      #"{"id":"\#(id)","app":"android","audience":{"users":[\#(users.joined(separator: ","))]},"#
      + #""variants":[\#(variants.joined(separator: ","))],"results":"none"}"#
  }
}

/// Workers with the native engine, and a simulator that records when each push arrives.
private struct LatencyScene {
  let world: BenchWorld
  let redis: BenchWorld.RedisProcess
  let simulator: BenchWorld.SimulatorProcess
  private let workers: [BenchProcess]
  private let file: String

  /// - Parameter hasAndroid: Whether the workers have all apps of the simulator's configuration, so also `android`.
  init(
    _ world: BenchWorld, _ devices: BenchDevices, workers count: Int = 1, hasAndroid: Bool = false
  ) async throws {
    self.world = world
    file = world.path("arrivals.log")
    redis = try await world.startRedis(devices)
    simulator = try await world.startSimulator(["--log", file])
    var environment = hasAndroid ? try await world.androidEnvironment(simulator) : [:]
    environment["CARILLON_WORKER_ENGINE"] = "native"
    var workers: [BenchProcess] = []
    for number in 0..<count {
      workers.append(try await world.startWorker("latency-\(number)", simulator, redis, environment: environment))
    }
    self.workers = workers
  }

  /// Pushes a job like a producer.
  ///
  /// - Returns: the time of the call, in seconds since 1970.
  @discardableResult
  func push(_ job: String) async throws -> Double {
    let now = WallClock.now
    _ = try await redis.client.command("LPUSH", redis.store.keys.campaigns, job)
    return now
  }

  func hasEnded(_ id: String) async throws -> Bool {
    guard let campaign = try await redis.store.campaigns.find(id) else { return false }
    guard campaign.state == .active || campaign.state == .completed else {
      throw CommandError(.failed, "campaign \(id) is \(campaign.state): \(campaign.reason ?? "")")
    }
    return campaign.times.finishedAt != nil
  }

  func waitForEnd(_ id: String) async throws {
    try await workers[0].wait(for: "campaign \(id)", seconds: 60) { try await hasEnded(id) }
  }

  /// Waits until a push was sent.
  func waitForArrival() async throws {
    try await workers[0].wait(for: "the first push", seconds: 60) { (try? InputFile(file).size) ?? 0 > 0 }
  }

  /// Stops everything and reads the arrivals.
  func end(prefix: String) async throws -> ArrivalLog {
    for worker in workers {
      worker.send(SIGKILL)
      await world.stop(worker)
    }
    await world.stop(simulator.process)
    await world.stop(redis)
    let log = try ArrivalLog(file: file, prefix: prefix)
    unlink(file)
    return log
  }
}

extension Figure {
  /// Returns a percentile of the latencies, with other percentiles as details. A latency is the time in ms from one of
  /// the `beginnings` to the first push that arrives after it.
  fileprivate static func latency(
    _ key: String, _ name: String, _ share: Double, _ log: ArrivalLog, _ beginnings: [Double]
  ) throws -> Figure {
    let samples = log.firstAfter(beginnings).compactMap { $0 }
    guard samples.count == beginnings.count else {
      throw CommandError(
        .failed, "\(name): only \(samples.count) of \(beginnings.count) campaigns have a push in the log")
    }
    let latencies = Latencies(milliseconds: samples)
    return Figure(
      key, name, "ms", value: latencies.at(share), samples: samples,
      details: [
        "p50": latencies.at(0.5), "p90": latencies.at(0.9), "p99": latencies.at(0.99), "max": latencies.at(1),
        "samples": Double(samples.count),
      ])
  }
}
