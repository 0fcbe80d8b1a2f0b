import CampaignStore
import Foundation
import Glibc
import PushCore
import TestSupport

/// A wrong setting must not make the fleet remove devices. The cases use the standard guard, window and partitions.
enum GuardCases {
  static let all = [wrongEnvironment, gone, killed, stopped, redisKilled]

  private static let workers = 3

  /// Number of pushes that the fleet may send before the guard decides.
  private static let allowance = 2 * GuardPolicy().minimum

  /// The flaw that all devices have, and its repair.
  private enum Flood: CaseIterable {
    case otherEnvironment, gone

    /// Members of the device's JSON object in the simulator.
    var members: String {
      switch self {
      case .otherEnvironment: #""environment":"sandbox""#
      // The time is later than the registration of every device.
      case .gone: #""state":"unregistered","timestamp":\#(Int(Date.now.timeIntervalSince1970 * 1000))"#
      }
    }

    static let repaired = #""environment":"production""#

    /// Text that `campaign show` must contain.
    var words: String {
      switch self {
      case .otherEnvironment: "probably the wrong environment for app news"
      case .gone: "answers reported the device as gone"
      }
    }
  }

  // MARK: Without faults

  static let wrongEnvironment = FaultCase(
    "guard-wrong-environment", faults: ["every token of the other environment"],
    invariant:
      "pauses within 400 pushes of the fleet; no device is changed; every target gets one push after the repair",
    bound: "0"
  ) { stage in
    let world = try await world(stage, stage.times(short: 4000, full: 100_000))
    let fleet = try await Fleet(stage, world, size: workers)
    let campaigns = try await pause(stage, fleet, .otherEnvironment, "every token of the other environment")
    for campaign in campaigns.dropLast() { try await cancel(world, campaign) }
    try await repairAndEnd(stage, world, campaigns[campaigns.count - 1])
    try await stage.check(world)
  }

  static let gone = FaultCase(
    "guard-gone", faults: ["410 for every device"],
    invariant: "pauses within 400 pushes of the fleet; no device is changed until it is resumed unguarded", bound: "0"
  ) { stage in
    let world = try await world(stage, stage.times(short: 3000, full: 100_000))
    let fleet = try await Fleet(stage, world, size: workers)
    let campaigns = try await pause(stage, fleet, .gone, "410 for every device")
    for campaign in campaigns.dropLast() { try await cancel(world, campaign) }
    let last = campaigns[campaigns.count - 1]
    try await turn(world, latency: 5, streams: 1000)
    try await world.succeed("campaign", "resume", "--unguarded", last.id)
    try await world.ended(last, within: .seconds(600))
    let counters = try await world.store.campaigns.show(last.id)?.counters
    stage.require(
      counters?.pruned == world.tokens.count, "\(counters?.pruned ?? 0) pruned, although it was resumed unguarded")
    stage.require(try await world.countDevices() == 0, "a device that is gone was not removed")
    try await stage.check(world)
  }

  // MARK: With faults

  static let killed = FaultCase(
    "guard-kill", faults: ["SIGKILL during the guard trial"],
    invariant: "sends at most twice the limit; no device is changed; every target gets one push after the repair",
    bound: "window × kills"
  ) { stage in
    try await duringTrial(stage, "SIGKILL during the guard trial", duplicates: true, missing: 1) { scene in
      try await scene.fleet.killOne() ? 1 : 0
    }
  }

  /// A frozen worker keeps old answers in memory. It must discard them later, even if the devices were repaired and the
  /// campaign was resumed in the meantime.
  static let stopped = FaultCase(
    "guard-stopped", faults: ["SIGSTOP during the guard trial"],
    invariant: "sends at most twice the limit; no device is changed; every target gets one push after the repair",
    bound: "window × stops"
  ) { stage in
    try await duringTrial(stage, "SIGSTOP during the guard trial", duplicates: true, missing: 1) { scene in
      guard let asleep = stage.random(of: scene.fleet.workers) else { return 0 }
      asleep.process.send(signal: SIGSTOP)
      try await rest(scene.world, scene.campaign, missing: 1)
      if stage.random(0...1) == 0 {
        stage.addNote("woken when the campaign was paused")
      } else {
        stage.addNote("woken when the campaign was repaired and resumed")
        try await expectPaused(stage, scene, within: 2 * allowance)
        try await scene.world.setDevices(Flood.repaired)
        try await scene.world.succeed("campaign", "resume", scene.campaign.id)
      }
      asleep.process.send(signal: SIGCONT)
      return 1
    }
  }

  static let redisKilled = FaultCase(
    "guard-redis-killed", faults: ["Redis SIGKILL during the guard trial"],
    invariant: "sends at most twice the limit; no device is changed; every target gets one push after the repair",
    bound: "0"
  ) { stage in
    try await duringTrial(stage, "Redis SIGKILL during the guard trial", duplicates: false) { scene in
      try await scene.world.server.restart()
      return 1
    }
  }

  // MARK: Steps

  /// A campaign to devices with a flaw.
  private struct Scene {
    var world: FaultWorld
    var fleet: Fleet
    var campaign: FaultCampaign
    var flood: Flood
    /// Number of pushes that the simulator had received before the campaign.
    var before: Int
  }

  private static func world(_ stage: Stage, _ devices: Int) async throws -> FaultWorld {
    let world = try await stage.world {
      $0.partitions = 256
      $0.window = 1000
      $0.devices = devices
      $0.redis = ["--appendonly", "yes", "--appendfsync", "everysec"]
      $0.simulator = ["--latency", "\(stage.random(5...150))ms"]
    }
    let users = world.folder.appending(path: "users.txt")
    let names = world.tokens.indices.map { "u\($0)" }.joined(separator: "\n")
    try Data(names.utf8).write(to: users)
    try await world.succeed("segment", "import", "everyone", users.path)
    return world
  }

  /// Submits campaigns, one after another, that pause themselves. All except the last are later cancelled.
  private static func pause(
    _ stage: Stage, _ fleet: Fleet, _ flood: Flood, _ fault: String
  ) async throws -> [FaultCampaign] {
    let world = fleet.world
    var sends: [Int] = []
    var campaigns: [FaultCampaign] = []
    let rounds = stage.times(short: 1, full: 12)
    for number in 1...rounds {
      // With a long latency, more pushes are sent before the guard has enough answers. Only then does the bound matter.
      let latency = stage.random(stage.scale == .short ? 300...400 : 5...150)
      // After this campaign the workers use connections with many streams, as after a day of successful campaigns.
      if number == stage.times(short: 1, full: 7) { try await warmUp(world, latency: latency) }
      try await world.setDevices(flood.members)
      // In half of the rounds a connection has one stream until its first accepted push, as in APNs with tokens. This
      // limits the sends too, so the other rounds permit many streams.
      try await turn(world, latency: latency, streams: number.isMultiple(of: 2) ? 0 : 1000)
      let before = try world.requestCount()
      let isLast = number == rounds
      let campaign = FaultCampaign("flood-\(number)") {
        $0.audience = #"{"segment":"everyone"}"#
        if !isLast { $0.end = "cancelled" }
      }
      try await world.submit(campaign)
      try await rest(world, campaign, missing: 0)
      stage.fired(fault)
      let scene = Scene(world: world, fleet: fleet, campaign: campaign, flood: flood, before: before)
      sends.append(try await expectPaused(stage, scene, within: allowance))
      campaigns.append(campaign)
    }
    let sorted = sends.sorted()
    stage.addNote("sends until pause: min \(sorted[0]), median \(sorted[sorted.count / 2]), max \(sorted.last ?? 0)")
    return campaigns
  }

  /// Sends a campaign that succeeds on all devices.
  private static func warmUp(_ world: FaultWorld, latency: Int) async throws {
    try await world.setDevices(Flood.repaired)
    try await turn(world, latency: latency, streams: 1000)
    let campaign = try await world.submit(FaultCampaign("warm"))
    try await world.ended(campaign, within: .seconds(600))
  }

  /// - Parameter streams: stream limit of a connection; 0 for the limit that depends on accepted pushes.
  private static func turn(_ world: FaultWorld, latency: Int, streams: Int) async throws {
    try await world.simulator.set(#"{"latencyMilliseconds":\#(latency),"streamLimit":\#(streams)}"#)
  }

  private static func cancel(_ world: FaultWorld, _ campaign: FaultCampaign) async throws {
    try await world.succeed("campaign", "cancel", campaign.id)
    try await world.ended(campaign)
  }

  /// Plays a campaign to devices with a flaw, injects a fault during the guard trial, repairs the devices and waits for
  /// the end.
  ///
  /// - Parameters:
  ///   - missing: number of workers that the fault ends or freezes. Others may take over their slices.
  ///   - act: injects the fault and returns how often it fired.
  private static func duringTrial(
    _ stage: Stage, _ fault: String, duplicates: Bool, missing: Int = 0,
    _ act: @Sendable (Scene) async throws -> Int
  ) async throws {
    let world = try await world(stage, stage.times(short: 3000, full: 20_000))
    let fleet = try await Fleet(stage, world, size: workers)
    for number in 1...stage.times(short: 1, full: 5) {
      let flood = stage.random(of: Flood.allCases) ?? .gone
      try await world.setDevices(flood.members)
      // The latency is long enough for a fault during the trial.
      try await turn(world, latency: 400, streams: stage.random(0...1) * 1000)
      let before = try world.requestCount()
      let campaign = FaultCampaign("flood-\(number)") { $0.audience = #"{"segment":"everyone"}"# }
      try await world.submit(campaign)
      let caught = stage.random(1...150)
      try await until("\(caught) are sent", every: .milliseconds(5)) {
        try world.requestCount() - before >= caught
      }
      let scene = Scene(world: world, fleet: fleet, campaign: campaign, flood: flood, before: before)
      let acts = try await act(scene)
      stage.fired(fault, times: acts, duplicates: duplicates ? acts * world.options.window : 0)
      if try await world.store.campaigns.find(campaign.id)?.resumes.round == 0 {
        try await rest(world, campaign, missing: missing)
        let sent = try await expectPaused(stage, scene, within: (1 + acts) * allowance)
        stage.addNote("\(sent) sent until pause")
      }
      try await repairAndEnd(stage, world, campaign)
      try await stage.check(world)
    }
  }

  /// Waits until a campaign has paused itself and no push is in flight.
  ///
  /// - Parameter missing: workers that no longer answer. Their targets stay in doubt.
  private static func rest(_ world: FaultWorld, _ campaign: FaultCampaign, missing: Int) async throws {
    var (last, since) = (-1, ContinuousClock.now)
    try await until("campaign \(campaign.id) pauses", within: .seconds(60)) {
      guard let record = try await world.store.campaigns.show(campaign.id), record.state == .paused else {
        return false
      }
      let received = try world.requestCount()
      let isQuiet = received == last
      if !isQuiet { (last, since) = (received, .now) }
      // The other workers stop within a few of their polling intervals of 100 ms.
      return missing > 0 ? since.duration(to: .now) >= .seconds(1) : isQuiet && record.counters.inDoubt == 0
    }
  }

  /// - Returns: number of pushes before the pause.
  @discardableResult
  private static func expectPaused(
    _ stage: Stage, _ scene: Scene, within bound: Int
  ) async throws -> Int {
    let (world, campaign) = (scene.world, scene.campaign)
    let sent = try world.requestCount() - scene.before
    stage.require(sent <= bound, "\(sent) were sent before it paused; \(bound) are allowed")
    let shown = try await world.succeed("campaign", "show", campaign.id)
    stage.expect(shown.contains(scene.flood.words), "does not say why it paused: \(shown)")
    let counters = try await world.store.campaigns.show(campaign.id)?.counters
    stage.require(counters?.pruned == 0 && counters?.quarantined == 0, "devices were changed: \(counters as Any)")
    let devices = try await world.countDevices()
    stage.require(devices == world.tokens.count, "\(devices) of \(world.tokens.count) devices are left")
    return sent
  }

  /// Repairs the devices. The campaign must then reach all of them.
  private static func repairAndEnd(_ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign) async throws {
    try await world.setDevices(Flood.repaired)
    if try await world.store.campaigns.find(campaign.id)?.state == .paused {
      try await world.succeed("campaign", "resume", campaign.id)
    }
    try await world.ended(campaign, within: .seconds(600))
    let counters = try await world.store.campaigns.show(campaign.id)?.counters
    stage.require(
      counters?.outcomes == [.accepted: world.tokens.count],
      "not every target was accepted: \(counters?.outcomes ?? [:])")
    let devices = try await world.countDevices()
    stage.require(devices == world.tokens.count, "\(devices) of \(world.tokens.count) devices are left")
  }
}
