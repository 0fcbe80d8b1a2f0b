import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns with a rate. The bounds hold on a slow machine too: a push that has arrived had its permit before,
/// and permits are granted only after the job exists.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct RateRunTests {
  /// Returns the largest number of pushes that may have arrived this number of ms after the submission of the job.
  private static func most(_ perSecond: Double, after milliseconds: Int) -> Double {
    perSecond * 1.02 * Double(milliseconds) / 1000 + perSecond / 4 + 1
  }

  /// Returns the arrival times of requests, in ms since the epoch.
  private func arrivals(_ log: URL) throws -> [Int] {
    try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap { line in
      line.split(separator: " ").first.flatMap { Int($0) }
    }
  }

  private func rig(_ engine: PushEngineKind, partitions: Int = 8) async throws -> (rig: WorkerRig, log: URL) {
    let log = FileManager.default.temporaryDirectory.appending(path: "rate-\(UUID().uuidString).log")
    return (try await WorkerRig(engine: engine, partitions: partitions) { $0.log = log.path }, log)
  }

  private func expectRate(_ perSecond: Double, _ log: URL, since start: Int, count: Int) throws {
    let arrivals = try arrivals(log).sorted()
    try FileManager.default.removeItem(at: log)
    expect(arrivals.count, is: count)
    for (number, at) in arrivals.enumerated() {
      let most = Self.most(perSecond, after: at - start)
      expect(Double(number + 1) <= most, "\(number + 1) of \(most) after \(at - start) ms")
      guard Double(number + 1) <= most else { return }
    }
  }

  @Test(arguments: PushEngineKind.one(for: "workersTogetherObeyTheRateOfTheJob"))
  func workersTogetherObeyTheRateOfTheJob(engine: PushEngineKind) async throws {
    let (rig, log) = try await rig(engine)
    try await rig.register(900)
    // The simulator uses the clock of this machine.
    let start = Int(Date().timeIntervalSince1970 * 1000)
    try await rig.submit("steady", #","rate":300"#)
    let workers = [rig.worker("one"), rig.worker("other")]
    try await withThrowingTaskGroup { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await group.waitForAll()
    }
    try expectRate(300, log, since: start, count: 900)
    let record = try #require(try await rig.store.campaigns.show("steady"))
    expect(record.counters.outcomes, is: [.accepted: 900])
    expect(record.delivery.rate, is: .perSecond(300))
    expect(await rig.simulator.counters().duplicates, is: 0)
  }

  /// Slices with one or two targets, which are processed in batches.
  @Test(arguments: PushEngineKind.one(for: "manySmallSlicesObeyTheRate"))
  func manySmallSlicesObeyTheRate(engine: PushEngineKind) async throws {
    let (rig, log) = try await rig(engine, partitions: 256)
    try await rig.register(450)
    let start = Int(Date().timeIntervalSince1970 * 1000)
    try await rig.submit("small", #","rate":150"#)
    try await rig.worker("w").run()
    try expectRate(150, log, since: start, count: 450)
    expect(try await rig.store.campaigns.show("small")?.counters.outcomes, is: [.accepted: 450])
  }

  @Test(arguments: PushEngineKind.one(for: "allCampaignsOfAnAppShareItsRate"))
  func allCampaignsOfAnAppShareItsRate(engine: PushEngineKind) async throws {
    var (rig, log) = try await rig(engine)
    rig.channel.services[0].rate = 300
    try await rig.register(300)
    let start = Int(Date().timeIntervalSince1970 * 1000)
    for id in ["a", "b", "c"] { try await rig.submit(id) }
    try await rig.worker("w").run()
    try expectRate(300, log, since: start, count: 900)
    for id in ["a", "b", "c"] {
      expect(try await rig.store.campaigns.show(id)?.counters.outcomes, is: [.accepted: 300])
    }
  }

  @Test(arguments: PushEngineKind.one(for: "campaignThatWaitsForItsRateIsCancelledImmediately"))
  func campaignThatWaitsForItsRateIsCancelledImmediately(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 40)
    try await rig.submit("slow", #","rate":0.001"#)
    let worker = rig.worker("w")
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.show("slow")?.waiting != nil }
    let waiting = try #require(try await rig.store.campaigns.show("slow")?.waiting)
    expect(waiting.reason, is: "rate: its job limits it to 0.001 pushes per second")
    expect(waiting.since != nil)
    expect(try await rig.store.campaigns.control("slow", .pause), is: .paused)
    try await rig.until { try await rig.store.campaigns.show("slow")?.counters.inDoubt == 0 }
    expect(try await rig.store.campaigns.control("slow", .resume), is: .active)
    expect(try await rig.store.campaigns.control("slow", .cancel), is: .cancelled)
    try await running
    let record = try #require(try await rig.store.campaigns.show("slow"))
    expect(record.waiting, is: nil)
    expect(record.counters.outcomes, is: [.accepted: 1, .cancelled: record.counters.targets - 1])
    expect(await rig.simulator.counters().received, is: 1)
  }

  /// The rate follows from the number of targets. The first slice gives an estimate of this number. The estimate is not
  /// exact, and the rate may be a quarter above the average.
  @Test(arguments: PushEngineKind.one(for: "rateMayFollowFromATime"), [#""spread":"4s""#, #""finishBy":"END""#])
  func rateMayFollowFromATime(engine: PushEngineKind, rate: String) async throws {
    let rig = try await WorkerRig(engine: engine, users: 600)
    let end = try await rig.store.time() / 1000 + 4000
    try await rig.submit("in-time", "," + rate.replacing("END", with: Timestamp.format(milliseconds: end)))
    let workers = [rig.worker("one"), rig.worker("other")]
    try await withThrowingTaskGroup { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("in-time"))
    expect(record.counters.outcomes, is: [.accepted: 600])
    // A later start leaves less time until the end.
    let (from, to) = (try #require(record.times.startedAt), try #require(record.times.finishedAt))
    let time = record.delivery.rate == .over(seconds: 4) ? 4000 : max(0, end - from)
    expect(to - from >= time * 5 / 8, "\(to - from) of \(time) ms")
    expect(await rig.simulator.counters().duplicates, is: 0)
  }

  /// There are more campaigns than a worker can hold slices, and each campaign has more targets than the window.
  @Test(arguments: PushEngineKind.one(for: "campaignsThatWaitForTheirRatesDelayNoOther"))
  func campaignsThatWaitForTheirRatesDelayNoOther(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 2, users: 400)
    for number in 0..<70 { try await rig.submit("slow-\(number)", #","lane":"urgent","rate":0.001"#) }
    let worker = rig.worker(
      "w", window: 50, guard: GuardPolicy(threshold: 1, pruneShare: 1, minimum: 1), drains: false)
    let running = Task { try await worker.run() }
    try await rig.until { await rig.simulator.counters().received >= 60 }
    try await rig.submit("plain", #","lane":"bulk""#)
    try await rig.until { try await rig.store.campaigns.show("plain")?.state == .completed }
    let received = await rig.simulator.counters().received
    expect((460...470).contains(received), "\(received)")
    await worker.stop()
    try await running.value
  }

  /// All targets have expired. None of them is sent, so none waits for the rate.
  @Test(arguments: PushEngineKind.one(for: "expiredTargetsAreRecordedWithoutTheRate"))
  func expiredTargetsAreRecordedWithoutTheRate(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 300)
    try await rig.submit("late", #","rate":0.001,"expiration":"2020-01-01T00:00:00Z""#)
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.show("late")?.counters.outcomes, is: [.expired: 300])
  }
}
