import CampaignStore
import Foundation
import PushCore
import TestSupport

/// Trouble of one push service in the middle of a campaign for two services. The leg of the other service must end
/// within a limit that depends on its duration without the trouble.
enum LegIsolationCases {
  static let all = [dead, frozen, slow, outOfQuota, frozenAPNs]

  private static let window = 1000
  private static let workers = 2

  static let dead = trouble(
    "isolation-leg-dead", "FCM resets all connections in mid-campaign", of: "fcm",
    bound: "window × workers: the pushes in flight", duplicates: window * workers,
    on: #"{"fcm":{"isDown":true,"resetAfterRequests":1}}"#, off: #"{"fcm":{"isDown":false,"resetAfterRequests":0}}"#)

  /// A worker may give up its first connection, send its pushes again on the second one, and then give up the second
  /// one too.
  static let frozen = trouble(
    "isolation-leg-frozen", "FCM answers nothing in mid-campaign", of: "fcm",
    bound: "window × workers × 2 connections: the pushes in flight", duplicates: 2 * window * workers,
    on: #"{"fcm":{"silentAfterRequests":1}}"#, off: #"{"fcm":{"silentAfterRequests":0}}"#)

  static let slow = trouble(
    "isolation-leg-slow", "FCM answers after 2 s in mid-campaign", of: "fcm", bound: "0", duplicates: 0,
    on: #"{"fcm":{"latencyMilliseconds":2000}}"#, off: #"{"fcm":{"latencyMilliseconds":50}}"#)

  static let outOfQuota = trouble(
    "isolation-leg-quota", "FCM answers 429 for the project in mid-campaign", of: "fcm", bound: "0", duplicates: 0,
    on: #"{"fcm":{"failures":[{"share":1,"kind":"projectQuota","retryAfterSeconds":1}]}}"#,
    off: #"{"fcm":{"failures":[]}}"#)

  static let frozenAPNs = trouble(
    "isolation-leg-frozen-apns", "APNs answers nothing in mid-campaign", of: "apns",
    bound: "window × workers × 2 connections: the pushes in flight", duplicates: 2 * window * workers,
    on: #"{"silentAfterRequests":1}"#, off: #"{"silentAfterRequests":0}"#)

  private static func campaign(_ id: String, only service: String? = nil, tokens: [String]? = nil) -> FaultCampaign {
    FaultCampaign(id) {
      $0.content = #""message":{"title":"Carillon","body":"It rings."}"#
      $0.more["services"] = service.map { #"["\#($0)"]"# }
      $0.tokens = tokens
    }
  }

  /// - Parameters:
  ///   - sick: the service in trouble.
  ///   - duplicates: number of duplicates that the trouble allows.
  private static func trouble(
    _ name: String, _ fault: String, of sick: String, bound: String, duplicates: Int, on: String, off: String
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault],
      invariant: "the other leg takes as long as alone; the leg of the service in trouble continues later",
      bound: bound
    ) { stage in
      let world = try await stage.world {
        $0.partitions = stage.times(short: 64, full: 256)
        $0.window = window
        $0.devices = stage.times(short: 2000, full: 10_000)
        $0.androidDevices = $0.devices
        $0.simulator = ["--latency", "50ms", "--knob", "fcm.latencyMilliseconds=50"]
        // 20 attempts are more than any push needs while the trouble lasts.
        $0.environment["CARILLON_RETRY_ATTEMPTS"] = "20"
        $0.environment["CARILLON_RETRY_TOO_MANY_REQUESTS"] = "1s"
      }
      for number in 1...workers { try await world.worker("w\(number)") }
      let (healthy, tokens) = sick == "fcm" ? ("apns", world.tokens) : ("fcm", world.androidTokens)
      var alone = Double.infinity
      for id in ["warm", "alone", "again"] {
        let campaign = campaign(id, only: healthy, tokens: tokens)
        try await world.submit(campaign)
        try await world.ended(campaign)
        if id != "warm" { alone = min(alone, try await seconds(of: world.store.campaigns.find(id))) }
        try await stage.check(world)
      }

      let both = campaign("both")
      try await world.submit(both)
      try await world.reached(world.options.devices / 10, of: both, leg: sick)
      try await world.simulator.set(on)
      try await world.ended(both, leg: healthy)
      let took = try await seconds(of: world.leg(healthy, of: both))
      // The bound is the same as for apps: see ``IsolationScene``.
      stage.expect(took <= 3 * alone + 1.5, "leg \(healthy) took \(took) s; alone: \(alone) s")
      stage.addNote("alone: \(alone) s, beside \(sick): \(took) s")
      if try await world.leg(sick, of: both).times.finishedAt == nil { stage.fired(fault, duplicates: duplicates) }
      try await world.simulator.set(off)
      try await stage.check(world, after: both)
      for (service, tokens) in [("apns", world.tokens), ("fcm", world.androidTokens)] {
        let outcomes = try await world.leg(service, of: both).counters.outcomes.filter { $0.value > 0 }
        stage.expect(outcomes == [.accepted: tokens.count], "leg \(service) has \(outcomes)")
      }
    }
  }

  /// Returns the duration of a campaign or leg.
  private static func seconds(of record: CampaignRecord?) throws -> Double {
    guard let times = record?.times, let start = times.startedAt, let end = times.finishedAt else {
      throw TestSupportError("a campaign has no start or no end")
    }
    return Double(end - start) / 1000
  }
}
