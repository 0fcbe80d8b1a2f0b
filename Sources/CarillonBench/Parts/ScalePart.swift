import CampaignStore
import CommandSupport
import EventLoop
import Foundation
import PushCore
import PushWorker
import Redis
import Synchronization

/// Hundreds of workers on a cluster that do everything except sending: claims, expansions, commits, heartbeats. The
/// part measures the cost per push on each server, and the cost of idle workers.
struct ScalePart: BenchPart {
  private static let dataServers = 3
  private static let chunk = 5000
  private static let loops = 2

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    let devices = settings.targets
    report.progress("scale: a cluster of \(Self.dataServers) and one for the shared keys, \(devices) devices")
    let cluster = try await BenchCluster.start(world, partitions: Self.dataServers)
    let loops = (0..<Self.loops).map { EventLoop(label: "scale \($0)") }
    let (store, client) = cluster.store(for: "scale", on: loops[0])
    try await store.open(creating: true)
    let registry = try await measured(cluster) { try await register(devices, settings.seed, in: store) }
    try report.add(
      Figure("scale.registry", "a device, memory of Redis", "B", value: registry.usage.memory / Double(devices)))
    var share = 0.0
    for count in settings.clients.sorted() {
      report.progress("scale: \(count) workers")
      let fleet = SimulatedFleet(count: count)
      let workers = (0..<count).map { SimulatedWorker("s\($0)", of: fleet, cluster, loops[$0 % loops.count]) }
      for worker in workers { try await worker.beat() }

      let idle = try await measured(cluster) { try await Self.idle(workers, for: settings.seconds) }
      let seconds = max(idle.seconds, 0.001)
      let id = "scale-\(count)"
      let job = Array(CampaignRun.job(id).utf8)
      let campaign = try CampaignJob.parse(job, .any([PushServices.known.standard]))
      let busy = try await measured(cluster) {
        _ = try await store.queue.activate(campaign, job: job, worker: "bench")
        try await Self.run(workers, of: fleet, campaign)
      }
      for worker in workers { await worker.close() }
      let pushes = Double(devices)
      let data = busy.usage.data.reduce(0, +)
      let all = data + busy.usage.control

      let (key, name) = ("scale.\(count)", "\(count) workers without sending")
      try report.add(
        Figure(
          "\(key).idle", "\(name): an idle one, CPU of the shared keys' server a second", "µs",
          value: idle.usage.control / seconds / Double(count)))
      try report.add(
        Figure(
          "\(key).rate", "\(name): pushes recorded a second", "/s", value: pushes / busy.seconds,
          details: ["ownMicroseconds": busy.own / pushes]))
      try report.add(
        Figure("\(key).data", "\(name): CPU of the partitions' servers a push", "µs", value: data / pushes))
      try report.add(
        Figure(
          "\(key).control", "\(name): CPU of the shared keys' server a push", "µs",
          value: busy.usage.control / pushes))
      share = busy.usage.control / all * 100
      try report.add(
        Figure(
          "\(key).memory", "\(name): memory of Redis a push, results of failures kept", "B",
          value: busy.usage.memory / pushes))
      try report.add(
        Figure(
          "\(key).network", "\(name): to and from Redis, for a push", "B",
          value: (busy.usage.received + busy.usage.sent) / pushes,
          details: ["received": busy.usage.received / pushes]))
      let waits = Latencies(milliseconds: await Self.waits(workers))
      try report.add(
        Figure(
          "\(key).beat", "\(name): a heartbeat, p99", "ms", value: waits.at(0.99), details: ["p50": waits.at(0.5)]))
    }
    try report.add(
      Figure("scale.share", "the shared keys' server with the most workers, share of the CPU of all", "%", value: share)
    )
    await client.close()
    await cluster.stop(world)
  }

  private func register(_ count: Int, _ seed: UInt64, in store: CampaignStore) async throws {
    var random = SplitMix(state: seed)
    for start in stride(from: 0, to: count, by: Self.chunk) {
      try await store.registry.register(
        (start..<min(count, start + Self.chunk)).map { number in
          let token = (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
          return DeviceRegistration(
            user: "u\(number)", device: DeviceRecord(token: token, service: PushServices.known.standard.name))
        })
    }
  }

  private struct Measurement {
    var seconds: Double
    var usage: BenchCluster.Usage
    var own: Double
  }

  private func measured(_ cluster: BenchCluster, _ body: () async throws -> Void) async throws -> Measurement {
    let (began, before, own) = (ContinuousClock.now, try await cluster.usage(), ProcessCost.ownMicroseconds())
    try await body()
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    return Measurement(
      seconds: seconds, usage: try await cluster.usage() - before, own: ProcessCost.ownMicroseconds() - own)
  }

  private static func idle(_ workers: [SimulatedWorker], for seconds: Double) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.live(until: { ContinuousClock.now >= end }) } }
      try await group.waitForAll()
    }
  }

  private static func run(_ workers: [SimulatedWorker], of fleet: SimulatedFleet, _ campaign: Campaign) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers {
        group.addTask {
          async let life: Void = worker.live(until: { fleet.hasEnded })
          try await worker.work(on: campaign)
          try await life
        }
      }
      try await group.waitForAll()
    }
  }

  private static func waits(_ workers: [SimulatedWorker]) async -> [Double] {
    var waits: [Double] = []
    for worker in workers { waits += await worker.milliseconds }
    return waits
  }
}

/// State that the workers of the fleet share.
private final class SimulatedFleet: Sendable {
  let count: Int
  private let campaignHasEnded = Atomic(false)

  init(count: Int) { self.count = count }

  var hasEnded: Bool { campaignHasEnded.load(ordering: .relaxed) }

  /// Marks the campaign as ended.
  func end() { campaignHasEnded.store(true, ordering: .relaxed) }
}

/// Simulation of a worker: it communicates with Redis like a worker, but uses no push service.
private actor SimulatedWorker {
  private static let beat = Duration.seconds(2)
  private static let lease = 6000
  /// Interval of the maintenance leader's signal. At each signal, ``PushWorker/WakeRule`` selects a few of all workers,
  /// which check for slices.
  private static let pause = Duration.milliseconds(250)
  /// Outcomes per commit.
  private static let batch = 256

  let name: String
  private let store: CampaignStore
  private let redis: RedisClient
  /// Durations of the heartbeats, in milliseconds.
  private(set) var milliseconds: [Double] = []
  private let fleet: SimulatedFleet

  init(_ name: String, of fleet: SimulatedFleet, _ cluster: BenchCluster, _ loop: EventLoop) {
    self.name = name
    self.fleet = fleet
    (store, redis) = cluster.store(for: name, on: loop)
  }

  func beat() async throws {
    let began = ContinuousClock.now
    _ = try await store.fleet.heartbeat(worker: name, timeout: Self.lease)
    milliseconds.append((ContinuousClock.now - began) / .milliseconds(1))
  }

  /// Sends heartbeats.
  func live(until isOver: @Sendable () async -> Bool) async throws {
    while await !isOver() {
      try await beat()
      try await Task.sleep(for: Self.beat)
    }
  }

  /// Takes slices until the campaign has ended. All outcomes are acceptances.
  func work(on campaign: Campaign) async throws {
    let filter = DeviceFilter(
      service: PushServices.known.standard.name, kind: .alert, app: campaign.app, environment: "production")
    while !fleet.hasEnded {
      guard let slice = try await store.slices.dequeueSlice(worker: name) else {
        repeat {
          try await Task.sleep(for: Self.pause)
        } while !fleet.hasEnded && !WakeRule.triesToTake(1, roll: .random(in: 0..<fleet.count))
        continue
      }
      let ledger = SliceLedger(store: store, slice: slice, lease: Self.lease, app: campaign.app)
      guard case .claimed = try await ledger.claim(worker: name),
        let targets = try await store.expansion.expand(ledger, of: campaign, filter: filter)
      else { continue }
      try await record(targets.count, ledger)
      if case .closed(let counters) = try await ledger.close(.finish),
        try await store.slices.finish(slice, counters: counters, lane: .normal, worker: name) != nil
      {
        fleet.end()
      }
    }
  }

  private func record(_ count: Int, _ ledger: SliceLedger) async throws {
    var (outcomes, version, granted) = (OutcomeBatch(), SliceVersion(), 0)
    while granted < count || !outcomes.isEmpty {
      let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(version), credit: Self.batch)
      let answer = try await ledger.commit(&outcomes, request)
      version = answer.version.next
      outcomes.removeAll()
      for index in granted..<answer.granted {
        outcomes.append(LedgerRecord(state: .terminal(.accepted), status: 200, at: 1), at: index)
      }
      granted = answer.granted
    }
  }

  func close() async {
    try? await store.fleet.removeWorker(name)
    await redis.close()
  }
}
