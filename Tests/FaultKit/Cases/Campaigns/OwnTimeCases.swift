import Foundation
import Glibc
import PushCore
import TestSupport

/// A campaign in which each device has its own due time, while workers and Redis die. No device gets a push before its
/// due time, even if several workers have owned its slice. A resent push is identical to the first one.
enum OwnTimeCases {
  static let all = [killed, stopped, redisKilled]

  private static let window = 50

  /// The zones of the devices, in turn. The last one is unknown.
  private static let zones = ["Asia/Tokyo", "Asia/Kolkata", "Europe/Berlin", "America/Lima", "Australia/Perth", ""]

  /// A world with its own time zones, whose due times depend on the start of the case, and the campaign.
  private struct Scene {
    let world: FaultWorld
    let campaign: FaultCampaign
    /// UNIX seconds before which a zone's devices get nothing; `nil` if the time was too long ago.
    let due: [String: Int]

    init(_ stage: Stage, redis: [String] = []) async throws {
      let folder = try ScratchFolder("zones")
      let apart = stage.times(short: 4, full: 8)
      // The workers must run before the first due time.
      let start = Int(Date().timeIntervalSince1970) + 12
      // The start in UTC, which applies to devices without a known zone.
      let sendAt = start + 3 * apart
      try ZoneFile.write(
        [
          "Asia/Tokyo": 3 * apart, "Asia/Kolkata": 2 * apart, "Europe/Berlin": apart, "America/Lima": 1800,
          "Australia/Perth": 4 * 3600,
        ], to: folder.url)
      due = [
        "Asia/Tokyo": start, "Asia/Kolkata": start + apart, "Europe/Berlin": start + 2 * apart, "": sendAt,
        "America/Lima": 0,
      ]
      world = try await stage.world {
        $0.partitions = 8
        $0.window = window
        $0.devices = stage.times(short: 900, full: 3000)
        $0.simulator = ["--latency", "150ms", "--log-bodies"]
        $0.columns = ["timezone", "first"]
        $0.row = { ("u\($0)", [OwnTimeCases.zones[$0 % OwnTimeCases.zones.count], "Ada \($0)"]) }
        $0.environment["CARILLON_WORKER_ZONEINFO"] = folder.url.path
        $0.redis = redis
      }
      self.folder = folder
      campaign = FaultCampaign("morning") {
        $0.content = #""apns":{"payload":{"aps":{"alert":"Good morning {{first}}","badge":"+1"}}},"uniqueKey":"push""#
        $0.more = ["sendAt": "\"\(WallTime.format(sendAt))\"", "localTime": "true"]
      }
    }

    /// The folder of the time zones. It must exist while the workers read it.
    private let folder: ScratchFolder

    /// The zone of each device by its token.
    private var zones: [String: String] {
      Dictionary(
        uniqueKeysWithValues: world.tokens.enumerated().map { ($1, OwnTimeCases.zones[$0 % OwnTimeCases.zones.count]) })
    }

    /// Waits for the end, and compares the time of each push with the due time of its device.
    func finish(_ stage: Stage) async throws {
      try await stage.check(world, after: campaign)
      let zones = zones
      let csv = try await world.succeed("results", "export", campaign.id, "--format", "csv")
      for result in try ExportedResult.all(in: csv) {
        let isMissed = zones[result.token] == "Australia/Perth"
        stage.require(
          result.outcome == (isMissed ? "expired" : "accepted"),
          "\(zones[result.token] ?? "?") ended as \(result.outcome)")
      }
      var earliest: [String: Int] = [:]
      for request in try world.simulatorLog().requests {
        let zone = zones[request.token] ?? "Australia/Perth"
        let early = (due[zone] ?? .max / 1000) * 1000 - request.at
        stage.require(early <= 0, "a device of zone “\(zone)” got it \(early) ms before its time")
        earliest[zone] = min(earliest[zone] ?? .max, request.at)
      }
      let lags = earliest.compactMap { zone, at in due[zone].flatMap { $0 == 0 ? nil : at - $0 * 1000 } }
      stage.addNote("the first push of a zone came \(lags.min() ?? 0) to \(lags.max() ?? 0) ms after its time")
    }
  }

  private static func own(
    _ name: String, fault: String, bound: String, redis: [String] = [], pace: ClosedRange<Int>,
    _ act: @escaping @Sendable (Stage, FaultWorld, Fleet) async throws -> Int?
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: "no user gets a push before the local time, and every user gets one",
      bound: bound
    ) { stage in
      let scene = try await Scene(stage, redis: redis)
      let fleet = try await Fleet(stage, scene.world, size: 3)
      try await scene.world.submit(scene.campaign)
      // Devices whose due time has passed are sent to immediately.
      try await scene.world.reached(20, of: scene.campaign)
      var left = stage.times(short: 4, full: 14)
      while left > 0, try await !scene.world.hasEnded(scene.campaign) {
        if let duplicates = try await act(stage, scene.world, fleet) { stage.fired(fault, duplicates: duplicates) }
        left -= 1
        await stage.elapse(milliseconds: pace)
      }
      try await scene.finish(stage)
    }
  }

  static let killed = own(
    "own-time-and-kill", fault: "SIGKILL between the times of a campaign", bound: "window × kills", pace: 1000...3000
  ) { _, _, fleet in
    try await fleet.killOne() ? window : nil
  }

  static let stopped = own(
    "own-time-and-stop", fault: "SIGSTOP over a time of a campaign", bound: "window × stops", pace: 100...1000
  ) { stage, _, fleet in
    guard let sleeper = stage.random(of: fleet.workers) else { return nil }
    sleeper.process.send(signal: SIGSTOP)
    await stage.elapse(milliseconds: 2000...7500)
    sleeper.process.send(signal: SIGCONT)
    return sleeper.window
  }

  static let redisKilled = own(
    "own-time-and-redis-killed", fault: "Redis SIGKILL with AOF everysec between the times of a campaign",
    bound: "0: no worker died", redis: ["--appendonly", "yes", "--appendfsync", "everysec"], pace: 2000...4000
  ) { _, world, _ in
    try await world.server.restart()
    return 0
  }
}
