import CampaignStore
import Foundation
import Glibc
import TestSupport

/// A share of the users gets the campaign first, while workers and Redis die. The other users get nothing before the
/// gate opens. If the gate pauses the campaign, they wait for an operator.
enum StageCases {
  static let all = [killed, redisKilled, stands, approved, cancelled]

  private static let window = 50
  private static let invariant = "the rest begins behind its gate, and every target gets one push"

  /// A campaign with a stage, and its world.
  private struct Scene {
    /// Time in seconds between the end of the first stage and its gate.
    private static let wait = 2
    let world: FaultWorld
    let campaign: FaultCampaign

    var first: String { campaign.id + "~1" }
    var rest: String { campaign.id + "~rest" }

    /// - Parameter gate: members of the stage that define when the rest of the users get the campaign.
    init(
      _ stage: Stage, redis: [String] = [], end: String = "completed",
      gate: String = #""wait":"\#(Scene.wait)s","maxFailures":0.1"#
    ) async throws {
      let devices = stage.times(short: 800, full: 2000)
      world = try await stage.world {
        $0.partitions = 8
        $0.window = window
        $0.devices = devices
        $0.simulator = ["--latency", "200ms", "--log-bodies"]
        $0.redis = redis
        // The gate, not the guard, must decide about the refused messages of a stage.
        $0.environment["CARILLON_GUARD_THRESHOLD"] = "1"
      }
      let folder = try ScratchFolder("stages")
      let values = (0..<devices).map { #"{"user":"u\#($0)","vars":{"price":"\#($0) €"}}"# }
      let file = try folder.write("values.ndjson", values.joined(separator: "\n"))
      campaign = FaultCampaign("story") {
        $0.content = #""apns":{"payload":{"aps":{"alert":"{{price|nothing}}"}}}"#
        $0.more["stages"] = #"[{"share":0.4,\#(gate)}]"#
        $0.more["vars"] = "true"
        $0.end = end
      }
      try await world.succeed("campaign", "vars", campaign.id, file)
    }

    func begin() async throws { try await world.submit(campaign) }

    /// Waits for the end of the campaign, and checks the pushes of both parts.
    ///
    /// - Parameter resumedAt: time in ms since the epoch when an operator let the rest start in spite of the verdict.
    func finish(_ stage: Stage, resumedAt: Int? = nil) async throws {
      try await stage.check(world, after: campaign)
      func tokens(_ id: String) async throws -> Set<String> {
        let csv = try await world.succeed("results", "export", id, "--format", "csv")
        return Set(try ExportedResult.all(in: csv).map(\.token))
      }
      let (early, late) = (try await tokens(first), try await tokens(rest))
      stage.require(early.isDisjoint(with: late), "\(early.intersection(late).count) are in both parts")
      stage.require(
        early.count + late.count == world.tokens.count, "\(early.count) and \(late.count) are not all targets")
      stage.require(early.count > world.tokens.count / 4, "only \(early.count) were first")
      let requests = try world.simulatorLog().requests
      let end = try await world.store.campaigns.find(first)?.times.finishedAt ?? .max
      let verdict = resumedAt ?? end + Self.wait * 1000
      for request in requests where late.contains(request.token) {
        stage.require(request.at >= verdict, "one of the rest got it \(verdict - request.at) ms before the verdict")
      }
      let numbers = Dictionary(uniqueKeysWithValues: world.tokens.enumerated().map { ($1, $0) })
      for request in requests {
        let price = numbers[request.token].map { "\($0) €" } ?? ""
        let alert = try JSONObject(request.body).object("aps")?.text("alert")
        stage.require(alert == price, "the push has “\(alert ?? "")” instead of “\(price)”")
      }
    }
  }

  private static func parts(
    _ name: String, fault: String, bound: String, redis: [String] = [],
    _ act: @escaping @Sendable (Stage, FaultWorld, Fleet) async throws -> Int
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let scene = try await Scene(stage, redis: redis)
      let fleet = try await Fleet(stage, scene.world, size: 3)
      try await scene.begin()
      try await scene.world.reached(20, of: scene.campaign)
      // The kills fall into the first part, the wait and the rest.
      var left = stage.times(short: 3, full: 10)
      while left > 0, try await !scene.world.hasEnded(scene.campaign) {
        stage.fired(fault, duplicates: try await act(stage, scene.world, fleet))
        left -= 1
        await stage.elapse(milliseconds: 500...1500)
      }
      try await scene.finish(stage)
    }
  }

  static let killed = parts(
    "stages-and-kill", fault: "SIGKILL in the first part, the wait or the rest", bound: "window × kills"
  ) { _, _, fleet in
    try await fleet.killOne() ? window : 0
  }

  static let redisKilled = parts(
    "stages-and-redis-killed", fault: "Redis SIGKILL with AOF everysec in the first part, the wait or the rest",
    bound: "0: no worker died", redis: ["--appendonly", "yes", "--appendfsync", "everysec"]
  ) { _, world, _ in
    try await world.server.restart()
    return 0
  }

  /// The stage fails. Although workers die, the rest waits until an operator resumes the campaign.
  static let stands = FaultCase(
    "stages-stand", faults: ["SIGKILL while the gate after a failed stage is closed"],
    invariant: "after a stage that failed, the rest waits for an operator", bound: "window × kills"
  ) { stage in
    let scene = try await Scene(stage)
    let fleet = try await Fleet(stage, scene.world, size: 3)
    // A refusal with an unknown reason has no consequences for the device. The same tokens are refused each time, so a
    // resent push gets the same answer.
    let failures = stride(from: 0, to: scene.world.tokens.count, by: 4).map {
      #"{"token":"\#(scene.world.tokens[$0])","status":400,"reason":"Strange","times":1000}"#
    }
    try await scene.world.simulator.set(#"{"tokenFailures":[\#(failures.joined(separator: ","))]}"#)
    try await scene.begin()
    try await scene.world.reached(20, of: scene.campaign)
    for _ in 0..<2 {
      if try await fleet.killOne() {
        stage.fired("SIGKILL while the gate after a failed stage is closed", duplicates: window)
      }
      await stage.elapse(milliseconds: 300...1000)
    }
    try await until("the campaign is paused") {
      try await scene.world.store.campaigns.find(scene.campaign.id)?.state == .paused
    }
    let reason = try await scene.world.store.campaigns.find(scene.campaign.id)?.reason ?? ""
    stage.require(reason.contains("pushes failed, more than 10 %"), "it is paused because \(reason)")
    let sent = try scene.world.requestCount()
    for _ in 0..<stage.times(short: 2, full: 5) {
      if try await fleet.killOne() { stage.allow(duplicates: window) }
      await stage.elapse(milliseconds: 500...1500)
    }
    let more = try scene.world.requestCount() - sent
    stage.require(more == 0, "\(more) were sent before the resume")
    try await scene.world.simulator.set(#"{"tokenFailures":[]}"#)
    let resumedAt = Int(Date().timeIntervalSince1970 * 1000)
    try await scene.world.succeed("campaign", "resume", scene.campaign.id)
    try await scene.finish(stage, resumedAt: resumedAt)
  }

  /// Workers die around an approval. The rest starts once, after the approval.
  static let approved = FaultCase(
    "stages-and-approve", faults: ["SIGKILL around the approval of a campaign with stages"],
    invariant: "the rest begins after the approval, and every target gets one push", bound: "window × kills"
  ) { stage in
    let scene = try await Scene(stage, gate: #""approval":true"#)
    let fleet = try await Fleet(stage, scene.world, size: 3)
    func kill() async throws {
      if try await fleet.killOne() {
        stage.fired("SIGKILL around the approval of a campaign with stages", duplicates: window)
      }
    }
    try await scene.begin()
    try await scene.world.reached(20, of: scene.campaign)
    try await kill()
    try await until("the campaign is paused") {
      try await scene.world.store.campaigns.find(scene.campaign.id)?.state == .paused
    }
    let reason = try await scene.world.store.campaigns.find(scene.campaign.id)?.reason ?? ""
    stage.require(reason.contains("it needs approval"), "the campaign is paused because of “\(reason)”")
    let sent = try scene.world.requestCount()
    try await kill()
    await stage.elapse(milliseconds: 500...1500)
    let more = try scene.world.requestCount() - sent
    stage.require(more == 0, "\(more) pushes were sent before the approval")
    let approvedAt = Int(Date().timeIntervalSince1970 * 1000)
    try await scene.world.succeed("campaign", "approve", scene.campaign.id, "--by", "grace")
    try await kill()
    await stage.elapse(milliseconds: 0...500)
    try await kill()
    try await scene.finish(stage, resumedAt: approvedAt)
  }

  /// Workers die around a cancel. The cancel ends every stage.
  static let cancelled = FaultCase(
    "stages-and-cancel", faults: ["SIGKILL around the cancel of a campaign with stages"],
    invariant: "a cancel ends every stage, and nothing is sent afterwards", bound: "window × kills"
  ) { stage in
    let scene = try await Scene(stage, end: "cancelled")
    let fleet = try await Fleet(stage, scene.world, size: 3)
    try await scene.begin()
    try await scene.world.reached(20, of: scene.campaign)
    // The worker dies in the first stage, or while the rest waits at its gate.
    await stage.elapse(milliseconds: 0...1500)
    func kill() async throws {
      if try await fleet.killOne() {
        stage.fired("SIGKILL around the cancel of a campaign with stages", duplicates: window)
      }
    }
    try await kill()
    try await scene.world.succeed("campaign", "cancel", scene.campaign.id)
    try await kill()
    try await scene.world.ended(scene.campaign)
    let sent = try scene.world.requestCount()
    await stage.elapse(milliseconds: 3000...3500)
    let more = try scene.world.requestCount() - sent
    stage.require(more == 0, "\(more) were sent after the campaign had ended")
    let states = try await scene.world.store.campaigns.find(scene.campaign.id)?.parts.map(\.state) ?? []
    stage.require(states.count == 2 && states.allSatisfy(\.isFinal), "its parts are \(states)")
    stage.require(states.last == .cancelled, "the rest is \(states)")
    try await stage.check(scene.world)
  }
}
