@testable import CampaignStore
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

/// The snapshot of the fleet: its contents, its bounds and its alarms.
struct FleetTests {
  @Test(arguments: Backend.allCases)
  func emptyStoreHasNothingButNoWorker(on backend: Backend) async throws {
    let world = try await TestStore(on: backend)
    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    expect(fleet.problems.isEmpty && fleet.store.partitions == 4 && fleet.store.nextPartitions == nil)
    expect(
      fleet.presence.workers.isEmpty && fleet.running.campaigns.isEmpty
        && fleet.queues.intake == FleetSnapshot.Backlog())
    expect(
      fleet.queues.lanes.map(\.lane) == Lane.allCases
        && fleet.queues.lanes.allSatisfy { $0.slices == 0 && $0.since == nil })
    expect(fleet.nodes.count == 1 && fleet.nodes[0].memory.used > 0 && fleet.nodes[0].hasControl)
    expect(fleet.alarms().map(\.kind), is: [.noWorker])
  }

  @Test(arguments: Backend.allCases)
  func snapshotHasEveryPartOfTheFleet(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 8, users: 0..<4, activating: "running")
    try await world.activate("held", audience: #"{"tokens":["\#(TestStore.text(1))"]}"#, #","lane":"urgent""#)
    _ = try await world.store.campaigns.control("held", .pause, reason: "looks wrong")
    let sendAt = try await world.store.time() / 1000 + 86_400_000
    try await world.activate("later", #","sendAt":"\#(Timestamp.format(milliseconds: sendAt))""#)
    try await world.reportWaiting("running", worker: "w", reason: "out of reach", since: 7)
    try await world.store.queue.deadLetter(Array("{}".utf8), reason: "r", hint: "h", worker: "w")
    try await world.command("LPUSH", world.keys.events(.receipts), "{}", "{}")
    try await world.command("HSET", world.keys.quarantine(3), "t", "x")
    try await world.command("LPUSH", world.keys.feedback, "x")
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "w", lanes: [.normal]))
    expect(try await world.store.slices.park(slice, for: TestStore.timeout, worker: "w"))

    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    expect(fleet.problems.isEmpty)
    expect(Set(fleet.running.campaigns.map(\.record.id)), is: ["running", "held"])
    let running = try #require(fleet.campaigns(.active).first)
    expect(running.openSlices == 7 && running.record.waiting?.since == running.record.times.createdAt)
    expect(fleet.campaigns(.paused).first?.record.reason == "looks wrong" && fleet.waiting.count == 1)
    expect(
      fleet.queues.lanes[1],
      is: FleetSnapshot.LaneBacklog(lane: .normal, campaigns: 1, slices: 7, since: running.record.times.createdAt))
    expect(fleet.queues.lanes[0].slices, is: 0)
    expect(
      fleet.queues.scheduled == FleetSnapshot.ScheduledWork(count: 1, next: sendAt)
        && fleet.queues.scheduled.lag(at: fleet.at) == 0)
    expect(fleet.queues.parked.count == 1 && (fleet.queues.parked.next ?? 0) > fleet.at)
    expect(
      fleet.pendingEntries.dead == 1 && fleet.pendingEntries.quarantined == 1 && fleet.pendingEntries.feedback == 1)
    expect(fleet.queues.events, is: [.registrations: 0, .receipts: 2])
    expect(fleet.presence.live == 1 && fleet.presence.workers.first?.report == nil)
  }

  @Test(arguments: Backend.allCases)
  func reportOfAWorkerStaysUntilTheNextOneOrItsEnd(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    func storedReport() async throws -> WorkerReport? {
      try await world.store.fleet.snapshot(lease: TestStore.timeout).presence.workers.first?.report
    }
    let report = Self.report()
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout, report: report)
    expect(try await storedReport(), is: report)
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    expect(try await storedReport(), is: report)
    var next = report
    next.pools = []
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout, report: next)
    expect(try await storedReport(), is: next)
    try await world.store.fleet.removeWorker("w")
    expect(try await world.command("EXISTS", world.keys.reports).integer, is: 0)
  }

  /// Compares the stored report byte for byte, because workers of several versions read it.
  @Test func reportIsOneJSONObject() throws {
    let text = #"""
      {"version":"1.2.3","startedAt":1796115600007,"engine":"native","window":1000,"windowUsed":7,"slices":2,"perSecond":12,
      "accepted":99,"takesNothing":true,"pools":[{"endpoint":"https://a","open":2,"inFlight":3,"backlog":4,
      "failures":5,"health":"unresponsive"}],"credentials":[{"apps":["a","b"],"stopped":"no","renewalProblem":"later",
      "expiresAt":8,"clockError":-9},{"apps":["c"]}]}
      """#.replacing("\n", with: "")
    expect(String(decoding: Self.report().json, as: UTF8.self), is: text)
    expect(WorkerReport(json: Array(text.utf8)), is: Self.report())
    // A report of another version: unknown fields are ignored, and missing fields get their defaults.
    let other = WorkerReport(json: Array(#"{"version":"9","colour":[1],"pools":[{"health":"dreaming"}]}"#.utf8))
    expect(other?.version == "9" && other?.pools.first?.health == "dreaming" && other?.pools.first?.isStuck == false)
    expect(WorkerReport(json: Array("[1]".utf8)) == nil && WorkerReport(json: []) == nil)
    var long = WorkerReport()
    long.credentials = (0..<100).map { .init(apps: ["a\($0)"], stopped: String(repeating: "x", count: 1000)) }
    expect(long.json.count < 16_000)
    expect(WorkerReport(json: long.json)?.credentials.count, is: WorkerReport.most)
  }

  private static func report() -> WorkerReport {
    var report = WorkerReport()
    report.version = "1.2.3"
    report.startedAt = 1_796_115_600_007
    (report.engine, report.window, report.windowUsed, report.slices) = ("native", 1000, 7, 2)
    (report.perSecond, report.accepted, report.takesNothing) = (12, 99, true)
    report.pools = [
      .init(endpoint: "https://a", open: 2, inFlight: 3, backlog: 4, failures: 5, health: .unresponsive)
    ]
    report.credentials = [
      .init(apps: ["a", "b"], stopped: "no", renewalProblem: "later", expiresAt: 8, clockError: -9), .init(apps: ["c"]),
    ]
    return report
  }

  // MARK: Age of the next job

  @Test(arguments: Backend.allCases)
  func jobOfAnyProducerWaitsSinceItIsTheNext(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    func intake() async throws -> FleetSnapshot.Backlog {
      try await world.store.fleet.snapshot(lease: TestStore.timeout).queues.intake
    }
    func keepHouse() async throws { _ = try await world.store.dueTasks("w") }
    try await world.command("LPUSH", world.keys.campaigns, "first", "second")
    // No maintenance leader has seen the job yet, and the job itself has no time.
    expect(try await intake(), is: FleetSnapshot.Backlog(count: 2))
    let before = try await world.store.time() / 1000
    try await keepHouse()
    let since = try #require(try await intake().since)
    expect(since >= before)
    try await keepHouse()
    expect(try await intake(), is: FleetSnapshot.Backlog(count: 2, since: since))
    // The next job is another one, so the recorded time does not apply to it.
    try await world.command("RPOP", world.keys.campaigns)
    expect(try await intake(), is: FleetSnapshot.Backlog(count: 1))
    try await keepHouse()
    expect(try await intake().since ?? 0 >= since)
    try await world.command("RPOP", world.keys.campaigns)
    try await keepHouse()
    expect(try await world.command("HEXISTS", world.keys.housekeeping, "nextJob").integer, is: 0)
    expect(try await intake(), is: FleetSnapshot.Backlog())
  }

  @Test(arguments: Backend.allCases)
  func submittedJobWaitsSinceItsSubmissionWithoutAWorker(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    let job = TestStore.job("a", audience: #"{"segment":"*"}"#)
    let before = try await world.store.time() / 1000
    _ = try await world.store.queue.submit(job, as: CampaignJob.parse(job, .any([TestStore.service])))
    let after = try await world.store.time() / 1000
    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    let since = try #require(fleet.queues.intake.since)
    expect((before - 1...after + 1000).contains(since) && fleet.queues.intake.count == 1)
  }

  // MARK: Bounds

  @Test(arguments: Backend.allCases)
  func campaignsAndWorkersBeyondTheLimitAreCounted(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.activate("real", #","lane":"urgent""#)
    var pipeline = RedisPipeline()
    for number in 0..<(2 * FleetSnapshot.maximumCampaigns) {
      let id = "c\(number)"
      pipeline.append("SADD", world.keys.running, id)
      pipeline.append("HSET", world.keys.campaign(id), "state", "active", "app", "news", "slices", 1)
    }
    for number in 0..<(FleetSnapshot.maximumWorkers + 7) {
      pipeline.append("ZADD", world.keys.workers, number, "w\(number)")
    }
    for reply in try await world.redis.execute(pipeline) { try reply.get() }
    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    expect(fleet.running.campaigns.count, is: FleetSnapshot.maximumCampaigns)
    expect(fleet.running.unseen, is: FleetSnapshot.maximumCampaigns + 1)
    // A campaign on a lane is always included.
    expect(fleet.running.campaigns.contains { $0.record.id == "real" } && fleet.queues.lanes[0].slices == 1)
    expect(
      fleet.presence.workers.count == FleetSnapshot.maximumWorkers && fleet.presence.unseen == 7
        && fleet.presence.live == 0)
  }

  @Test(arguments: Backend.allCases)
  func damagedKeysAreReportedAndTheRestIsRead(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 2)
    for id in ["well", "ill"] { try await world.activate(id) }
    try await world.command("HSET", world.keys.campaign("ill"), "slices", "many")
    for key in [world.keys.lane("bulk"), world.keys.schedule, world.keys.reports, world.keys.quarantine(0)] {
      try await world.command("SET", key, "x")
    }
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    let fleet = try await world.store.fleet.snapshot(lease: TestStore.timeout)
    expect(fleet.running.campaigns.map(\.record.id) == ["well"] && fleet.presence.live == 1)
    expect(fleet.problems.count >= 5 && fleet.problems.allSatisfy { $0.code == .damaged }, "\(fleet.problems)")
    expect(fleet.alarms().allSatisfy { $0.kind == .unreadable })
  }

  @Test func storeOfAnotherVersionIsReported() async throws {
    let world = try await TestStore(on: .single)
    try await world.command("HSET", world.keys.store, "version", 1)
    expect(try await world.store.fleet.snapshot(lease: 1).problems.map(\.code), is: [.mismatch])
  }
}

/// Alarms, each caused once.
struct FleetAlarmTests {
  private static let now = 1_800_000_000_000

  /// A healthy fleet.
  private static func fleet() -> FleetSnapshot {
    var fleet = FleetSnapshot()
    fleet.at = now
    fleet.presence.live = 1
    fleet.presence.workers = [FleetSnapshot.Worker(name: "w", heartbeatAt: now, isAlive: true, report: WorkerReport())]
    fleet.queues.lanes = Lane.allCases.map { FleetSnapshot.LaneBacklog(lane: $0) }
    return fleet
  }

  @Test func healthyFleetHasNoAlarms() {
    var fleet = Self.fleet()
    expect(fleet.alarms().isEmpty)
    // Nothing is wrong in these fields, or the wait is still short.
    fleet.queues.intake = .init(count: 3, since: Self.now - 59_000)
    fleet.queues.lanes[0].since = Self.now - 29_000
    fleet.queues.lanes[2].since = Self.now - 86_400_000
    fleet.queues.scheduled = .init(count: 1, next: Self.now + 1)
    fleet.presence.workers[0].report?.credentials = [.init(apps: ["a"], expiresAt: Self.now + 15 * 86_400_000)]
    fleet.presence.workers[0].report?.pools = [
      .init(endpoint: "e", open: 0, inFlight: 0, backlog: 0, failures: 0, health: .connecting)
    ]
    fleet.pendingEntries.quarantined = 5
    expect(fleet.alarms().isEmpty)
  }

  private static let causes: [(FleetAlarm.Kind, String, String, @Sendable (inout FleetSnapshot) -> Void)] = [
    (
      .noWorker, "fleet", "no worker runs, the last heartbeat was 2 min ago",
      { fleet in
        fleet.presence.live = 0
        fleet.presence.workers = [
          FleetSnapshot.Worker(name: "w", heartbeatAt: now - 120_000, isAlive: false, report: nil)
        ]
      }
    ),
    (
      .silentWorker, "x", "no heartbeat from worker x for 1 min",
      { fleet in
        fleet.presence.workers.append(
          FleetSnapshot.Worker(name: "x", heartbeatAt: now - 60_999, isAlive: false, report: nil))
      }
    ),
    (
      .credentialStopped, "a,b", "worker w of app a,b: refused",
      { fleet in
        fleet.presence.workers[0].report?.credentials = [.init(apps: ["a", "b"], stopped: "refused")]
      }
    ),
    (
      .credentialFailing, "a",
      "worker w can't renew the credential of app a, which expires within an hour: key deleted",
      { fleet in
        fleet.presence.workers[0].report?.credentials = [.init(apps: ["a"], renewalProblem: "key deleted")]
      }
    ),
    (
      .credentialExpires, "a", "the certificate of app a expires in 13 days",
      { fleet in
        fleet.presence.workers[0].report?.credentials = [.init(apps: ["a"], expiresAt: now + 13 * 86_400_000)]
      }
    ),
    (
      .credentialExpires, "a", "the certificate of app a has expired",
      { fleet in
        fleet.presence.workers[0].report?.credentials = [.init(apps: ["a"], expiresAt: now - 1)]
      }
    ),
    (
      .clockWrong, "a", "the time of worker w is 600 s behind the push service of app a",
      { fleet in
        fleet.presence.workers[0].report?.credentials = [.init(apps: ["a"], clockError: -600)]
      }
    ),
    (
      .pushService, "https://e", "https://e is answering almost everything with server errors for 2 workers (w …)",
      { fleet in
        let pool = WorkerReport.Pool(
          endpoint: "https://e", open: 0, inFlight: 0, backlog: 0, failures: 1, health: .breakerOpen)
        fleet.presence.workers[0].report?.pools = [pool]
        fleet.presence.workers.append(fleet.presence.workers[0])
      }
    ),
    (
      .intakeWaits, "campaigns", "2 jobs wait in the queue, the oldest for 1 min",
      { fleet in
        fleet.queues.intake = .init(count: 2, since: now - 61_000)
      }
    ),
    (
      .laneWaits, "urgent", "3 slices of lane urgent wait for a worker, the oldest campaign for 31 s",
      { fleet in
        fleet.queues.lanes[0] = .init(lane: .urgent, campaigns: 1, slices: 3, since: now - 31_000)
      }
    ),
    (
      .scheduleLate, "schedule", "a scheduled campaign is 40 s late",
      { fleet in
        fleet.queues.scheduled = .init(count: 1, next: now - 40_000)
      }
    ),
    (.eventsWait, "receipts", "100000 receipts wait", { fleet in fleet.queues.events[.receipts] = 100_000 }),
    (.dead, "dead", "1 jobs or events could not be run", { fleet in fleet.pendingEntries.dead = 1 }),
    (.unreadable, "damaged", "what", { fleet in fleet.problems = [StoreError(.damaged, "what", hint: "so")] }),
  ]

  @Test(arguments: causes.indices)
  func eachIsCausedOnce(cause: Int) throws {
    let (kind, subject, text, change) = Self.causes[cause]
    var fleet = Self.fleet()
    change(&fleet)
    let alarms = fleet.alarms()
    expect(alarms.count, is: 1)
    let alarm = try #require(alarms.first)
    expect(alarm.kind == kind && alarm.subject == subject && !alarm.hint.isEmpty)
    expect(alarm.text.hasPrefix(text), "\(alarm.text)")
  }

  @Test(arguments: Backend.allCases)
  func selfPausedOrWaitingCampaignRaisesAnAlarm(on backend: Backend) async throws {
    let world = try await TestStore(on: backend, partitions: 1)
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    for id in ["asked", "itself", "stuck", "slow"] { try await world.activate(id) }
    _ = try await world.store.campaigns.controlEverywhere("asked", .pause, reason: "by hand", lease: 1)
    _ = try await world.store.campaigns.control("itself", .pause, reason: "wrong environment")
    try await world.command("HSET", world.keys.campaign("stuck"), "createdAt", 1)
    try await world.reportWaiting("stuck", worker: "w", reason: "out of reach", since: 5)
    try await world.command("HSET", world.keys.campaign("slow"), "createdAt", 1)
    try await world.reportWaiting("slow", worker: "w", reason: "rate: 5 a second", since: 5)
    var limits = FleetLimits()
    limits.lanes = [:]
    let alarms = try await world.store.fleet.snapshot(lease: TestStore.timeout).alarms(limits)
    expect(alarms.map(\.kind), is: [.campaignPaused, .campaignWaits])
    expect(alarms.map(\.subject), is: ["itself", "stuck"])
    expect(alarms[0].text, is: "campaign itself has paused itself: wrong environment")
    expect(alarms[0].hint.hasSuffix("carillon campaign resume itself"))
  }

  /// Memory, eviction and other reported states, on a server with these settings.
  @Test func unreliableServerRaisesAnAlarm() async throws {
    let server = try await RedisServer.start()
    let world = try await TestStore(on: .single, server: server)
    try await world.store.fleet.heartbeat(worker: "w", timeout: TestStore.timeout)
    func alarms() async throws -> [FleetAlarm] {
      try await world.store.fleet.snapshot(lease: TestStore.timeout).alarms()
    }
    expect(try await alarms().isEmpty)
    let used = try await world.store.limits.memory().used
    try await server.command("config", "set", "maxmemory", String(used * 100 / 88))
    try await server.command("config", "set", "maxmemory-policy", "allkeys-lru")
    let found = try await alarms()
    expect(found.map(\.kind), is: [.memory, .redis])
    expect(found.last?.text.hasSuffix("evicts keys when memory is full: maxmemory-policy is allkeys-lru"), is: true)
    await server.stop()
  }

  @Test func spansAreWrittenInTheLargestUnit() {
    let table = [
      (0, "0 s"), (59_999, "59 s"), (60_000, "1 min"), (3_599_000, "59 min"), (3_600_000, "1 h"),
      (172_799_000, "47 h"), (172_800_000, "2 days"), (-5, "0 s"),
    ]
    for (span, text) in table { expect(FleetSnapshot.age(span), is: text) }
  }
}
