import CampaignStore
import PushCore
import TestSupport

/// Campaigns to Apple and Android devices while workers, FCM or Google's token endpoint are in trouble. Every user has
/// a device of each kind. Neither leg loses a target, and the leg of APNs does not wait for FCM.
enum LegCases {
  static let all = [
    killed, controlled, credential, tokenEndpoint, tokensExpired, unavailable, projectQuota, goAway, streamReset,
  ]

  private static let window = 50
  private static let workers = 3

  /// - Parameter knobs: knobs of the simulator from its start.
  private static func world(_ stage: Stage, _ knobs: [String] = []) async throws -> FaultWorld {
    try await stage.world {
      $0.window = window
      $0.devices = stage.times(short: 400, full: 2000)
      $0.androidDevices = $0.devices
      $0.simulator =
        ["--latency", "100ms"] + (["fcm.latencyMilliseconds=100"] + knobs).flatMap { ["--knob", $0] }
      // With the small window of this world the guard decides after 25 answers. With the default threshold it would
      // pause the campaign for three bad tokens.
      $0.environment["CARILLON_GUARD_THRESHOLD"] = "0.5"
    }
  }

  private static func campaign(_ id: String, rate: Int? = nil) -> FaultCampaign {
    FaultCampaign(id) {
      $0.content = #""message":{"title":"Carillon","body":"It rings."}"#
      $0.more["rate"] = rate.map(String.init)
    }
  }

  /// Records a violation unless every device of the world was accepted.
  private static func expectAccepted(_ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign) async throws {
    for (service, tokens) in [("apns", world.tokens), ("fcm", world.androidTokens)] {
      let outcomes = try await world.leg(service, of: campaign).counters.outcomes.filter { $0.value > 0 }
      stage.expect(outcomes == [.accepted: tokens.count], "leg \(service) of \(campaign.id) has \(outcomes)")
    }
  }

  // MARK: Workers

  static let killed = FaultCase(
    "legs-and-kill", faults: ["SIGKILL while both legs are sent", "GOAWAY of FCM after every few requests"],
    invariant: "every target of both legs has the outcome of its device", bound: "window × kills"
  ) { stage in
    let world = try await world(stage, ["fcm.goAwayAfterRequests=\(stage.times(short: 40, full: 200))"])
    let lines = world.androidTokens.enumerated().map { number, token in
      token + (number % 50 == 7 ? ",unregistered" : number % 100 == 11 ? ",malformed" : ",registered")
    }
    try await world.simulator.load(registrations: lines)
    let fleet = try await Fleet(stage, world, size: workers)
    let campaign = try await world.submit(campaign("legs"), reaching: 20)
    var left = stage.times(short: 2, full: 12)
    while left > 0, try await !world.hasEnded(campaign) {
      if try await fleet.killOne() { stage.fired("SIGKILL while both legs are sent", duplicates: window) }
      left -= 1
      await stage.elapse(milliseconds: 100...500)
    }
    try await stage.check(world, after: campaign)
    let count = world.androidTokens.count
    let (gone, bad) = (count / 50, count / 100)
    let leg = try await world.leg("fcm", of: campaign).counters
    let expected: [Outcome: Int] = [.accepted: count - gone - bad, .unregistered: gone, .badToken: bad]
    stage.expect(leg.outcomes.filter { $0.value > 0 } == expected, "leg fcm has \(leg.outcomes), not \(expected)")
    stage.expect(leg.pruned == gone && leg.quarantined == bad, "\(leg.pruned) pruned, \(leg.quarantined) quarantined")
    stage.firedByRate(
      "GOAWAY of FCM after every few requests", times: try await world.simulator.fcmCount("", "goAways"))
    let apple = try await world.leg("apns", of: campaign).counters.outcomes.filter { $0.value > 0 }
    stage.expect(apple == [.accepted: world.tokens.count], "leg apns has \(apple)")
  }

  /// Workers die around a pause, a resume and a cancel. Each command reaches both legs.
  static let controlled = FaultCase(
    "legs-and-control", faults: ["SIGKILL around commands to a campaign with legs"],
    invariant: "a command reaches both legs; nothing is sent during the pause and after the cancel",
    bound: "window × kills"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: workers)
    var campaign = campaign("controlled", rate: stage.times(short: 60, full: 200))
    campaign.end = "cancelled"
    func kill() async throws {
      if try await fleet.killOne() {
        stage.fired("SIGKILL around commands to a campaign with legs", duplicates: window)
      }
    }
    func command(_ verb: String, leaves state: CampaignState) async throws {
      try await kill()
      try await world.succeed("campaign", verb, campaign.id)
      try await kill()
      let record = try await world.store.campaigns.find(campaign.id)
      let states = [record?.state] + (record?.parts.map(\.state) ?? [])
      stage.require(states == [state, state, state], "after the \(verb) the campaign and its legs are \(states)")
    }
    func expectSilence(_ when: String) async throws {
      // Pushes in flight take 100 ms.
      await stage.elapse(milliseconds: 500...700)
      let sent = try world.requestCount()
      await stage.elapse(milliseconds: 1500...2000)
      let more = try world.requestCount() - sent
      stage.require(more == 0, "\(more) pushes were sent \(when)")
    }
    campaign = try await world.submit(campaign, reaching: 20)
    try await command("pause", leaves: .paused)
    try await expectSilence("after the pause")
    let recorded = try await world.recorded(of: campaign)
    try await command("resume", leaves: .active)
    for service in ["apns", "fcm"] {
      try await world.reached(20, of: campaign, leg: service)
    }
    try await world.reached(recorded + 20, of: campaign)
    try await command("cancel", leaves: .cancelled)
    try await world.ended(campaign)
    try await expectSilence("after the cancel")
    for service in ["apns", "fcm"] {
      let counters = try await world.leg(service, of: campaign).counters
      stage.require(counters.outcomes[.cancelled] ?? 0 > 0, "leg \(service) has \(counters.outcomes)")
    }
    try await stage.check(world)
  }

  // MARK: Credentials

  static let credential = FaultCase(
    "fcm-credential-revoked", faults: ["service account key revoked in mid-campaign, then replaced"],
    invariant: "an alarm names the cause; after the replacement and a resume every target is accepted", bound: "0"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await Fleet(stage, world, size: workers)
    let campaign = try await world.submit(campaign("revoked", rate: stage.times(short: 200, full: 600)))
    try await world.reached(50, of: campaign, leg: "fcm")
    let key = try world.serviceAccountKey()
    try await world.simulator.set(#"{"fcm":{"revokedKeys":["\#(key)"]}}"#)
    try await world.simulator.endAccessTokens("revoke")
    try await until("an alarm names the credential") {
      try await world.store.fleet.snapshot(lease: 6000).alarms().contains { $0.kind == .credentialStopped }
    }
    try await until("the leg of FCM pauses") { try await world.leg("fcm", of: campaign).state == .paused }
    try await world.ended(campaign, leg: "apns")
    let accepted = try await world.leg("fcm", of: campaign).counters.outcomes[.accepted] ?? 0
    stage.expect(accepted < world.androidTokens.count, "all pushes were accepted before the key was revoked")
    stage.fired("service account key revoked in mid-campaign, then replaced")

    try await world.simulator.set(#"{"fcm":{"revokedKeys":[]}}"#)
    try world.replaceServiceAccount()
    try await until("the alarm ends") {
      try await !world.store.fleet.snapshot(lease: 6000).alarms().contains { $0.kind == .credentialStopped }
    }
    try await world.succeed("campaign", "resume", campaign.id)
    try await stage.check(world, after: campaign)
    try await expectAccepted(stage, world, campaign)
    stage.expect(fleet.workers.allSatisfy { $0.process.exit == nil }, "a worker did not survive the fault")
  }

  /// The access token expires while the token endpoint is down. So pushes to FCM wait unsent, and an alarm names the
  /// cause.
  static let tokenEndpoint = FaultCase(
    "fcm-token-endpoint-down", faults: ["token endpoint down for longer than a token lives"],
    invariant: "the leg of APNs ends during this time; the leg of FCM continues without help", bound: "0"
  ) { stage in
    let world = try await world(stage, ["fcm.accessTokenSeconds=3"])
    _ = try await Fleet(stage, world, size: workers)
    let campaign = try await world.submit(campaign("endpoint", rate: stage.times(short: 100, full: 400)))
    try await world.reached(20, of: campaign, leg: "fcm")
    try await world.simulator.set(#"{"fcm":{"tokenEndpointIsDown":true}}"#)
    try await until("an alarm names the token endpoint") {
      try await world.store.fleet.snapshot(lease: 6000).alarms().contains {
        $0.kind == .credentialStopped && $0.text.contains("can't be reached")
      }
    }
    try await world.ended(campaign, leg: "apns")
    let leg = try await world.leg("fcm", of: campaign)
    stage.expect(leg.state == .active, "the leg of FCM is \(leg.state)")
    let isStuck = leg.times.finishedAt == nil
    if isStuck { stage.fired("token endpoint down for longer than a token lives") }
    try await world.simulator.set(#"{"fcm":{"tokenEndpointIsDown":false}}"#)
    try await stage.check(world, after: campaign)
    try await expectAccepted(stage, world, campaign)
  }

  static let tokensExpired = FaultCase(
    "fcm-tokens-expired", faults: ["access tokens expired in mid-campaign"],
    invariant: "workers get new tokens immediately; every target is accepted", bound: "0: 401 excludes delivery"
  ) { stage in
    let world = try await world(stage)
    _ = try await Fleet(stage, world, size: workers)
    let campaign = try await world.submit(campaign("expired", rate: stage.times(short: 200, full: 600)))
    try await world.reached(50, of: campaign, leg: "fcm")
    try await world.simulator.endAccessTokens("expire")
    try await stage.check(world, after: campaign)
    let refused = try await world.simulator.fcmCount("errors", "ACCESS_TOKEN_EXPIRED")
    stage.firedByRate("access tokens expired in mid-campaign", times: refused)
    try await expectAccepted(stage, world, campaign)
  }

  // MARK: Answers

  /// Sends a campaign while FCM is in trouble, and ends the trouble after the leg of APNs has ended.
  ///
  /// - Parameters:
  ///   - first: number of outcomes of FCM's leg after which the trouble begins; 0 for trouble from the start.
  ///   - counter: group and name of the counter in which the simulator counts the trouble.
  ///   - allowed: number of duplicates that each counted event allows.
  private static func trouble(
    _ name: String, _ fault: String, invariant: String, bound: String, on: String, off: String, from first: Int,
    counter: (String, String), allowed: Int = 0
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let world = try await world(stage)
      let fleet = try await Fleet(stage, world, size: workers)
      let campaign = campaign("trouble")
      if first == 0 { try await world.simulator.set(on) }
      try await world.submit(campaign)
      if first > 0 {
        try await world.reached(first, of: campaign, leg: "fcm")
        try await world.simulator.set(on)
      }
      try await until("\(fault) has fired") {
        if try await world.simulator.fcmCount(counter.0, counter.1) > 0 { return true }
        return try await world.hasEnded(campaign)
      }
      try await world.ended(campaign, leg: "apns")
      try await world.simulator.set(off)
      try await world.ended(campaign)
      let times = try await world.simulator.fcmCount(counter.0, counter.1)
      stage.firedByRate(fault, times: times, duplicates: times * allowed)
      try await stage.check(world)
      try await expectAccepted(stage, world, campaign)
      stage.expect(fleet.workers.allSatisfy { $0.process.exit == nil }, "a worker did not survive the fault")
    }
  }

  static let unavailable = trouble(
    "fcm-503", "503 of FCM for everything, for seconds",
    invariant: "the leg of APNs ends first; every target is retried and accepted",
    bound: "0: 503 says that nothing was delivered", on: #"{"fcm":{"failures":[{"share":1,"kind":"unavailable"}]}}"#,
    off: #"{"fcm":{"failures":[]}}"#, from: 50, counter: ("errors", "UNAVAILABLE"))

  static let projectQuota = trouble(
    "fcm-429", "429 of the project for everything, for seconds",
    invariant: "the leg of APNs ends first; every target is retried and accepted, and no attempt counts",
    bound: "0: 429 says that nothing was delivered",
    on: #"{"fcm":{"failures":[{"share":1,"kind":"projectQuota","retryAfterSeconds":1}]}}"#,
    off: #"{"fcm":{"failures":[]}}"#, from: 50, counter: ("errors", "RATE_LIMIT_EXCEEDED"))

  static let goAway = trouble(
    "fcm-goaway", "GOAWAY of FCM below requests in flight",
    invariant: "sent again; processed pushes are still answered",
    bound: "10 × GOAWAYs: requests that were received and called unprocessed",
    on: #"{"fcm":{"goAwayAfterRequests":60,"goAwayUnprocessed":10}}"#,
    off: #"{"fcm":{"goAwayAfterRequests":0,"goAwayUnprocessed":0}}"#, from: 0, counter: ("", "goAways"), allowed: 10)

  static let streamReset = trouble(
    "fcm-stream-reset", "RST_STREAM of FCM after the body, 5 %",
    invariant: "in doubt: sent again after 10 s", bound: "streams reset", on: #"{"fcm":{"resetShare":0.05}}"#,
    off: #"{"fcm":{"resetShare":0}}"#, from: 0, counter: ("faults", "resetShare"), allowed: 1)
}

extension SimulatorProcess {
  /// Returns a counter of the simulator's FCM part.
  ///
  /// - Parameter group: the JSON object that contains the counter; empty for the outermost object.
  func fcmCount(_ group: String, _ name: String) async throws -> Int {
    let fcm = try await counters().object("fcm")
    return (group.isEmpty ? fcm : fcm?.object(group))?.number(name) ?? 0
  }
}
