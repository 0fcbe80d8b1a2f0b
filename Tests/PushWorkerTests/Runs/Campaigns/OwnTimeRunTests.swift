import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns in which each device has a due time of its own, in time zones that the test generates.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct OwnTimeRunTests {
  /// A rig with generated time zones. The folder of the zones must exist as long as the rig.
  private struct Scene {
    let rig: WorkerRig
    let folder: ScratchFolder
    /// The simulator's log.
    var log: String { folder.path("requests") }
    /// The start of the test, in UNIX seconds.
    let start: Int

    /// - Parameter offsets: gets the start in UNIX seconds, and returns the offset of each zone, in seconds ahead of
    ///   UTC, by name.
    init(
      _ engine: PushEngineKind = .native, partitions: Int = 8, _ offsets: (Int) -> [String: Int]
    ) async throws {
      let folder = try ScratchFolder()
      start = Int(Date().timeIntervalSince1970)
      try ZoneFile.write(offsets(start), to: folder.url)
      let path = folder.path("requests")
      rig = try await WorkerRig(engine: engine, partitions: partitions, zones: ZoneDatabase(folder: folder.url.path)) {
        $0.log = path
      }
      self.folder = folder
    }

    /// Returns the arrival times of pushes, in ms since the epoch, by user number.
    func arrivals(_ users: Int) throws -> [Int: Int] {
      let numbers = Dictionary(uniqueKeysWithValues: (0..<users).map { (WorkerRig.text($0), $0) })
      return Dictionary(
        try RequestLine.read(log).compactMap { line in numbers[line.token].map { ($0, line.time) } },
        uniquingKeysWith: min)
    }

    /// Returns the offset, in seconds, of a zone whose clocks show a time of day at the start of the test.
    static func offset(showing time: Int, at start: Int) -> Int { time - start % 86400 }
  }

  @Test(arguments: PushEngineKind.one(for: "eachDeviceGetsThePushAtItsLocalTime"))
  func eachDeviceGetsThePushAtItsLocalTime(engine: PushEngineKind) async throws {
    // In these zones the send time is a second from now, three seconds from now, ten minutes ago and four hours ago.
    let scene = try await Scene(engine) { _ in ["A": 9, "B": 7, "L": 600, "P": 4 * 3600] }
    let rig = scene.rig
    let zones = ["A", "B", "", "L", "P", "Nowhere"]
    try await rig.register(180, zones: zones)
    // The send time is 10 seconds from now in UTC, which is the zone of devices without a known zone.
    try await rig.submit(
      "local", #","sendAt":"\#(WallTime.format(scene.start + 10))","localTime":true,"expiration":"1h""#)
    let log = EventLog()
    let workers = [rig.worker("one", log: log), rig.worker("other", log: log)]
    try await withThrowingTaskGroup { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await group.waitForAll()
    }
    // Each worker warns once of a zone that it does not know.
    let warnings = log.all.filter { $0.contains("zonesUnknown") }
    expect((1...2).contains(warnings.count) && warnings.allSatisfy { $0.contains("Nowhere") }, "\(warnings)")
    let record = try #require(try await rig.store.campaigns.show("local"))
    expect(record.state == .completed && record.counters.later == 0 && record.times.next == nil)
    expect(record.counters.outcomes, is: [.accepted: 150, .expired: 30])
    let arrivals = try scene.arrivals(180)
    expect(arrivals.count, is: 150)
    let due = ["A": 1, "B": 3, "": 10, "L": 0, "Nowhere": 10]
    for (number, at) in arrivals {
      let expected = (scene.start + (due[zones[number % zones.count]] ?? .max)) * 1000
      expect(at >= expected, "user \(number) of \(zones[number % zones.count]): \(expected - at) ms early")
    }
    expect(await rig.simulator.counters().duplicates, is: 0)
  }

  /// No other zone replaces an unknown default zone of the job.
  @Test func campaignWithAnUnknownDefaultZoneIsPaused() async throws {
    let scene = try await Scene { _ in ["A": 0] }
    let rig = scene.rig
    try await rig.register(1, zones: ["A"])
    let more = #","sendAt":"\#(WallTime.format(scene.start - 60))","localTime":true,"defaultTimezone":"Asia/Tokyo""#
    try await rig.submit("a", more)
    let worker = rig.worker("a", drains: false)
    try await withThrowingTaskGroup { group in
      group.addTask { try await worker.run() }
      try await rig.until { try await rig.store.campaigns.find("a")?.reason != nil }
      await worker.stop()
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.find("a"))
    expect(record.reason?.contains("this machine has no time zone 'Asia/Tokyo'"), is: true)
    expect(record.counters.outcomes.isEmpty)
  }

  /// A worker dies with due targets in doubt. The next owner keeps the times of the other targets.
  @Test func takeoverKeepsTheLocalTimes() async throws {
    let scene = try await Scene(partitions: 1) { _ in ["A": 600, "B": 0] }
    let rig = scene.rig
    try await rig.register(80, zones: ["A", "B"])
    try await rig.submit("local", #","sendAt":"\#(WallTime.format(scene.start + 6))","localTime":true"#)
    let job = try #require(try await rig.store.queue.awaitJob(worker: "dead", seconds: 1, now: 1))
    let campaign = try CampaignJob.parse(job, .known(["news": [APNsService(AppTraits(topic: "com.example.news"))]]))
    _ = try await rig.store.queue.activate(campaign, job: job, worker: "dead")
    let slice = try #require(try await rig.store.slices.dequeueSlice(worker: "dead"))
    let ledger = SliceLedger(store: rig.store, slice: slice, lease: 1, app: "news")
    _ = try await ledger.claim(worker: "dead")
    let record = try #require(try await rig.store.campaigns.find("local"))
    let filter = DeviceFilter(
      campaign, service: rig.channel.services[0].service, environment: "production", start: record.start)
    _ = try await rig.store.expansion.expand(ledger, of: campaign, filter: filter)
    var nothing = OutcomeBatch()
    let request = CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: 25)
    expect(try await ledger.commit(&nothing, request).granted, is: 25)
    _ = try await rig.store.fleet.heartbeat(worker: "dead", timeout: 1)

    let log = EventLog()
    try await rig.worker("heir", lease: 500, log: log).run()
    let shown = try #require(try await rig.store.campaigns.show("local"))
    expect(shown.state, is: .completed, "\(log.all)")
    expect(shown.counters.outcomes, is: [.accepted: 80])
    expect(shown.counters.resent, is: 25)
    for (number, at) in try scene.arrivals(80) where number % 2 == 1 { expect(at >= (scene.start + 6) * 1000) }
    expect(await rig.simulator.counters().received, is: 80)
  }

  @Test func quietHoursAreWaitedOutOrDropped() async throws {
    // At the start it is noon in N, four seconds before eight in Q, and three at night in D.
    let scene = try await Scene { start in
      [
        "N": Scene.offset(showing: 12 * 3600, at: start), "Q": Scene.offset(showing: 8 * 3600 - 4, at: start),
        "D": Scene.offset(showing: 3 * 3600, at: start),
      ]
    }
    let rig = scene.rig
    try await rig.register(60, zones: ["N", "Q", "D"])
    let hours = #","quietHours":{"from":"22:00","to":"08:00""#
    func users(_ zones: Int...) -> String {
      let names = (0..<60).filter { zones.contains($0 % 3) }.map { "\"u\($0)\"" }
      return "{\"users\":[\(names.joined(separator: ","))]}"
    }
    try await rig.submit("held", hours + "}", audience: users(0, 1))
    try await rig.submit("dropped", hours + #","then":"drop"}"#, audience: users(0, 2))
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    expect(try await rig.store.campaigns.show("held")?.counters.outcomes, is: [.accepted: 40], "\(log.all)")
    expect(
      try await rig.store.campaigns.show("dropped")?.counters.outcomes, is: [.accepted: 20, .expired: 20], "\(log.all)")
    let arrivals = try scene.arrivals(60)
    for number in stride(from: 1, to: 60, by: 3) {
      expect(try #require(arrivals[number]) >= (scene.start + 4) * 1000)
    }
  }

  /// A rate delays some targets until their clocks show a quiet hour. They are not sent then.
  @Test func lateTargetsAreNotSentInAQuietHour() async throws {
    let scene = try await Scene { start in ["E": Scene.offset(showing: 22 * 3600 - 6, at: start)] }
    let rig = scene.rig
    try await rig.register(300, zones: ["E"])
    try await rig.submit("late", #","rate":25,"quietHours":{"from":"22:00","to":"08:00"}"#)
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    try await rig.until {
      guard let shown = try await rig.store.campaigns.show("late"), shown.slices.sealed == shown.slices.total else {
        return false
      }
      return shown.pending > 0 && shown.counters.retrying + shown.counters.later == shown.pending
    }
    let shown = try #require(try await rig.store.campaigns.show("late"))
    let accepted = shown.counters.outcomes[.accepted] ?? 0
    expect(accepted + shown.pending == 300 && accepted <= 25 * 6 + 25)
    try await rig.store.campaigns.control("late", .cancel)
    try await rig.until { try await rig.store.campaigns.show("late")?.times.finishedAt != nil }
    await worker.stop()
    try await running
    let outcomes = try #require(try await rig.store.campaigns.show("late")).counters.outcomes
    expect(outcomes[.accepted] ?? 0 == accepted && outcomes[.cancelled] == 300 - accepted)
    // The last push may have been passed to a connection just before the quiet hours. At its rate the campaign would
    // send for 12 s.
    let last = try RequestLine.read(scene.log).map(\.time).max() ?? 0
    expect(last <= (scene.start + 6) * 1000 + 5000)
  }

  /// A low rate limits only targets that are sent. It does not delay the others.
  @Test func targetsThatGetNothingDoNotUseTheRate() async throws {
    let scene = try await Scene(partitions: 2) { _ in ["A": 60, "P": 4 * 3600] }
    let rig = scene.rig
    try await rig.register(2000, zones: Array(repeating: "P", count: 39) + ["A"])
    try await rig.submit("local", #","sendAt":"\#(WallTime.format(scene.start))","localTime":true,"rate":25"#)
    let start = ContinuousClock.now
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.show("local")?.counters.outcomes, is: [.accepted: 50, .expired: 1950])
    // At this rate all targets would take 80 seconds, and the targets that are sent take two.
    expect(ContinuousClock.now - start < .seconds(70))
  }

  @Test func remainingTargetsExpireAfterTheMaximumDuration() async throws {
    let rig = try await WorkerRig(engine: .native, users: 300)
    try await rig.submit("short", #","rate":40,"maxDuration":"2s""#)
    try await rig.worker("w").run()
    let record = try #require(try await rig.store.campaigns.show("short"))
    let accepted = record.counters.outcomes[.accepted] ?? 0
    expect(record.state == .completed && accepted <= 40 * 2 + 50)
    expect(record.counters.outcomes[.expired], is: 300 - accepted)
    expect(await rig.simulator.counters().received, is: accepted)
  }

  @Test func recurringJobBeginsItsCampaigns() async throws {
    let rig = try await WorkerRig(engine: .native, users: 50)
    try await rig.submit("digest", #","repeat":{"cron":"0 0 * * *","count":1}"#)
    let log = EventLog()
    let workers = [rig.worker("one", drains: false, log: log), rig.worker("other", drains: false, log: log)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.until { try await rig.store.campaigns.find("digest")?.state == .scheduled }
      let midnight = try await rig.store.time() / 86_400_000_000 * 86_400_000
      try await rig.reschedule("digest", to: midnight)
      try await rig.until { try await rig.store.campaigns.find("digest")?.state == .completed }
      let run = try #require(try await rig.store.campaigns.find("digest")?.repetition?.lastRun)
      try await rig.until { try await rig.store.campaigns.find(run)?.state == .completed }
      expect(try await rig.store.campaigns.show(run)?.counters.outcomes, is: [.accepted: 50])
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    expect(await rig.simulator.counters().received, is: 50)
  }
}
