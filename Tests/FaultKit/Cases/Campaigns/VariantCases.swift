import APNs
import CampaignStore
import Foundation
import Glibc
import PushCore
import TestSupport

/// A first share of the users gets variants and the rest gets the winner, while workers and Redis die. Each user of the
/// first share gets the assigned variant, and the outcomes of each variant are counted exactly.
enum VariantCases {
  static let all = [killed, redisKilled, cut, failover]

  private static let workers = 3
  private static let window = 50
  private static let invariant = "each user gets their variant, the rest the winner; each is counted exactly"

  private static func variants(
    _ name: String, fault: String, bound: String, times: (short: Int, full: Int), pace: ClosedRange<Int>,
    world change: @escaping @Sendable (inout FaultWorld.Options) -> Void = { _ in },
    _ act: @escaping @Sendable (FaultWorld, Fleet) async throws -> Int?
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let devices = stage.times(short: 600, full: 3000)
      let world = try await stage.world {
        $0.partitions = 8
        $0.window = window
        $0.devices = devices
        $0.simulator = ["--latency", "100ms", "--log-bodies"]
        // Two devices for each user.
        $0.row = { ("u\($0 / 2)", []) }
        change(&$0)
      }
      let fleet = try await Fleet(stage, world, size: workers)
      let campaign = FaultCampaign("ab") {
        $0.content = #""apns":{"payload":{"aps":{"alert":"a"}}}"#
        $0.more["variants"] = #"[{"name":"a"},{"name":"b","weight":2,"apns":{"payload":{"aps":{"alert":"b"}}}}]"#
        $0.more["stages"] = #"[{"share":0.5,"wait":"1s","winner":{"by":"accepted","minimum":1}}]"#
      }
      try await world.submit(campaign)
      try await world.reached(20, of: campaign)
      var left = stage.times(short: times.short, full: times.full)
      while left > 0, try await !world.hasEnded(campaign) {
        if let duplicates = try await act(world, fleet) { stage.fired(fault, duplicates: duplicates) }
        left -= 1
        await stage.elapse(milliseconds: pace)
      }
      try await world.ended(campaign)
      let findings = try await observed(campaign, world)
      try await stage.check(world)
      for line in findings { stage.require(false, line) }
    }
  }

  static let killed = variants(
    "variants-and-kill", fault: "SIGKILL while variants are sent", bound: "window × kills", times: (3, 12),
    pace: 300...1200
  ) { _, fleet in try await fleet.killOne() ? window : nil }

  static let redisKilled = variants(
    "variants-and-redis-killed", fault: "Redis SIGKILL with AOF everysec while variants are sent",
    bound: "0: no worker died", times: (2, 6), pace: 500...1500, world: { $0.redis = appendOnly }
  ) { world, _ in
    try await world.server.restart()
    return 0
  }

  private static let appendOnly = ["--appendonly", "yes", "--appendfsync", "everysec"]

  /// Redis may lose decisions about targets together with the counts that they changed. Workers replay both.
  static let cut = variants(
    "variants-and-aof-cut", fault: "AOF tail cut by a second while variants are sent", bound: "0: no worker died",
    times: (1, 4), pace: 3000...5000, world: { $0.redis = appendOnly }
  ) { world, _ in try await RedisLossCases.cutTail(world).bytes > 0 ? 0 : nil }

  static let failover = variants(
    "variants-and-failover", fault: "failover to a replica while variants are sent",
    bound: "window × workers × times: every lease may have expired", times: (1, 2), pace: 500...1500,
    world: { $0.servers = .sentinels }
  ) { world, _ in
    guard case .sentinels(let sentinels) = world.servers, let primary = try await sentinels.primary() else {
      return nil
    }
    await primary.kill(SIGKILL)
    try await sentinels.awaitPrimary(otherThan: primary)
    try await primary.restart()
    try await sentinels.awaitReplicas()
    return workers * window
  }

  // MARK: Sent variants

  /// Compares the sent pushes and the counts of each variant with the users' assignments.
  ///
  /// - Returns: a line for each kind of violation.
  private static func observed(_ campaign: FaultCampaign, _ world: FaultWorld) async throws -> [String] {
    var findings = Findings(campaign: campaign.id)
    let show = try JSONObject(await world.succeed("campaign", "show", campaign.id, "--json"))
    guard let (_, job) = try await world.store.campaigns.findWithJob(campaign.id),
      let campaign = try? CampaignJob.parse(job, .any([APNsService()])), let variants = campaign.message.variants,
      let stages = campaign.delivery.stages, let best = show.object("winner")?.text("variant")
    else { return ["no winner was chosen: \(show)"] }
    let requests = Dictionary(grouping: try world.simulatorLog().requests, by: \.id)
    var counted: [String: Int] = [:]
    for result in try ExportedResult.all(in: await world.succeed("results", "export", campaign.id, "--format", "csv")) {
      let (place, stage) = Array(result.user.utf8).withUnsafeBytes {
        (variants.index(of: $0), stages.draw.index(of: $0))
      }
      let waits = stage > 0
      let name = waits ? best : variants.all[place].name
      counted[name + " " + result.outcome, default: 0] += 1
      if result.variant != name { findings.add("has another variant than the assigned one", result.user) }
      for request in requests[result.id, default: []] where request.body != #"{"aps":{"alert":"\#(name)"}}"# {
        findings.add(waits ? "the rest did not get the winner" : "a user got another variant", request.body)
      }
    }
    var shown: [String: Int] = [:]
    let parts = (show.objects("variants") ?? []).map { ($0.text("name") ?? "", $0) }
    for (name, part) in parts {
      var sum = 0
      for (outcome, count) in part.object("outcomes")?.numbers ?? [:] {
        shown[name + " " + outcome] = count
        sum += count
      }
      if sum != part.number("targets") { findings.add("has targets without an outcome", "\(name): \(part)") }
    }
    if shown != counted {
      findings.add("has counts that differ from its results", "\(shown), by the results \(counted)")
    }
    return findings.lines
  }
}
