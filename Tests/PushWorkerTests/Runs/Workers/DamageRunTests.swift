import PushTransport
@testable import CampaignStore
import Foundation
import PushCore
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Damaged values in Redis. The worker isolates them, sends every other campaign, and stops as quickly as without
/// damage.
@Suite(.takesTurns) struct DamageRunTests {
  /// Runs a campaign `bad` to all users, which is taken in and not begun, and then `good`, after some keys were
  /// damaged.
  ///
  /// - Parameters:
  ///   - damage: damages keys; gets the rig and a client.
  ///   - check: the checks after `good` is sent, the worker has stopped, and another worker has done the rest.
  private func run(
    _ engine: PushEngineKind, damage: (WorkerRig, RedisClient) async throws -> Void,
    check: (WorkerRig, EventLog) async throws -> Void
  ) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4, users: 100)
    try await activate("bad", rig)
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    try await activate("good", rig)
    try await damage(rig, client)
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    let running = Task { try await worker.run() }
    try await rig.until { try await rig.store.campaigns.find("good")?.state == .completed }
    expect(try await rig.results("good").count, is: 100)
    let stopping = ContinuousClock.now
    // The deadline is a hundred times that of a real stop, so it must not end this run.
    await worker.stop(within: 2000)
    try await running.value
    expect(ContinuousClock.now - stopping < .seconds(60), "\(log.all)")
    try await rig.worker("last", log: log).run()
    try await check(rig, log)
    await client.close()
  }

  private func activate(_ id: String, _ rig: WorkerRig) async throws {
    let job = Array(
      #"{"id":"\#(id)","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#.utf8)
    let apps = JobApps.known(["news": [rig.channel.services[0].service]])
    _ = try await rig.store.queue.activate(CampaignJob.parse(job, apps), job: job, worker: "producer")
  }

  private func reasons(_ rig: WorkerRig) async throws -> [String] {
    var reasons: [String] = []
    try await rig.store.queue.forEachDeadJob { reasons.append($0.reason) }
    return reasons
  }

  /// Each key of a slice as another type. The worker isolates the slice with the reason and sends the others.
  @Test(arguments: ["slice", "targets", "ledger", "retry", "results", "reasons"])
  func sliceWithAKeyOfAnotherTypeIsIsolated(kind: String) async throws {
    try await run(["slice", "ledger", "results"].contains(kind) ? .native : .curl) { rig, client in
      let key = "{\(rig.keys.namespace):1}:\(kind):bad"
      if kind == "ledger" {
        _ = try await client.command("RPUSH", key, "x").get()
      } else {
        _ = try await client.command("SET", key, "x").get()
      }
    } check: { rig, log in
      // A damaged key that is neither read nor written has no effect.
      if ["retry", "results", "reasons", "targets"].contains(kind), try await reasons(rig).isEmpty { return }
      let types = ["targets": "list", "ledger": "string", "retry": "zset"]
      let expected =
        "slice 1:bad was isolated: the key {\(rig.keys.namespace):1}:\(kind):bad has type "
        + "\(kind == "ledger" ? "list" : "string"), expected \(types[kind] ?? "hash")"
      expect(try await reasons(rig), is: [expected], "\(log.all)")
    }
  }

  @Test(arguments: [
    ("count", "4294967296"), ("count", "9223372036854775807"), ("count", "-9223372036854775808"), ("granted", "1e308"),
    ("doubt", "x"), ("phase", "nan"), ("seq", "1e308"),
  ])
  func sliceWithACorruptValueIsIsolated(field: String, value: String) async throws {
    try await run(field == "count" ? .native : .curl) { rig, client in
      let key = "{\(rig.keys.namespace):1}:slice:bad"
      let format = TargetPage.formatVersion
      _ = try await client.command("HSET", key, "phase", "sealed", "count", 1, "format", format, field, value).get()
    } check: { rig, log in
      let reasons = try await reasons(rig)
      expect(reasons.count == 1 && reasons[0].hasPrefix("slice 1:bad was isolated: the field "), "\(log.all)")
      let record = try #require(try await rig.store.campaigns.find("bad"))
      expect(
        record.state == .failed && (record.slices.finished, record.slices.total) == (4, 4)
          && record.reason == reasons[0])
    }
  }

  @Test func campaignWithACorruptValueIsIsolated() async throws {
    try await run(.native) { rig, client in
      _ = try await client.command("HSET", "{\(rig.keys.namespace)}:campaign:bad", "slices", "1e308").get()
    } check: { rig, log in
      let reasons = try await reasons(rig)
      expect(reasons.count == 1 && reasons[0].hasPrefix("campaign bad was isolated: the field slices "), "\(log.all)")
    }
  }

  /// Lists that the worker rebuilds. This costs only time.
  ///
  /// The short form has one list each of intake, slices, fleet and maintenance leader.
  @Test(
    arguments: TestForm.isLong
      ? [
        "campaigns", "open:bad", "parked", "lane:normal", "processing:w", "schedule", "ended", "workers", "applied",
        "epoch", "instances", "housekeeper", "housekeeping",
      ] : ["campaigns", "open:bad", "workers", "housekeeping"])
  func listOfAnotherTypeIsRebuilt(name: String) async throws {
    try await run(["parked", "open:bad", "workers", "epoch"].contains(name) ? .native : .curl) { rig, client in
      let key = "{\(rig.keys.namespace)}:\(name)"
      _ = try await client.command("DEL", key).get()
      _ = try await client.command("SET", key, "x").get()
    } check: { rig, log in
      let (reasons, state) = (try await reasons(rig), try await rig.store.campaigns.find("bad")?.state)
      expect(reasons.isEmpty && state == .completed, "\(log.all)")
    }
  }

  /// A damaged partition does not stop the leader's other tasks. Here the task finds a lost slice.
  @Test func damagedPartitionDoesNotStopOtherTasks() async throws {
    try await run(.native) { rig, client in
      let namespace = rig.keys.namespace
      _ = try await client.command("SET", "{\(namespace):0}:moving", "x").get()
      _ = try await client.command("DEL", "{\(namespace)}:open:bad").get()
    } check: { rig, log in
      let state = try await rig.store.campaigns.find("bad")?.state
      expect(state, is: .completed, "\(log.all)")
    }
  }

  /// An event about a damaged partition goes to the dead list, and later events are applied.
  @Test func eventWithDamageDoesNotDelayOthers() async throws {
    let rig = try await WorkerRig(engine: .curl, partitions: 2)
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    let users = (0..<20).map { "u\($0)" }
    let damaged = users.filter { Partition.of(user: $0, count: 2) == 1 }
    _ = try await client.command("SET", "{\(rig.keys.namespace):1}:devices", "x").get()
    try await rig.push(
      events: users.enumerated().map {
        #"{"op":"register","user":"\#($1)","token":"\#(WorkerRig.text($0))","app":"news"}"#
      })
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.registry.events(on: .registrations).events.isEmpty }
    await worker.stop()
    try await running
    var dead: [DeadJob] = []
    try await rig.store.queue.forEachDeadJob { dead.append($0) }
    expect(dead.count, is: damaged.count, "\(dead.map(\.reason)) \(log.all)")
    for job in dead {
      expect(job.reason.contains("{\(rig.keys.namespace):1}:devices") && job.list == .registrations)
    }
    for user in users where !damaged.contains(user) {
      expect(try await rig.store.registry.user(user)?.devices.count, is: 1, "\(log.all)")
    }
    await client.close()
  }

  /// A job with a damaged key for its id or its audience goes to the dead list, and the next job is taken in.
  @Test(arguments: ["job:next", "campaign:next", "audience:next"])
  func jobWithDamageDoesNotDelayOthers(name: String) async throws {
    let rig = try await WorkerRig(engine: .curl, partitions: 1, users: 3)
    let key = name != "audience:next" ? "{\(rig.keys.namespace)}:\(name)" : "{\(rig.keys.namespace):0}:\(name)"
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    _ = try await client.command("XADD", key, "1-1", "x", "y").get()
    try await rig.push(
      raw: #"{"id":"next","app":"news","audience":{"users":["u1"]},"apns":{"payload":{"aps":{"alert":"hi"}}}}"#)
    try await rig.submit("good")
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    let (reasons, state) = (try await reasons(rig), try await rig.store.campaigns.find("good")?.state)
    let type = ["job:next": "string", "campaign:next": "hash"][name] ?? "set"
    expect(reasons, is: ["the key \(key) has type stream, expected \(type)"])
    expect(state, is: .completed, "\(log.all)")
    await client.close()
  }

  /// A key that all campaigns share is damaged and not repaired. No campaign ends, but the stop does not wait for the
  /// worker's deadline.
  @Test func stopDoesNotWaitForARepair() async throws {
    let rig = try await WorkerRig(engine: .native, partitions: 4, users: 100)
    try await activate("bad", rig)
    try await rig.command("DEL", "running")
    try await rig.command("SET", "running", "x")
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    let running = Task { try await worker.run() }
    let key = "{\(rig.keys.namespace)}:running"
    try await rig.until { log.all.contains { $0.contains("the key \(key) has type string, expected set") } }
    let stopping = ContinuousClock.now
    await worker.stop(within: 2000)
    try await running.value
    expect(ContinuousClock.now - stopping < .seconds(60), "\(log.all)")
  }

  @Test(arguments: PushEngineKind.one(for: "danglingReferencesDelayNoCampaign"))
  func danglingReferencesDelayNoCampaign(engine: PushEngineKind) async throws {
    try await run(engine) { rig, client in
      let namespace = rig.keys.namespace
      for start in stride(from: 0, to: 100_000, by: 5000) {
        var pipeline = RedisPipeline()
        pipeline.command("LPUSH") { arguments in
          arguments.append("{\(namespace)}:lane:normal")
          for number in start..<(start + 5000) { arguments.append("ghost-\(number)") }
        }
        pipeline.command("ZADD") { arguments in
          arguments.append("{\(namespace)}:parked")
          for number in start..<(start + 5000) {
            arguments.append(1)
            arguments.append("1:ghost-\(number)")
          }
        }
        for reply in try await client.execute(pipeline) { try reply.get() }
      }
    } check: { rig, log in
      let reasons = try await reasons(rig)
      expect(reasons.isEmpty, "\(log.all)")
    }
  }
}
