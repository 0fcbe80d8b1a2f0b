import CampaignStore
import Glibc
import TestSupport

/// Campaigns that have a rate, and workers that die or stand still meanwhile: what they had been lent is missed, and nothing
/// is sent faster to make up for it.
enum RateCases {
  static let all = [rateAndKill, rateAndRedisKilled, rateAndFailover]

  private static let window = 100

  static let rateAndKill = FaultCase(
    "rate-and-kill", faults: ["SIGKILL while a rate is kept to", "SIGSTOP while a rate is kept to"],
    invariant: "every target has one outcome; never faster than the rate; ends when the rate says",
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
    // A death during the guard trial holds the fleet up for a lease, with a rate or without.
    try await world.reached(2 * window, of: campaign)
    var left = stage.times(short: 1, full: 10)
    while left > 0, try await !world.hasEnded(campaign) {
      if try await fleet.killOne() { stage.fired("SIGKILL while a rate is kept to", duplicates: window) }
      await stage.elapse(milliseconds: 500...1500)
      guard let sleeper = stage.random(of: fleet.workers), try await !world.hasEnded(campaign) else { break }
      sleeper.process.send(signal: SIGSTOP)
      await stage.elapse(milliseconds: 300...900)
      sleeper.process.send(signal: SIGCONT)
      stage.fired("SIGSTOP while a rate is kept to", duplicates: window)
      await stage.elapse(milliseconds: 300...800)
      left -= 1
    }
    try await finish(stage, world, campaign, rate: rate, since: start)
  }

  /// Redis forgets what it lent in the last second, and what it had of it is a burst at most.
  static let rateAndRedisKilled = FaultCase(
    "rate-and-redis-killed", faults: ["Redis SIGKILL with AOF everysec while a rate is kept to"],
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
      stage.fired("Redis SIGKILL with AOF everysec while a rate is kept to")
      left -= 1
    }
    // For a moment nothing is taken and nothing lent after each: workers tell Redis what it forgot.
    try await finish(stage, world, campaign, rate: rate, since: start, pauses: stage.times(short: 1, full: 3))
  }

  /// A replica goes on, which may not have heard of what was lent last.
  static let rateAndFailover = FaultCase(
    "rate-and-failover", faults: ["failover to a replica while a rate is kept to"],
    invariant: "every target has one outcome; never faster than the rate",
    bound: "window × workers × times: every lease may have run out"
  ) { stage in
    let rate = stage.times(short: 200, full: 400)
    let world = try await stage.world {
      $0.house = .sentinels
      $0.partitions = 32
      $0.window = window
      $0.devices = stage.times(short: 1200, full: 8000)
      $0.simulator = ["--latency", "30ms"]
    }
    guard case .sentinels(let sentinels) = world.house else { throw TestSupportError("no sentinels") }
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
      stage.fired("failover to a replica while a rate is kept to", duplicates: window * fleet.workers.count)
      left -= 1
    }
    try await finish(stage, world, campaign, rate: rate, since: start, pauses: 2 * stage.times(short: 1, full: 2))
  }

  /// Waits for the end, and holds what the simulator wrote down against the rate.
  ///
  /// - Parameters:
  ///   - start: when the job was there, in ms since the epoch.
  ///   - pauses: how often all of the fleet waited for some seconds.
  private static func finish(
    _ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign, rate: Int, since start: Int, pauses: Int = 0
  ) async throws {
    try await world.ended(campaign)
    let end = try await world.store.campaigns.find(campaign.id)?.finishedAt ?? 0
    let arrivals = try world.simulatorLog().requests.map(\.at).sorted()
    try await stage.check(world)

    // Since the job was there, whatever the machine does: what has arrived was lent before it.
    let late = arrivals.enumerated().first { number, at in
      Double(number + 1) > Double(rate) * (1.02 * Double(at - start) / 1000 + 0.25) + 3
    }
    if let late {
      stage.require(false, "\(late.offset + 1) requests \(late.element - start) ms after the job: the rate is \(rate)")
    }
    let worst = busiestSecond(arrivals)
    stage.note("busiest second: \(worst) requests at a rate of \(rate)")
    // On a machine that has much else to do a second's requests may wait for a part of the next one: then this says nothing.
    if stage.scale == .full {
      stage.require(
        Double(worst) <= Double(rate) * (1.02 + 0.25) + 3, "\(worst) requests in a second: the rate is \(rate)")
    }
    let (took, ideal) = (Double(end - start) / 1000, Double(arrivals.count) / Double(rate))
    stage.note("\(arrivals.count) requests in \(took) s; the rate alone is \(ideal) s")
    // What the dead held last is taken over when everything else has been sent: two leases at most.
    stage.expect(
      took <= ideal * 1.02 + 12 + 8 * Double(pauses),
      "took \(took) s; \(ideal) s, and what takeovers and pauses take, were expected")
  }

  /// The most requests that arrived within a second.
  private static func busiestSecond(_ arrivals: [Int]) -> Int {
    var (first, most) = (0, 0)
    for (number, at) in arrivals.enumerated() {
      while at - arrivals[first] >= 1000 { first += 1 }
      most = max(most, number - first + 1)
    }
    return most
  }
}
