import CampaignStore
import Foundation
import PushCore
import TestSupport

/// The quota of a Firebase project in real time. `CampaignStoreTests/QuotaTests` tests the quota with a simulated
/// clock.
enum QuotaCases {
  static let all = [
    quota.measuring, lowerQuota("fcm-lower-quota", isNamed: true),
    lowerQuota("fcm-lower-quota-unnamed", isNamed: false),
  ]

  /// Environment variable with the quota in pushes per second. The default is a rate that a debug build reaches on two
  /// cores.
  private static let variable = "CARILLON_FAULT_QUOTA"

  private static let full = "a project whose whole quota is used"
  private static let lower = "a quota that is a quarter of the configured rate"

  static let quota = FaultCase(
    "fcm-quota", faults: [full],
    invariant: "after the slow start the fleet uses 98 to 100 % of the quota, and no push is refused",
    bound: "0: 429 excludes delivery"
  ) { stage in
    let given = ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    let rate = stage.times(short: 200, full: given ?? 500)
    let seconds = stage.times(short: 20, full: 120)
    let world = try await stage.world {
      $0.partitions = 64
      $0.window = 1000
      $0.devices = 1
      // During the slow start of 60 s the fleet sends as many pushes as the full quota allows in 33 s.
      $0.androidDevices = rate * (slowStart - 60 + 33 + seconds + 5)
      $0.simulator = ["--knob", "fcm.latencyMilliseconds=20", "--knob", "fcm.messagesPerMinute=\(60 * rate)"]
      $0.environment["CARILLON_APPS_NEWS_FCM_RATE"] = String(rate)
    }
    for number in 1...2 { try await world.worker("w\(number)") }
    let all = campaign("full", of: world)
    try await world.submit(all)
    try await world.ended(all, within: .seconds(900))
    try checkFull(stage, try world.simulatorLog().requests, rate: rate, seconds: seconds)
    try await expectAccepted(stage, world, all)
    stage.fired(full)
    try await stage.check(world)
  }

  /// Plays a campaign whose configured rate is four times the real quota.
  ///
  /// - Parameter isNamed: whether the answers name the quota.
  private static func lowerQuota(_ name: String, isNamed: Bool) -> FaultCase {
    FaultCase(
      name, faults: [lower],
      invariant: isNamed
        ? "every push is accepted; from the third minute on, the fleet uses most of the quota, and FCM refuses few pushes"
        : "every push is accepted; from the third minute on, the fleet uses half of the quota, and FCM refuses less than "
          + "half of the pushes",
      bound: "0: 429 excludes delivery"
    ) { stage in
      let rate = stage.times(short: 100, full: 400)
      let minutes = 5
      let world = try await stage.world {
        $0.partitions = 64
        $0.window = 1000
        $0.devices = 1
        $0.androidDevices = rate / 4 * 60 * minutes
        $0.simulator = ["--knob", "fcm.latencyMilliseconds=20", "--knob", "fcm.messagesPerMinute=\(60 * rate / 4)"]
        if !isNamed { $0.simulator += ["--knob", "fcm.omitsDetails=true"] }
        $0.environment["CARILLON_APPS_NEWS_FCM_RATE"] = String(rate)
        // With one attempt, a push would fail if its refusal counted as an attempt.
        $0.environment["CARILLON_RETRY_ATTEMPTS"] = "1"
      }
      for number in 1...2 { try await world.worker("w\(number)") }
      let all = campaign("lower", of: world)
      try await world.submit(all)
      try await world.ended(all, within: .seconds(1200))
      let refused = try checkLower(stage, try world.simulatorLog().requests, quota: rate / 4, isNamed: isNamed)
      try await expectAccepted(stage, world, all)
      if refused > 0 { stage.fired(lower) }
      try await stage.check(world)
    }
  }

  /// Checks the third and the fourth minute. The fleet learns the quota before that, in the first minute.
  ///
  /// - Returns: the number of pushes that were refused at any time.
  private static func checkLower(
    _ stage: Stage, _ requests: [SimulatorLog.Request], quota: Int, isNamed: Bool
  ) throws -> Int {
    guard let first = requests.map(\.at).min() else { throw TestSupportError("nothing was sent") }
    let times = (first + 120_000)..<(first + 240_000)
    let steady = requests.filter { times.contains($0.at) }
    let accepted = steady.count { $0.status == 200 }
    let refused = steady.count - accepted
    let (used, wasted) = (Double(accepted) / Double(quota * 120), Double(refused) / Double(max(1, steady.count)))
    let total = requests.count { $0.status == 429 }
    stage.addNote(
      "quota \(quota)/s, in the third and fourth minute: \(percent(used)) of the quota used, \(percent(wasted)) of the "
        + "pushes refused; \(total) of \(requests.count) refused in total")
    stage.expect(used >= (isNamed ? 0.9 : 0.5), "used \(percent(used)) of the quota")
    stage.expect(wasted <= (isNamed ? 0.02 : 0.5), "\(percent(wasted)) of the pushes were refused")
    return total
  }

  /// Seconds from the first push until the fleet uses the whole quota: the slow start, and the guard trial before it.
  private static let slowStart = 70

  private static func campaign(_ id: String, of world: FaultWorld) -> FaultCampaign {
    FaultCampaign(id) {
      $0.content = #""message":{"title":"Carillon","body":"It rings."}"#
      $0.more["services"] = #"["fcm"]"#
      $0.tokens = world.androidTokens
    }
  }

  private static func expectAccepted(_ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign) async throws {
    let outcomes = try await world.store.campaigns.show(campaign.id)?.counters.outcomes.filter { $0.value > 0 }
    stage.expect(outcomes.map { Set($0.keys) } == [.accepted], "campaign \(campaign.id) has \(outcomes ?? [:])")
  }

  /// Checks the requests from the end of the slow start on.
  private static func checkFull(
    _ stage: Stage, _ requests: [SimulatorLog.Request], rate: Int, seconds: Int
  ) throws {
    guard let first = requests.map(\.at).min() else { throw TestSupportError("nothing was sent") }
    let times = (first + slowStart * 1000)..<(first + (slowStart + seconds) * 1000)
    let steady = requests.filter { times.contains($0.at) }
    let share = Double(steady.count) / Double(rate * seconds)
    let refused = steady.count { $0.status == 429 }
    let total = requests.count { $0.status == 429 }
    let most = busiest(requests.map(\.at).sorted(), milliseconds: 60_000)
    stage.addNote(
      "quota \(rate)/s: \(steady.count) requests in \(seconds) s after the slow start, \(percent(share)) of the quota; "
        + "\(refused) of them refused, \(total) in total; busiest minute \(percent(Double(most) / Double(60 * rate)))")
    stage.expect(refused == 0, "\(refused) pushes exceeded the quota after the slow start")
    stage.expect(most <= 60 * rate, "\(most) requests in a minute; the quota is \(60 * rate)")
    // On a busy machine the workers may be slower than the quota.
    if stage.scale == .full { stage.expect((0.98...1).contains(share), "used \(percent(share)) of the quota") }
  }

  /// Returns the largest number of requests in any period of this length.
  private static func busiest(_ arrivals: [Int], milliseconds: Int) -> Int {
    var (first, most) = (0, 0)
    for (number, at) in arrivals.enumerated() {
      while at - arrivals[first] >= milliseconds { first += 1 }
      most = max(most, number - first + 1)
    }
    return most
  }

  private static func percent(_ share: Double) -> String { "\((share * 1000).rounded() / 10) %" }
}
