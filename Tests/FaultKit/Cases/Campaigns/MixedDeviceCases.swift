import CampaignStore
import Foundation
import PushCore
import TestSupport

/// A large campaign to users with Apple devices, Android devices or both, in which a worker dies. Some Android devices
/// have bad or unregistered tokens.
enum MixedDeviceCases {
  static let all = [mixed]

  private static let kill = "SIGKILL of one of three workers"
  private static let goAway = "GOAWAY of FCM after every 1,000 requests (100 in the short form)"

  /// The flaw of an Android device. A device that FCM reports as unregistered must not be removed if it has registered
  /// again after the push.
  private enum Flaw {
    case none, unregistered, unregisteredAndBack, malformed

    /// 2 % are unregistered, half of which have registered again; 1 % have a malformed token.
    init(_ number: Int) {
      switch number % 100 {
      case 7: self = .unregistered
      case 57: self = .unregisteredAndBack
      case 11: self = .malformed
      default: self = .none
      }
    }

    /// The state at FCM.
    var state: String {
      switch self {
      case .none: "registered"
      case .unregistered, .unregisteredAndBack: "unregistered"
      case .malformed: "malformed"
      }
    }
  }

  static let mixed = FaultCase(
    "legs-of-mixed-devices", faults: [kill, goAway],
    invariant: "every target of both legs has the outcome of its device; exactly the unregistered devices with an "
      + "earlier registration are removed",
    bound: "window: one worker was killed"
  ) { stage in
    let users = stage.times(short: 2000, full: 100_000)
    let window = stage.times(short: 100, full: 1000)
    // Some devices must have a registration time after their push. An import stores no time later than that of Redis'
    // clock, so this clock is an hour ahead during the import.
    let clock = try ShiftedClock(ahead: 3600)
    let launcher = try clock.launcher
    let later = Date.now.addingTimeInterval(12 * 3600).formatted(.iso8601)
    let world = try await stage.world {
      $0.partitions = stage.times(short: 16, full: 256)
      $0.window = window
      // Among the first 45 answers in the short form, five bad ones can occur by chance. The guard must permit them.
      $0.environment["CARILLON_GUARD_THRESHOLD"] = "0.5"
      $0.redis = ["--appendonly", "yes"]
      $0.redisLauncher = launcher
      // The first 40 % of the users have only Android devices, the last 40 % only an Apple device. A tenth of all users
      // has two Android devices.
      $0.devices = users * 6 / 10
      $0.row = { ("u\($0 + users * 4 / 10)", []) }
      $0.androidDevices = users * 7 / 10
      $0.androidRow = { number in
        let isBack = Flaw(number) == .unregisteredAndBack
        return ("u\(number % (users * 6 / 10))", isBack ? later : "2026-01-01T00:00:00Z")
      }
      $0.simulator =
        ["--latency", "50ms", "--knob", "fcm.latencyMilliseconds=50"]
        + ["--knob", "fcm.goAwayAfterRequests=\(stage.times(short: 100, full: 1000))"]
    }
    try await clock.shift(world.server, by: 0)
    let flaws = (0..<world.androidTokens.count).map(Flaw.init)
    let lines = zip(world.androidTokens, flaws).map { "\($0),\($1.state)\n" }
    let file = world.folder.appending(path: "android-states")
    try lines.joined().write(to: file, atomically: true, encoding: .utf8)
    try await world.simulator.load(registrationsFile: file.path)

    let workers = [try await world.worker("w1"), try await world.worker("w2"), try await world.worker("w3")]
    let campaign = FaultCampaign("mixed") { $0.content = #""message":{"title":"Carillon","body":"It rings."}"# }
    try await world.submit(campaign)
    for service in ["apns", "fcm"] { try await world.reached(users / 10, of: campaign, leg: service) }
    if let victim = stage.random(of: try await world.sending(among: workers)), await world.kill(victim) {
      stage.fired(kill, duplicates: window)
    }
    try await world.ended(campaign, within: .seconds(900))
    stage.firedByRate(goAway, times: try await world.simulator.fcmCount("", "goAways"))
    try await stage.check(world)

    func count(_ flaw: Flaw) -> Int { flaws.count { $0 == flaw } }
    let unregistered = count(.unregistered) + count(.unregisteredAndBack)
    let expected: [Outcome: Int] = [
      .accepted: count(.none), .unregistered: unregistered, .badToken: count(.malformed),
    ]
    let leg = try await world.leg("fcm", of: campaign).counters
    stage.expect(leg.outcomes.filter { $0.value > 0 } == expected, "leg fcm has \(leg.outcomes), not \(expected)")
    stage.expect(
      leg.pruned == count(.unregistered) && leg.quarantined == count(.malformed),
      "\(leg.pruned) pruned, \(leg.quarantined) quarantined")
    let apple = try await world.leg("apns", of: campaign).counters.outcomes.filter { $0.value > 0 }
    stage.expect(apple == [.accepted: world.tokens.count], "leg apns has \(apple)")

    // The export contains no devices in quarantine.
    let left = try await tokensOfDevices(world)
    let kept = zip(world.androidTokens, flaws).filter { $1 == .none || $1 == .unregisteredAndBack }.map(\.0)
    let difference = left.symmetricDifference(world.tokens + kept)
    let examples = difference.sorted().prefix(3)
    stage.expect(difference.isEmpty, "\(difference.count) devices are wrongly there or gone: \(examples)")
    let seconds = try await world.store.campaigns.find(campaign.id).flatMap { record -> Double? in
      guard let start = record.times.startedAt, let end = record.times.finishedAt else { return nil }
      return Double(end - start) / 1000
    }
    stage.addNote("\(world.tokens.count + world.androidTokens.count) targets in \(seconds ?? 0) s")
  }

  /// Returns the tokens of all devices that are not in quarantine.
  private static func tokensOfDevices(_ world: FaultWorld) async throws -> Set<String> {
    let lines = try await world.succeed("devices", "export").split(whereSeparator: \.isNewline)
    guard let column = lines.first?.split(separator: ",", omittingEmptySubsequences: false).firstIndex(of: "token")
    else { throw TestSupportError("the export of devices has no column token") }
    return Set(
      lines.dropFirst().map { String($0.split(separator: ",", omittingEmptySubsequences: false)[column]) })
  }
}
