import CampaignStore
import Foundation
import PushCore
import TestSupport

/// Two apps, and workers that send for both.
struct IsolationScene {
  static let workers = 2
  static let window = 1000
  /// Returns the longest permitted duration in seconds of a healthy campaign during trouble. It is three times the
  /// duration without trouble, because the machine has other load, plus 1.5 s for the effect of the trouble.
  private static func bound(alone: Double) -> Double { 3 * alone + 1.5 }
  /// Time in which `campaign show` must report that a blocked campaign waits, with the reason.
  private static let explanation = Duration.seconds(15)

  let stage: Stage
  let world: FaultWorld
  /// The other app.
  let app: SecondApp

  /// - Parameter sick: number of devices of the other app.
  init(_ stage: Stage, sick: Int) async throws {
    self.stage = stage
    world = try await stage.world {
      // With this number of slices, a few slices fill a window.
      $0.partitions = stage.times(short: 64, full: 256)
      $0.window = Self.window
      $0.devices = stage.times(short: 4000, full: 20_000)
      $0.sportDevices = sick
      $0.simulator = []
      // 20 attempts are more than any push needs while the endpoint fails.
      $0.environment["CARILLON_RETRY_ATTEMPTS"] = "20"
    }
    guard let app = world.sport else { throw TestSupportError("a scene without another app") }
    self.app = app
    try await app.set(#"{"latencyMilliseconds":50}"#)
    for (name, letter, count) in [("news", "u", world.tokens.count), (SecondApp.name, "s", app.tokens.count)] {
      let users = world.folder.appending(path: "\(name).txt")
      try Data((0..<count).map { "\(letter)\($0)" }.joined(separator: "\n").utf8).write(to: users)
      try await world.succeed("segment", "import", name, users.path)
    }
    for number in 1...Self.workers { try await world.worker("w\(number)") }
  }

  /// Returns a campaign to all devices of an app.
  func campaign(_ id: String, app: String = "news", lane: Lane = .normal) -> FaultCampaign {
    FaultCampaign(id) {
      $0.app = app
      $0.audience = #"{"segment":"\#(app)"}"#
      $0.more["lane"] = "\"\(lane)\""
      if app == SecondApp.name { $0.tokens = self.app.tokens }
    }
  }

  /// Returns the duration in seconds of a healthy campaign without other load and with open connections: the shorter
  /// one of two campaigns.
  func timeAlone() async throws -> Double {
    var seconds: [Double] = []
    for id in ["warm", "alone", "again"] {
      seconds.append(try await world.time(campaign(id), within: .seconds(60)) ?? .infinity)
    }
    let alone = min(seconds[1], seconds[2])
    guard alone.isFinite else { throw TestSupportError("a campaign that is alone does not end") }
    return alone
  }

  /// Waits until the sick endpoint receives nothing for some time. Then the pushes of its campaign are stuck in the
  /// workers and occupy as many resources as possible. A slow endpoint may continue to receive, so the wait has a
  /// limit.
  func restOfSick() async throws {
    var (last, since) = (-1, ContinuousClock.now)
    try? await until("the sick endpoint gets nothing more", within: .seconds(5)) {
      let size = try app.logSize
      if size != last { (last, since) = (size, .now) }
      return since.duration(to: .now) >= .milliseconds(500)
    }
  }

  /// Sends two campaigns of the healthy app: one in the lane above that of the other app's campaign, and one in the
  /// same lane.
  ///
  /// - Returns: the campaigns. They may still be in flight.
  func expectInTime(alone: Double) async throws -> [FaultCampaign] {
    var campaigns: [FaultCampaign] = []
    var seconds = [("alone", Optional(alone))]
    for lane in [Lane.urgent, .normal] {
      let campaign = campaign("healthy-\(lane)", lane: lane)
      let bound = Self.bound(alone: alone)
      let took = try await world.time(campaign, within: .seconds(bound))
      let had = try await world.recorded(of: campaign)
      stage.expect(
        took ?? .infinity <= bound,
        "lane \(lane): \(Self.text(took)), \(had) of \(world.tokens.count) had it; alone: \(Self.text(alone))")
      campaigns.append(campaign)
      seconds.append(("\(lane)", took))
    }
    stage.addNote(seconds.map { "\($0): \(Self.text($1))" }.joined(separator: ", "))
    return campaigns
  }

  private static func text(_ seconds: Double?) -> String { seconds.map { String(format: "%.2f s", $0) } ?? "never" }

  /// Expects that `campaign show` explains why a campaign waits.
  func expectExplanation(of campaign: FaultCampaign) async throws {
    var shown = try await show(campaign)
    try? await until("campaign show explains", within: Self.explanation, every: .milliseconds(200)) {
      shown = try await show(campaign)
      return shown.object("waiting") != nil
    }
    let reason = shown.object("waiting")?.text("reason") ?? ""
    stage.expect(
      reason.contains("unreachable") || reason.contains("not answering"),
      "campaign show does not say why \(campaign.id) waits: \(shown)")
    let since = shown.object("waiting")?.text("since") ?? ""
    let range = try (Timestamp.milliseconds(shown.text("createdAt") ?? "") ?? 0)...(await world.store.time() / 1000)
    stage.expect(
      Timestamp.milliseconds(since).map(range.contains) ?? false,
      "campaign show does not say since when \(campaign.id) waits: '\(since)'")
    if !reason.isEmpty { stage.addNote("waiting: \(reason), since \(since)") }
  }

  /// Returns the output of `campaign show --json`.
  func show(_ campaign: FaultCampaign) async throws -> JSONObject {
    try JSONObject(await world.succeed("campaign", "show", campaign.id, "--json"))
  }
}
