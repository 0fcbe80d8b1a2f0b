import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import Redis
import TestKit
import TestSupport
import Testing

/// Takeover of slices and jobs of another worker.
@Suite(.takesTurns) struct TakeoverTests {
  /// Leaves sealed slices with `granted` targets in doubt each, like a worker that died.
  private func leaveDoubt(
    _ rig: WorkerRig, _ id: String, slices: Int = 1, granted: Int, lease: Int = 1
  ) async throws {
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    for _ in 0..<slices {
      let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
      let ledger = SliceLedger(store: rig.store, slice: slice, lease: lease, app: "news")
      _ = try await ledger.claim(worker: "dead")
      _ = try await rig.store.expansion.expand(
        ledger, of: campaign,
        filter: DeviceFilter(service: "apns", kind: .alert, app: "news", environment: "production"))
      var nothing = OutcomeBatch()
      let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: granted)
      expect(try await ledger.commit(&nothing, request).granted, is: granted)
    }
    // The worker is on the list of workers and silent, so its slices are taken over.
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
  }

  @Test(arguments: PushEngineKind.one(for: "targetsInDoubtAreSentAgainAndCounted"))
  func targetsInDoubtAreSentAgainAndCounted(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 50)
    try await rig.submit("again")
    try await leaveDoubt(rig, "again", granted: 20)
    try await rig.store.campaigns.reportWaiting("again", worker: "dead", reason: "push service unreachable", since: 1)
    let log = EventLog()
    try await rig.worker("heir", lease: 100, log: log).run()
    expect(try await rig.command("HEXISTS", "waiting:again", "dead").integer, is: 0, "the dead wait for nothing")
    let record = try #require(try await rig.store.campaigns.show("again"))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.outcomes, is: [.accepted: 50])
    expect(record.counters.resent, is: 20)
    expect(log.all.contains { $0.contains("takenOver") })
    expect(log.all.contains { $0.contains("requeued") })
  }

  /// The reply that gave the last slice to an idle worker is lost. The worker lives, so no other worker takes the
  /// slice.
  @Test(arguments: PushEngineKind.one(for: "idleWorkerFindsASliceOfALostReply"))
  func idleWorkerFindsASliceOfALostReply(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 20)
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    async let running: Void = worker.run()
    try await rig.until { log.all.contains { $0.hasPrefix("started") } }
    let later = Timestamp.format(milliseconds: try await rig.store.time() / 1000 + 3_600_000)
    let job = Array(
      #"{"id":"lost","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}},"sendAt":"\#(later)"}"#
        .utf8)
    _ = try await rig.store.queue.activate(CampaignJob.parse(job, .any([APNsService()])), job: job, worker: "-")
    // Simulates that the campaign has begun and its slice was dequeued, without a reply to the worker.
    try await rig.command("DEL", "open:lost")
    try await rig.command("HSET", "campaign:lost", "state", "active")
    try await rig.command("RPUSH", "processing:w", "0:lost")
    try await rig.until { try await rig.store.campaigns.show("lost")?.times.finishedAt != nil }
    await worker.stop()
    try await running
    expect(try await rig.store.campaigns.show("lost")?.counters.outcomes, is: [.accepted: 20], "\(log.all)")
  }

  /// Several slices in doubt share the window. While one reads its targets, another gets none of its credit.
  @Test(arguments: PushEngineKind.one(for: "doubtOfSeveralSlicesNeverExceedsTheWindow"))
  func doubtOfSeveralSlicesNeverExceedsTheWindow(engine: PushEngineKind) async throws {
    let latency = 500
    let log = try ScratchFolder()
    let path = log.path("requests")
    let rig = try await WorkerRig(engine: engine, partitions: 4) {
      $0.knobs.latencyMilliseconds = latency
      $0.initialStreams = 100
      $0.log = path
    }
    try await rig.register(200)
    try await rig.submit("again")
    try await leaveDoubt(rig, "again", slices: 4, granted: 20)
    try await rig.worker("heir", window: 20, lease: 6000).run()
    expect(try await rig.store.campaigns.show("again")?.counters.resent, is: 80)
    // In any 21 pushes in a row, the last was sent after the first was answered.
    let times = try RequestLine.read(path).map(\.time).sorted()
    let gaps = zip(times, times.dropFirst(20)).map { $1 - $0 }
    expect(times.count == 200 && gaps.allSatisfy { $0 >= latency }, "\(gaps)")
  }

  @Test(arguments: PushEngineKind.one(for: "lastReferenceToAHeldSliceIsKept"))
  func lastReferenceToAHeldSliceIsKept(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 50)
    try await rig.submit("kept")
    try await leaveDoubt(rig, "kept", granted: 20, lease: 300)
    // The dead worker's list does not have the slice, and the slice is open although it is held. The new owner takes
    // the reference first.
    try await rig.store.slices.requeue(SliceReference(campaign: "kept", partition: 0), lane: .normal, worker: "dead")
    try await rig.worker("heir", lease: 100).run()
    let record = try #require(try await rig.store.campaigns.show("kept"))
    expect(record.counters.outcomes, is: [.accepted: 50])
    expect(record.counters.resent, is: 20)
  }

  /// With 50 pushes a second, its own slice keeps the new owner busy for ten seconds. Targets in doubt must not wait
  /// that long.
  @Test(arguments: PushEngineKind.one(for: "busyWorkerTakesOverAbandonedSlices"))
  func busyWorkerTakesOverAbandonedSlices(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4) { $0.knobs.latencyMilliseconds = 200 }
    try await rig.register(2000)
    try await rig.submit("again")
    try await leaveDoubt(rig, "again", slices: 3, granted: 5)
    let log = EventLog()
    let heir = rig.worker("heir", window: 10, lease: 1000, drains: false, log: log)
    async let running: Void = heir.run()
    // The other worker dies when the new owner holds enough slices. With a newly started Redis, the new owner takes
    // nothing for a while.
    try await rig.until {
      try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1000)
      return await rig.simulator.counters().received > 0
    }
    try await rig.until { try await rig.store.slices.processing(of: "heir").count == 4 }
    expect(log.all.contains { $0.contains("requeued") }, "\(log.all)")
    expect(!log.all.contains { $0.hasPrefix("closed") }, "\(log.all)")
    expect(await rig.simulator.counters().received < 400)
    await heir.stop(within: 0)
    try await running
  }

  @Test(arguments: PushEngineKind.one(for: "skippedDoubtIsUnknownAndNeverSent"))
  func skippedDoubtIsUnknownAndNeverSent(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 50)
    try await rig.submit("once", #","ambiguity":"skip""#)
    try await leaveDoubt(rig, "once", granted: 20)
    try await rig.worker("heir", lease: 100).run()
    let record = try #require(try await rig.store.campaigns.show("once"))
    expect(record.counters.outcomes, is: [.accepted: 30, .unknown: 20])
    expect(await rig.simulator.counters().received, is: 30)
  }

  @Test(arguments: PushEngineKind.one(for: "jobOfADeadWorkerIsTakenInByAnother"))
  func jobOfADeadWorkerIsTakenInByAnother(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 5)
    try await rig.submit("orphan")
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)
    _ = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let log = EventLog()
    let heir = rig.worker("heir", lease: 100, drains: false, log: log)
    async let running: Void = heir.run()
    try await rig.until { try await rig.store.campaigns.show("orphan")?.state == .completed }
    await heir.stop()
    try await running
    expect(log.all.contains { $0.contains("activated") })
  }

  @Test(arguments: PushEngineKind.one(for: "sharedCampaignIsSentOnceByTwoWorkers"))
  func sharedCampaignIsSentOnceByTwoWorkers(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 16, users: 2000)
    try await rig.submit("shared")
    let log = EventLog()
    async let first: Void = rig.worker("one", log: log).run()
    async let second: Void = rig.worker("two", log: log).run()
    _ = try await (first, second)
    // A worker does not mistake a slice that it is just dequeuing for an abandoned one.
    expect(!log.all.contains { $0.contains("requeued") }, "\(log.all)")
    let record = try #require(try await rig.store.campaigns.show("shared"))
    expect(record.counters.outcomes, is: [.accepted: 2000])
    let counters = await rig.simulator.counters()
    expect(counters.received, is: 2000)
    expect(counters.duplicatesReceived, is: 0)
  }
}
