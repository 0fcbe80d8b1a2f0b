import Foundation
import Glibc
import TestSupport

/// Faults of a primary, its two replicas and three sentinels during campaigns, while workers are also killed.
enum SentinelCases {
  static let all = [killed, frozen, failover, majorityGone]

  private static let workers = 3

  private static func happening(
    _ name: String, fault: String, isLong: Bool,
    _ act: @escaping @Sendable (Stage, RedisSentinels, _ primary: RedisServer) async throws -> Void
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: "every target has one outcome; campaigns continue without help",
      bound: isLong ? "window × workers × times, and window × kills" : "window × kills"
    ) { stage in
      let world = try await stage.world {
        $0.servers = .sentinels
        $0.devices = stage.times(short: 2000, full: 5000)
        $0.simulator = ["--latency", "300ms"]
      }
      guard case .sentinels(let sentinels) = world.servers else { throw TestSupportError("no sentinels") }
      let fleet = try await Fleet(stage, world, size: workers)
      for number in 1...stage.times(short: 1, full: 3) {
        let campaign = try await world.submit(FaultCampaign("\(name)-\(number)"), reaching: 100)
        guard let primary = try await sentinels.primary() else { throw TestSupportError("no primary") }
        let before = Int(Date().timeIntervalSince1970 * 1000)
        // At the fault the replacement has started, and no worker has taken over the dead worker's slices yet.
        let deaths = try await fleet.killOne() ? 1 : 0
        try await act(stage, sentinels, primary)
        let window = world.options.window
        stage.fired(fault, duplicates: window * deaths + (isLong ? window * workers : 0))
        try await world.ended(campaign)
        stage.addNote("\(try ClusterCases.pause(world, since: before)) ms unsent")
        try await stage.check(world)
      }
    }
  }

  static let killed = happening("sentinel-killed", fault: "primary of sentinels SIGKILL", isLong: true) {
    _, sentinels, primary in
    await primary.kill(SIGKILL)
    try await sentinels.awaitPrimary(otherThan: primary)
    try await primary.restart()
    try await sentinels.awaitReplicas()
  }

  static let frozen = happening("sentinel-frozen", fault: "primary of sentinels stopped (SIGSTOP)", isLong: true) {
    _, sentinels, primary in
    await primary.kill(SIGSTOP)
    try await sentinels.awaitPrimary(otherThan: primary)
    await primary.kill(SIGCONT)
    try await sentinels.awaitReplicas()
  }

  static let failover = happening("sentinel-failover", fault: "planned failover by sentinels", isLong: true) {
    _, sentinels, primary in
    try await sentinels.failOver()
    try await sentinels.awaitPrimary(otherThan: primary)
    try await sentinels.awaitReplicas()
  }

  static let majorityGone = happening(
    "sentinel-majority", fault: "majority of sentinels away, then the primary killed", isLong: true
  ) { stage, sentinels, primary in
    let away = sentinels.sentinels.suffix(2)
    for sentinel in away { sentinel.process.send(signal: SIGSTOP) }
    await primary.kill(SIGKILL)
    await elapse(.seconds(stage.times(short: 3, full: 10)))
    for sentinel in away { sentinel.process.send(signal: SIGCONT) }
    try await sentinels.awaitPrimary(otherThan: primary)
    try await primary.restart()
    try await sentinels.awaitReplicas()
  }
}
