import Foundation
import Glibc
import TestSupport

/// Redis dies, is not reachable, or loses writes.
enum RedisLossCases {
  static let all = [killed, frozen, down, cut, cutAndAway, cutAndKilled]

  private static let workers = 3

  private static func world(_ stage: Stage) async throws -> FaultWorld {
    try await stage.world {
      $0.devices = stage.times(short: 1500, full: 5000)
      $0.simulator = ["--latency", "200ms"]
      $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec"]
    }
  }

  static let killed = FaultCase(
    "redis-killed", faults: ["Redis SIGKILL with AOF everysec"],
    invariant: "every target has one outcome; answers that arrive during the outage are kept",
    bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("killed-\(number)"), reaching: 50)
      var left = stage.times(short: 2, full: 8)
      while left > 0, try await !world.hasEnded(campaign) {
        try await world.server.restart()
        stage.fired("Redis SIGKILL with AOF everysec")
        left -= 1
        await stage.elapse(milliseconds: 500...2000)
      }
      try await stage.check(world, after: campaign)
    }
  }

  /// Leases expire while Redis is not reachable. The first worker that reaches Redis again may take over slices that
  /// another worker still holds.
  private static func away(
    _ name: String, fault: String, _ act: @escaping @Sendable (FaultWorld, Duration) async throws -> Void
  )
    -> FaultCase
  {
    FaultCase(
      name, faults: [fault], invariant: "workers keep answers and record them later; campaigns continue",
      bound: "window × workers × outages: every lease may have expired"
    ) { stage in
      let world = try await world(stage)
      _ = try await Fleet(stage, world, size: workers)
      for number in 1...stage.times(short: 1, full: 2) {
        let campaign = try await world.submit(FaultCampaign("away-\(number)"), reaching: 100)
        try await act(world, .seconds(stage.times(short: 4, full: 30)))
        stage.fired(fault, duplicates: world.options.window * workers)
        try await stage.check(world, after: campaign)
      }
      stage.expect(world.workers.count == workers, "a worker did not survive the outage of Redis")
    }
  }

  static let frozen = away("redis-frozen", fault: "Redis stopped for 30 s (SIGSTOP)") { world, duration in
    await world.server.kill(SIGSTOP)
    await elapse(duration)
    await world.server.kill(SIGCONT)
  }

  static let down = away("redis-down", fault: "Redis down for 30 s") { world, duration in
    await world.server.stop()
    await elapse(duration)
    try await world.server.restart()
  }

  // MARK: Lost writes

  /// Kills Redis, removes the last second from its AOF, and starts it again.
  ///
  /// - Parameter meanwhile: called while Redis is dead.
  /// - Returns: the number of removed bytes, and the time of the last remaining write in ms since the epoch.
  static func cutTail(
    _ world: FaultWorld, meanwhile: () async throws -> Void = {}
  ) async throws -> (bytes: Int, since: Int) {
    let file = try appendOnlyFile(world)
    let since = Int(Date().timeIntervalSince1970 * 1000)
    let before = try size(file)
    await elapse(.seconds(1))
    await world.server.kill(SIGKILL)
    let after = try size(file)
    // Redis drops an incomplete command or transaction at the end (aof-load-truncated, on by default).
    guard truncate(file.path, off_t(before)) == 0 else { throw TestSupportError("truncate \(file.path)") }
    try await meanwhile()
    try await world.server.restart()
    return (after - before, since)
  }

  /// Returns the file to which Redis appends: the one with the highest number (7.0, "appenddirname").
  private static func appendOnlyFile(_ world: FaultWorld) throws -> URL {
    let folder = world.server.folder.url.appending(path: "appendonlydir")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    let parts = files.filter { $0.lastPathComponent.hasSuffix(".incr.aof") }
    guard let last = parts.max(by: { $0.path.localizedStandardCompare($1.path) == .orderedAscending }) else {
      throw TestSupportError("no append-only file in \(folder.path)")
    }
    return last
  }

  private static func size(_ file: URL) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int ?? 0
  }

  static let cut = FaultCase(
    "aof-cut", faults: ["AOF tail cut by a second"],
    invariant: "workers replay lost commits", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 4) {
      let campaign = try await world.submit(FaultCampaign("cut-\(number)"), reaching: 50)
      var left = stage.times(short: 1, full: 5)
      while left > 0, try await !world.hasEnded(campaign) {
        if try await cutTail(world).bytes > 0 { stage.fired("AOF tail cut by a second") }
        left -= 1
        // With a shorter pause, leases of living workers would expire, because each cut removes their last renewals.
        await stage.elapse(milliseconds: 3000...5000)
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let cutAndAway = FaultCase(
    "aof-cut-and-away", faults: ["AOF tail cut by a second and Redis down for longer than the journals cover"],
    invariant: "workers replay lost commits, however late they can",
    bound: "window × workers × cuts: every lease may have expired"
  ) { stage in
    let world = try await world(stage)
    _ = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("cut-away-\(number)"), reaching: 50)
      if try await cutTail(world, meanwhile: { await elapse(.seconds(4)) }).bytes > 0 {
        stage.fired(
          "AOF tail cut by a second and Redis down for longer than the journals cover",
          duplicates: world.options.window * workers)
      }
      try await stage.check(world, after: campaign)
    }
  }

  static let cutAndKilled = FaultCase(
    "aof-cut-and-kill", faults: ["AOF tail cut by a second and a worker killed"],
    invariant: "every target has one outcome",
    bound: "window × kills, and deliveries in the lost second"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 5) {
      let campaign = try await world.submit(FaultCampaign("cut-kill-\(number)"), reaching: 50)
      var kills = 0
      let tail = try await cutTail(world) {
        if let victim = stage.random(of: fleet.workers), await world.kill(victim) { kills += 1 }
      }
      let forgotten = try world.simulatorLog().requests.count { $0.at >= tail.since && $0.isDelivery }
      if tail.bytes > 0, kills > 0 {
        let duplicates = world.options.window * kills + forgotten
        stage.fired("AOF tail cut by a second and a worker killed", duplicates: duplicates)
      }
      try await fleet.refill()
      try await stage.check(world, after: campaign)
    }
  }
}
