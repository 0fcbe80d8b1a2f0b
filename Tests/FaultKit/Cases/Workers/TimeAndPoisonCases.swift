import CampaignStore
import Foundation
import Glibc
import Redis
import TestSupport

/// Scheduled campaigns, and a target that kills the worker that sends to it.
enum TimeAndPoisonCases {
  static let all = [scheduled, poison]

  static let scheduled = FaultCase(
    "scheduled",
    faults: ["eight workers racing for a scheduled campaign", "SIGKILL at the time of a scheduled campaign"],
    invariant: "it starts once and not before its time; a cancelled one never starts", bound: "window × kills"
  ) { stage in
    let world = try await stage.world {
      $0.devices = stage.times(short: 500, full: 2000)
      $0.simulator = ["--latency", "100ms"]
    }
    let fleet = try await Fleet(stage, world, size: 8)
    for number in 1...stage.times(short: 1, full: 6) {
      let inAnHour = Date(timeIntervalSinceNow: 3600).ISO8601Format()
      let campaign = FaultCampaign("later-\(number)") { $0.more["sendAt"] = "\"\(inAnHour)\"" }
      let never = FaultCampaign("never-\(number)") {
        $0.more["sendAt"] = "\"\(inAnHour)\""
        $0.end = "cancelled"
      }
      let before = try world.requestCount()
      try await world.submit(campaign)
      try await world.submit(never)
      try await until("the campaigns are scheduled") {
        let states = try await [campaign, never].asyncMap { try await world.store.campaigns.find($0.id)?.state }
        return states.allSatisfy { $0 == .scheduled }
      }
      try await world.succeed("campaign", "cancel", never.id)
      let start = Int(Date().timeIntervalSince1970 * 1000) + 3000
      for id in [campaign.id, never.id] { try await world.reschedule(id, to: start) }
      stage.fired("eight workers racing for a scheduled campaign")
      await elapse(.milliseconds(max(0, start - Int(Date().timeIntervalSince1970 * 1000) - 100)))
      for _ in 1...2 {
        if try await fleet.killOne() {
          stage.fired("SIGKILL at the time of a scheduled campaign", duplicates: world.options.window)
        }
      }
      try await world.ended(campaign)
      try await world.ended(never)
      let early = try world.simulatorLog().requests.dropFirst(before).count { $0.at < start }
      stage.expect(early == 0, "\(early) were sent before their time")
      try await stage.check(world)
    }
  }

  static let poison = FaultCase(
    "poison", faults: ["a target that kills its worker"],
    invariant: "every other target gets one push; the failing job goes to the dead list", bound: "window × deaths"
  ) { stage in
    let window = stage.times(short: 8, full: 32)
    let world = try await stage.world {
      $0.devices = stage.times(short: 200, full: 1000)
      $0.window = window
      $0.simulator = ["--latency", "50ms"]
    }
    for number in 1...stage.times(short: 1, full: 2) {
      guard let token = stage.random(of: world.tokens) else { return }
      let environment = ["CARILLON_FAULT_POISON": token]
      let fleet = try await Fleet(stage, world, size: 3, environment: environment)
      let campaign = FaultCampaign("poison-\(number)") { $0.mayBeUnknown = [token] }
      try await world.submit(campaign)
      var deaths = 0
      try await until("campaign \(campaign.id) ends", within: .seconds(240), every: .milliseconds(200)) {
        // The end is queried first. Because no worker dies after the end, the count of deaths is then complete.
        let hasEnded = try await world.hasEnded(campaign)
        let dead = try await fleet.refill(environment: environment).count
        deaths += dead
        if dead > 0 { stage.fired("a target that kills its worker", times: dead, duplicates: dead * window) }
        return hasEnded
      }
      // The bisection starts after three deaths. Then each death halves the number of suspected targets.
      stage.expect(deaths <= 5 + Int(log2(Double(window)).rounded(.up)), "it took \(deaths) deaths")
      let line = try await world.succeed("results", "show", campaign.id, "--token", token, "--json")
      stage.expect(try JSONObject(line).text("outcome") == "unknown", "the poison ended as \(line)")
      let dead = try await world.redis.command("XLEN", "{\(world.namespace)}:dead").get().integer
      stage.expect(dead == number, "the dead list has \(dead ?? 0) entries")
      try await stage.check(world)
      for worker in fleet.workers {
        stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop")
      }
    }
  }
}

extension Array {
  func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
