import APNs
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import Redis

/// A campaign whose sealed targets wait for their send time. Before that time, one user in a hundred opts out, logs
/// out, loses a device to another user, or is erased. The part measures the cost of checking each target and verifies
/// the outcomes.
struct DeparturesPart: BenchPart {
  /// One user in this number departs.
  private static let share = 100
  /// Time in seconds until the campaign's send time. Expansion and departures must end before that time.
  private static let leadTime = 6.0
  private static let interval = Duration.milliseconds(20)

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: settings.targets, seed: settings.seed)
    var rates: [Bool: [Double]] = [:]
    for round in 0..<settings.rounds {
      for departs in [false, true] {
        report.progress("departures: \(departs ? "1 %" : "none"), round \(round + 1) of \(settings.rounds)")
        rates[departs, default: []].append(try await run(devices, departs: departs, world))
      }
    }
    let name = "\(devices.count.grouped) targets that waited"
    try report.add(
      Figure("departures.none", "\(name), no user departed: targets a second", "/s", samples: rates[false] ?? []))
    try report.add(
      Figure(
        "departures.some", "\(name), 1 % of the users departed: targets a second", "/s", samples: rates[true] ?? []))
    let ratios = zip(rates[true] ?? [], rates[false] ?? []).map { $0 / $1 }
    try report.add(Figure("departures.ratio", "the second rate / the first", "", samples: ratios))
  }

  /// - Returns: targets per second, from the time of the campaign to its end.
  private func run(_ devices: BenchDevices, departs: Bool, _ world: BenchWorld) async throws -> Double {
    let redis = try await world.startRedis(devices)
    let simulator = try await world.startSimulator()
    let worker = try await world.startWorker(
      "w", simulator, redis, environment: ["CARILLON_WORKER_ENGINE": "native"])
    let store = redis.store
    // The send time is a whole second, like local times.
    let delay = Self.leadTime * max(1, Double(devices.count) / 100_000)
    let due = (WallClock.now + delay).rounded(.up)
    var job = CampaignRun.job("campaign")
    job.removeLast()
    job += #","sendAt":"\#(WallTime.format(Int(due)))","localTime":true}"#
    _ = try await redis.client.command("LPUSH", store.keys.campaigns, job)
    try await wait(for: worker) {
      try await store.campaigns.show("campaign")?.counters.later == devices.count
    }
    let departed = departs ? try await removeUsers(devices, store) : [:]
    guard WallClock.now < due else {
      throw CommandError(.failed, "expansion and departures took longer than \(delay) s", hint: "measure fewer targets")
    }
    try await wait(for: worker) { try await store.campaigns.find("campaign")?.state != .active }
    guard let campaign = try await store.campaigns.find("campaign"), campaign.state == .completed,
      let end = campaign.times.finishedAt
    else { throw CommandError(.failed, "the campaign did not complete") }
    var wrong = 0
    try await store.results.forEachResult(of: "campaign") { page in
      // An erased target has no user.
      wrong += page.count { $0.outcome != ($0.token == nil ? .deviceGone : departed[$0.user] ?? .accepted) }
      return true
    }
    guard wrong == 0 else { throw CommandError(.failed, "\(wrong) targets have another outcome than they should") }
    await world.stop(worker)
    await world.stop(simulator.process)
    await world.stop(redis)
    return Double(devices.count) / (Double(end) / 1000 - due)
  }

  private func wait(for worker: BenchProcess, _ condition: () async throws -> Bool) async throws {
    while try await !condition() {
      guard worker.poll() == nil else { throw CommandError(.failed, "the worker ended while a campaign ran") }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// Removes users in four ways.
  ///
  /// - Returns: the expected outcomes of their targets.
  private func removeUsers(_ devices: BenchDevices, _ store: CampaignStore) async throws -> [String: Outcome] {
    let users = stride(from: 0, to: devices.users, by: Self.share).map { "u\($0)" }
    let groups = (0..<4).map { group in users.indices.filter { $0 % 4 == group }.map { users[$0] } }
    try await store.audiences.add(groups[0], to: SuppressionList(app: "news").segment)
    let now = try await store.time() / 1000
    for user in groups[1] {
      let tokens = try await store.registry.user(user)?.devices.compactMap { DeviceToken(bytes: $0.token) } ?? []
      _ = try await store.registry.unregister(tokens, of: APNsService(), at: now)
    }
    var moved: [DeviceRegistration] = []
    for user in groups[2] {
      for var device in try await store.registry.user(user)?.devices ?? [] {
        device.registeredAt = UInt64(now)
        moved.append(DeviceRegistration(user: "other-" + user, device: device))
      }
    }
    try await store.registry.register(moved)
    for user in groups[3] { _ = try await store.erasure.erase(user) }
    var outcomes: [String: Outcome] = [:]
    for user in groups[0] { outcomes[user] = .optedOut }
    for user in groups[1...].joined() { outcomes[user] = .deviceGone }
    return outcomes
  }
}
