import Foundation
import Glibc
import TestSupport

/// Campaigns with frequency caps, badge counts and unique pushes while workers and Redis die. The counts of every user
/// are exact, and a resent push is identical to the first one.
enum CountedCases {
  static let all = [killed, stopped, redisKilled, cut, failover]

  private static let workers = 3
  private static let invariant = "the counts of every user are exact; a resent push has the same bytes"

  private static func counted(
    _ name: String, fault: String, bound: String, times: (short: Int, full: Int), pace: ClosedRange<Int>,
    world change: @escaping @Sendable (inout FaultWorld.Options) -> Void = { _ in },
    _ act: @escaping @Sendable (Stage, FaultWorld, Fleet) async throws -> Int?
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let scene = try await CountedScene(stage, change)
      let fleet = try await Fleet(stage, scene.world, size: workers)
      try await scene.begin()
      var left = stage.times(short: times.short, full: times.full)
      while left > 0, try await !scene.haveEnded() {
        if let duplicates = try await act(stage, scene.world, fleet) { stage.fired(fault, duplicates: duplicates) }
        left -= 1
        await stage.elapse(milliseconds: pace)
      }
      try await scene.finish(stage)
    }
  }

  static let killed = counted(
    "counted-and-kill", fault: "SIGKILL while users are counted", bound: "window × kills", times: (2, 12),
    pace: 300...1200
  ) { _, _, fleet in
    try await fleet.killOne() ? CountedScene.window : nil
  }

  static let stopped = counted(
    "counted-and-stop", fault: "SIGSTOP beyond the lease while users are counted", bound: "window × stops",
    times: (1, 3), pace: 500...1500
  ) { stage, world, fleet in
    guard let sleeper = try await world.sending(among: fleet.workers.shuffled(by: stage)).first else { return nil }
    sleeper.process.send(signal: SIGSTOP)
    await elapse(.milliseconds(StandstillCases.lease + 1500))
    sleeper.process.send(signal: SIGCONT)
    return sleeper.window
  }

  static let redisKilled = counted(
    "counted-and-redis-killed", fault: "Redis SIGKILL with AOF everysec while users are counted",
    bound: "0: no worker died", times: (2, 6), pace: 500...2000, world: { $0.redis = appendOnly }
  ) { _, world, _ in
    try await world.server.restart()
    return 0
  }

  private static let appendOnly = ["--appendonly", "yes", "--appendfsync", "everysec"]

  /// Redis loses decisions about targets together with the counts that they changed. Workers replay both.
  static let cut = counted(
    "counted-and-aof-cut", fault: "AOF tail cut by a second while users are counted", bound: "0: no worker died",
    times: (1, 4), pace: 3000...5000, world: { $0.redis = appendOnly }
  ) { _, world, _ in
    try await RedisLossCases.cutTail(world).bytes > 0 ? 0 : nil
  }

  static let failover = counted(
    "counted-and-failover", fault: "failover to a replica while users are counted",
    bound: "window × workers × times: every lease may have expired", times: (1, 2), pace: 500...1500,
    world: { $0.servers = .sentinels }
  ) { _, world, _ in
    guard case .sentinels(let sentinels) = world.servers, let primary = try await sentinels.primary() else {
      return nil
    }
    await primary.kill(SIGKILL)
    try await sentinels.awaitPrimary(otherThan: primary)
    try await primary.restart()
    try await sentinels.awaitReplicas()
    return workers * CountedScene.window
  }
}
