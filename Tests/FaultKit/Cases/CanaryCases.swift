import CampaignStore
import Foundation
import Glibc
import TestSupport

/// A share of the users gets it first, while workers and Redis die: nobody of the rest gets anything before the verdict, and
/// where that is bad not before a person says so.
enum CanaryCases {
  static let all = [killed, redisKilled, stands]

  private static let window = 50
  private static let invariant = "the rest begins after the verdict, and everybody gets it once"

  /// The two parts, and the world they are sent in.
  private struct Scene {
    /// Seconds.
    private static let wait = 2
    let world: FaultWorld
    let first: FaultCampaign
    let rest: FaultCampaign

    init(_ stage: Stage, redis: [String] = []) async throws {
      let devices = stage.times(short: 800, full: 2000)
      world = try await stage.world {
        $0.partitions = 8
        $0.window = window
        $0.devices = devices
        $0.simulator = ["--latency", "200ms", "--log-bodies"]
        $0.redis = redis
      }
      let folder = try ScratchFolder("canary")
      let values = (0..<devices).map { #"{"user":"u\#($0)","vars":{"price":"\#($0) €"}}"# }
      let file = try folder.write("values.ndjson", values.joined(separator: "\n"))
      first = FaultCampaign("story") {
        $0.content = #""payload":{"aps":{"alert":"{{price|nothing}}"}}"#
        $0.more["canary"] = #"{"share":0.4,"wait":"\#(Scene.wait)s","maxFailures":0.1}"#
        $0.more["vars"] = "true"
        $0.isPart = true
      }
      rest = FaultCampaign(first.id + ".rest") { $0.isPart = true }
      try await world.succeed("campaign", "vars", first.id, file)
    }

    func begin() async throws {
      try await world.submit(first)
      world.expect(rest)
    }

    /// Waits for the end of the rest, and holds both parts against each other.
    ///
    /// - Parameter resumedAt: ms since the epoch when somebody let the rest go on in spite of the verdict.
    func finish(_ stage: Stage, resumedAt: Int? = nil) async throws {
      try await world.ended(rest)
      try await stage.check(world)
      func tokens(_ id: String) async throws -> Set<String> {
        let csv = try await world.succeed("results", "export", id, "--format", "csv")
        return Set(try ExportedResult.all(in: csv).map(\.token))
      }
      let (early, late) = (try await tokens(first.id), try await tokens(rest.id))
      stage.require(early.isDisjoint(with: late), "\(early.intersection(late).count) are in both parts")
      stage.require(
        early.count + late.count == world.tokens.count, "\(early.count) and \(late.count) are not everybody")
      stage.require(early.count > world.tokens.count / 4, "only \(early.count) were first")
      let requests = try world.simulatorLog().requests
      let end = try await world.store.campaign(first.id)?.finishedAt ?? .max
      let verdict = resumedAt ?? end + Self.wait * 1000
      for request in requests where late.contains(request.token) {
        stage.require(request.at >= verdict, "one of the rest got it \(verdict - request.at) ms before the verdict")
      }
      let numbers = Dictionary(uniqueKeysWithValues: world.tokens.enumerated().map { ($1, $0) })
      for request in requests {
        let price = numbers[request.token].map { "\($0) €" } ?? ""
        let said = try JSONObject(request.body).object("aps")?.text("alert")
        stage.require(said == price, "“\(said ?? "")” was said in the place of “\(price)”")
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
      try await scene.world.reached(20, of: scene.first)
      // In the first part, while it is waited, and in the rest.
      var left = stage.times(short: 3, full: 10)
      while left > 0, try await !scene.world.hasEnded(scene.rest) {
        stage.fired(fault, duplicates: try await act(stage, scene.world, fleet))
        left -= 1
        await stage.elapse(milliseconds: 500...1500)
      }
      try await scene.finish(stage)
    }
  }

  static let killed = parts(
    "canary-and-kill", fault: "SIGKILL in the first part, the wait or the rest", bound: "window × kills"
  ) { _, _, fleet in
    try await fleet.killOne() ? window : 0
  }

  static let redisKilled = parts(
    "canary-and-redis-killed", fault: "Redis SIGKILL with AOF everysec in the first part, the wait or the rest",
    bound: "0: no worker died", redis: ["--appendonly", "yes", "--appendfsync", "everysec"]
  ) { _, world, _ in
    try await world.server.restart()
    return 0
  }

  /// The first part goes badly: whoever dies, the rest stands until somebody has resumed it.
  static let stands = FaultCase(
    "canary-stands", faults: ["SIGKILL while the rest of a bad canary stands"],
    invariant: "a rest whose canary went badly waits for a person", bound: "window × kills"
  ) { stage in
    let scene = try await Scene(stage)
    let fleet = try await Fleet(stage, scene.world, size: 3)
    // Words of no known reason: they reject the push and say nothing against the device. The same ones each time, so that
    // a push that is sent again is answered as before.
    let failures = stride(from: 0, to: scene.world.tokens.count, by: 4).map {
      #"{"token":"\#(scene.world.tokens[$0])","status":400,"reason":"Strange","times":1000}"#
    }
    try await scene.world.simulator.set(#"{"tokenFailures":[\#(failures.joined(separator: ","))]}"#)
    try await scene.begin()
    try await scene.world.reached(20, of: scene.first)
    for _ in 0..<2 {
      if try await fleet.killOne() {
        stage.fired("SIGKILL while the rest of a bad canary stands", duplicates: window)
      }
      await stage.elapse(milliseconds: 300...1000)
    }
    try await until("the rest is paused") { try await scene.world.store.campaign(scene.rest.id)?.state == .paused }
    let said = try await scene.world.store.campaign(scene.rest.id)?.reason ?? ""
    stage.require(said.contains("pushes of campaign story failed"), "it is paused, as \(said)")
    let sent = try scene.world.simulatorLog().requests.count
    for _ in 0..<stage.times(short: 2, full: 5) {
      if try await fleet.killOne() { stage.allow(duplicates: window) }
      await stage.elapse(milliseconds: 500...1500)
    }
    let more = try scene.world.simulatorLog().requests.count - sent
    stage.require(more == 0, "\(more) were sent while it stood")
    try await scene.world.simulator.set(#"{"tokenFailures":[]}"#)
    let resumedAt = Int(Date().timeIntervalSince1970 * 1000)
    try await scene.world.succeed("campaign", "resume", scene.rest.id)
    try await scene.finish(stage, resumedAt: resumedAt)
  }
}
