import CampaignStore
import CommandSupport
import Foundation
import PushCore
import Redis

/// Hundreds of clients that dequeue, claim and release slices of one campaign as fast as one Redis allows. The part
/// measures the cost of claims and of conflicts between clients.
struct ClaimsPart: BenchPart {
  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = BenchDevices(count: 10_000, seed: settings.seed)
    for count in settings.clients {
      report.progress("claims: \(count) clients")
      let redis = try await world.startRedis(devices)
      let job = Array(CampaignRun.job("claims").utf8)
      _ = try await redis.store.queue.activate(
        try CampaignJob.parse(job, .any([PushServices.known.standard])), job: job, worker: "bench")
      let before = (redis: ProcessCost.cpuMicroseconds(of: redis.process.id), own: ProcessCost.ownMicroseconds())
      let began = ContinuousClock.now
      let end = began + .seconds(settings.seconds)
      let tally = try await withThrowingTaskGroup(of: ClaimTally.self) { group in
        for number in 0..<count {
          group.addTask { try await ClaimClient(name: "c\(number)", redis: redis).run(until: end) }
        }
        return try await group.reduce(into: ClaimTally()) { $0 += $1 }
      }
      let seconds = (ContinuousClock.now - began) / .seconds(1)
      let claims = Double(max(tally.claimed, 1))
      let commands = try await RedisCommands(redis.client).microseconds["evalsha"] ?? 0
      let cpu = ProcessCost.cpuMicroseconds(of: redis.process.id) - before.redis
      let own = ProcessCost.ownMicroseconds() - before.own
      await world.stop(redis)

      let (key, name) = ("claims.\(count)", "\(count) clients that claim")
      let waits = Latencies(milliseconds: tally.milliseconds)
      try report.add(
        Figure(
          "\(key).rate", "\(name): claims a second", "/s", value: claims / seconds,
          details: ["ownMicroseconds": own / claims]))
      try report.add(
        Figure("\(key).busy", "\(name): Redis, share of a core", "", value: cpu / seconds / 1e6))
      try report.add(
        Figure(
          "\(key).redis", "\(name): Redis, CPU of take, claim and giving back", "µs", value: cpu / claims,
          details: ["scripts": commands / claims]))
      try report.add(
        Figure("\(key).empty", "\(name): takes that found nothing, a claim", "", value: Double(tally.empty) / claims))
      try report.add(
        Figure("\(key).held", "\(name): slices that another held, a claim", "", value: Double(tally.held) / claims))
      try report.add(
        Figure(
          "\(key).wait", "\(name): take and claim, p99", "ms", value: waits.at(0.99), details: ["p50": waits.at(0.5)]))
    }
  }
}

/// Counts of the clients.
private struct ClaimTally: Sendable {
  var claimed = 0
  /// Dequeue calls that found no slice.
  var empty = 0
  /// Dequeued slices that another client held.
  var held = 0
  /// Durations of dequeue and claim together, in milliseconds.
  var milliseconds: [Double] = []

  static func += (left: inout ClaimTally, right: ClaimTally) {
    left.claimed += right.claimed
    left.empty += right.empty
    left.held += right.held
    left.milliseconds += right.milliseconds
  }
}

/// A worker that only claims.
private struct ClaimClient {
  /// The shortest pause of an idle worker.
  private static let pause = Duration.milliseconds(20)

  let name: String
  let redis: BenchWorld.RedisProcess

  func run(until end: ContinuousClock.Instant) async throws -> ClaimTally {
    let options = RedisOptions(clientName: name, answerTimeout: .seconds(60), waitTimeout: .seconds(60))
    let client = RedisClient(url: try RedisURL(redis.address), options: options)
    let store = CampaignStore(redis: client, keys: redis.store.keys, services: .known)
    var tally = ClaimTally()
    while ContinuousClock.now < end {
      let began = ContinuousClock.now
      guard let slice = try await store.slices.dequeueSlice(worker: name) else {
        tally.empty += 1
        try await Task.sleep(for: Self.pause)
        continue
      }
      let ledger = SliceLedger(store: store, slice: slice, lease: 60_000, app: "news")
      if case .claimed = try await ledger.claim(worker: name) {
        tally.claimed += 1
        tally.milliseconds.append((ContinuousClock.now - began) / .milliseconds(1))
        try await ledger.unclaim()
      } else {
        tally.held += 1
      }
      try await store.slices.requeue(slice, lane: .normal, worker: name)
    }
    await client.close()
    return tally
  }
}
