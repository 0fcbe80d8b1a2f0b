import APNs
import CampaignStore
import Foundation
import Glibc
import PushCore
import TestSupport

/// A slow campaign during which users opt out, unregister, lose their devices to others and are erased, while workers
/// and Redis die. After a departure, the user gets only pushes that were granted before it.
enum DepartureCases {
  static let all = [killed, stopped, redisKilled]

  private static let window = 50
  /// Time in ms after a departure in which pushes may still arrive that were granted before it. A worker may have
  /// granted a whole window, and a push takes 150 ms.
  private static let slack = 3000

  private static let invariant = "no target gets a push granted after its departure; every other target gets one"

  /// Departed users with the times of their departure.
  private struct Departures {
    let world: FaultWorld
    /// Time of the recorded departure in ms since the epoch, by the number of the device.
    private(set) var times: [Int: Int] = [:]

    init(_ world: FaultWorld) { self.world = world }

    /// Makes three random users depart in each of the four ways.
    mutating func add(_ stage: Stage) async throws {
      for kind in 0..<12 {
        let left = world.tokens.indices.filter { times[$0] == nil }
        guard let number = stage.random(of: left), let token = APNsService().token(world.tokens[number]) else { return }
        let now = Int(Date().timeIntervalSince1970 * 1000)
        switch kind % 4 {
        case 0: try await world.store.audiences.add(["u\(number)"], to: "~news")
        case 1:
          _ = try await world.store.registry.unregister([token], of: APNsService(), at: now)
        case 2:
          world.recordErased(world.tokens[number])
          _ = try await world.store.erasure.erase("u\(number)")
        default:
          var device = DeviceRecord(token: token.bytes, service: "apns")
          device.app = "news"
          device.registeredAt = UInt64(now)
          _ = try await world.store.registry.register([DeviceRegistration(user: "heir\(number)", device: device)])
        }
        times[number] = Int(Date().timeIntervalSince1970 * 1000)
      }
    }

    /// Compares the sent pushes and the recorded outcomes with the departure times.
    func check(_ campaign: FaultCampaign, _ stage: Stage) async throws {
      let numbers = Dictionary(uniqueKeysWithValues: world.tokens.enumerated().map { ($1, $0) })
      var withheld = 0
      var left = Set(numbers.values).subtracting(times.keys)
      for request in try world.simulatorLog().requests {
        guard let number = numbers[request.token], let time = times[number] else { continue }
        stage.require(
          request.at <= time + DepartureCases.slack,
          "sent to device \(number) \(request.at - time) ms after it was gone")
      }
      let csv = try await world.succeed("results", "export", campaign.id, "--format", "csv")
      for result in try ExportedResult.all(in: csv) {
        guard let number = numbers[result.token] else { continue }
        left.remove(number)
        let isGone = result.outcome == "optedOut" || result.outcome == "deviceGone"
        withheld += isGone ? 1 : 0
        stage.require(
          result.outcome == "accepted" || times[number] != nil && (isGone || result.outcome == "unknown"),
          "device \(number) ended as \(result.outcome)")
      }
      stage.require(left.isEmpty, "\(left.count) devices of users who did not depart are missing")
      stage.require(withheld > 0, "no user departed before the grant")
      stage.addNote("\(times.count) departed, \(withheld) of them before the grant")
    }
  }

  private static func departures(
    _ name: String, fault: String, bound: String, redis: [String] = [], pace: ClosedRange<Int>,
    _ act: @escaping @Sendable (Stage, FaultWorld, Fleet) async throws -> Int?
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let world = try await stage.world {
        $0.partitions = 8
        $0.window = window
        $0.devices = stage.times(short: 500, full: 2000)
        $0.simulator = ["--latency", "150ms"]
        $0.row = { ("u\($0)", []) }
        $0.redis = redis
      }
      let tokens = Set(world.tokens)
      // The audience is a list of users. With `*`, users who take over a device of another user would also be targets.
      let users = world.tokens.indices.map { "\"u\($0)\"" }.joined(separator: ",")
      let campaign = FaultCampaign("slow") {
        $0.audience = "{\"users\":[\(users)]}"
        $0.more["rate"] = "\(stage.times(short: 40, full: 60))"
        $0.mayBeUnknown = tokens
        $0.mayBeLeftOut = tokens
      }
      let fleet = try await Fleet(stage, world, size: 3)
      try await world.submit(campaign)
      try await world.reached(20, of: campaign)
      var departures = Departures(world)
      var left = stage.times(short: 4, full: 14)
      while left > 0, try await !world.hasEnded(campaign) {
        try await departures.add(stage)
        if let duplicates = try await act(stage, world, fleet) { stage.fired(fault, duplicates: duplicates) }
        left -= 1
        await stage.elapse(milliseconds: pace)
      }
      try await stage.check(world, after: campaign)
      try await departures.check(campaign, stage)
    }
  }

  static let killed = departures(
    "departures-and-kill", fault: "SIGKILL while users depart", bound: "window × kills", pace: 800...2000
  ) { _, _, fleet in
    try await fleet.killOne() ? window : nil
  }

  static let stopped = departures(
    "departures-and-stop", fault: "SIGSTOP beyond the lease while users depart", bound: "window × stops",
    pace: 500...1500
  ) { stage, world, fleet in
    guard let sleeper = try await world.sending(among: fleet.workers.shuffled(by: stage)).first else { return nil }
    sleeper.process.send(signal: SIGSTOP)
    await elapse(.milliseconds(StandstillCases.lease + 1500))
    sleeper.process.send(signal: SIGCONT)
    return sleeper.window
  }

  /// Redis syncs every write, so a departure that was recorded before the kill exists after it.
  static let redisKilled = departures(
    "departures-and-redis-killed", fault: "Redis SIGKILL with AOF always while users depart",
    bound: "0: no worker died", redis: ["--appendonly", "yes", "--appendfsync", "always"], pace: 1500...3000
  ) { _, world, _ in
    try await world.server.restart()
    return 0
  }
}
