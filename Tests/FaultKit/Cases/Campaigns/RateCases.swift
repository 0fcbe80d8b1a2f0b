import CampaignStore
import Glibc
import TestSupport

/// Campaigns with a rate, while workers die or stall. Permits that were granted to a dead worker are lost, and the
/// fleet must not exceed the rate to compensate for them.
enum RateCases {
  static let all = [rateAndKill, rateAndRedisKilled, rateAndFailover]

  private static let window = 100

  static let rateAndKill = FaultCase(
    "rate-and-kill", faults: ["SIGKILL under a rate", "SIGSTOP under a rate"],
    invariant: "every target has one outcome; never faster than the rate; ends on time",
    bound: "window × (kills + stops)"
  ) { stage in
    let rate = stage.times(short: 200, full: 400)
    let devices = stage.times(short: 1200, full: 12_000)
    let world = try await stage.world {
      $0.partitions = 32
      $0.window = window
      $0.devices = devices
      $0.simulator = ["--latency", "30ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    let campaign = FaultCampaign("paced") { $0.more["rate"] = "\(rate)" }
    let start = try await world.store.time() / 1000
    try await world.submit(campaign)
    // A death during the guard trial delays the fleet for a lease, with or without a rate.
    try await world.reached(2 * window, of: campaign)
    var left = stage.times(short: 1, full: 10)
    while left > 0, try await !world.hasEnded(campaign) {
      if try await fleet.killOne() { stage.fired("SIGKILL under a rate", duplicates: window) }
      await stage.elapse(milliseconds: 500...1500)
      guard let sleeper = stage.random(of: fleet.workers), try await !world.hasEnded(campaign) else { break }
      sleeper.process.send(signal: SIGSTOP)
      await stage.elapse(milliseconds: 300...900)
      sleeper.process.send(signal: SIGCONT)
      stage.fired("SIGSTOP under a rate", duplicates: window)
      await stage.elapse(milliseconds: 300...800)
      left -= 1
    }
    try await finish(stage, world, campaign, rate: rate, since: start)
  }

  /// Redis loses the record of the last second's permits. So the bucket grants at most one burst too many.
  static let rateAndRedisKilled = FaultCase(
    "rate-and-redis-killed", faults: ["Redis SIGKILL with AOF everysec under a rate"],
    invariant: "every target has one outcome; never faster than the rate", bound: "0: no worker died"
  ) { stage in
    let rate = stage.times(short: 200, full: 400)
    let world = try await stage.world {
      $0.partitions = 32
      $0.window = window
      $0.devices = stage.times(short: 1200, full: 8000)
      $0.simulator = ["--latency", "30ms"]
      $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec"]
    }
    _ = try await Fleet(stage, world, size: 3)
    let campaign = FaultCampaign("forgotten") { $0.more["rate"] = "\(rate)" }
    let start = try await world.store.time() / 1000
    try await world.submit(campaign)
    var left = stage.times(short: 1, full: 3)
    while left > 0, try await !world.hasEnded(campaign) {
      await stage.elapse(milliseconds: 1500...3000)
      try await world.server.restart()
      stage.fired("Redis SIGKILL with AOF everysec under a rate")
      left -= 1
    }
    // After each restart workers replay lost writes. During this time they claim no slices and grant no targets.
    try await finish(stage, world, campaign, rate: rate, since: start, pauses: stage.times(short: 1, full: 3))
  }

  /// The promoted replica may lack the record of the last granted permits.
  static let rateAndFailover = FaultCase(
    "rate-and-failover", faults: ["failover to a replica under a rate"],
    invariant: "every target has one outcome; never faster than the rate",
    bound: "window × workers × times: every lease may have expired"
  ) { stage in
    let rate = stage.times(short: 200, full: 400)
    let world = try await stage.world {
      $0.servers = .sentinels
      $0.partitions = 32
      $0.window = window
      $0.devices = stage.times(short: 1200, full: 8000)
      $0.simulator = ["--latency", "30ms"]
    }
    guard case .sentinels(let sentinels) = world.servers else { throw TestSupportError("no sentinels") }
    let fleet = try await Fleet(stage, world, size: 3)
    let campaign = FaultCampaign("failed-over") { $0.more["rate"] = "\(rate)" }
    let start = try await world.store.time() / 1000
    try await world.submit(campaign)
    var left = stage.times(short: 1, full: 2)
    while left > 0, try await !world.hasEnded(campaign), let primary = try await sentinels.primary() {
      await stage.elapse(milliseconds: 1000...2000)
      await primary.kill(SIGKILL)
      try await sentinels.awaitPrimary(otherThan: primary)
      try await primary.restart()
      try await sentinels.awaitReplicas()
      stage.fired("failover to a replica under a rate", duplicates: window * fleet.workers.count)
      left -= 1
    }
    try await finish(stage, world, campaign, rate: rate, since: start, pauses: 2 * stage.times(short: 1, full: 2))
  }

  /// Waits for the end, and compares the simulator's log with the rate.
  ///
  /// - Parameters:
  ///   - start: time of the job in ms since the epoch.
  ///   - pauses: how often the whole fleet waited for some seconds.
  private static func finish(
    _ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign, rate: Int, since start: Int, pauses: Int = 0
  ) async throws {
    try await world.ended(campaign)
    let end = try await world.store.campaigns.find(campaign.id)?.times.finishedAt ?? 0
    let arrivals = try world.simulatorLog().requests.map(\.at).sorted()
    try await stage.check(world)

    // This bound is valid on any machine: a push that has arrived was granted before.
    let late = arrivals.enumerated().first { number, at in
      Double(number + 1) > Double(rate) * (1.02 * Double(at - start) / 1000 + 0.25) + 3
    }
    if let late {
      stage.require(false, "\(late.offset + 1) requests \(late.element - start) ms after the job: the rate is \(rate)")
    }
    let worst = busiestSecond(arrivals)
    stage.addNote("busiest second: \(worst) requests at a rate of \(rate)")
    // On a busy machine the requests of one second may arrive within the next one. So only the full form makes this
    // check.
    if stage.scale == .full {
      stage.require(
        Double(worst) <= Double(rate) * (1.02 + 0.25) + 3, "\(worst) requests in a second: the rate is \(rate)")
    }
    let (took, ideal) = (Double(end - start) / 1000, Double(arrivals.count) / Double(rate))
    stage.addNote("\(arrivals.count) requests in \(took) s; the rate alone is \(ideal) s")
    // The slices of the last dead worker may be taken over only after all other pushes were sent. This takes at most
    // two leases.
    stage.expect(
      took <= ideal * 1.02 + 12 + 8 * Double(pauses),
      "took \(took) s; \(ideal) s, and what takeovers and pauses take, were expected")
  }

  /// Returns the largest number of requests in a second.
  private static func busiestSecond(_ arrivals: [Int]) -> Int {
    var (first, most) = (0, 0)
    for (number, at) in arrivals.enumerated() {
      while at - arrivals[first] >= 1000 { first += 1 }
      most = max(most, number - first + 1)
    }
    return most
  }
}
