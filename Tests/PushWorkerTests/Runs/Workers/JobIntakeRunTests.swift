import APNs
import APNsSimulator
import CampaignStore
import Dispatch
import EventLoop
import PushCore
import PushTransport
@testable import PushWorker
import Redis
import Synchronization
import TestKit
import TestSupport
import Testing

/// Intake of jobs that meet damage, take too long or crash their workers. Such a job is moved aside, and every other
/// job is taken in.
@Suite(.takesTurns) struct JobIntakeRunTests {
  /// A key of another type, and a job that needs the key.
  struct Corruption: Sendable, CustomTestStringConvertible {
    let key: String
    var job = #""audience":{"segment":"vip"}"#
    var testDescription: String { key }
  }

  private static let corruptions = [
    Corruption(key: "{NS:1}:segment:vip"), Corruption(key: "{NS:1}:users", job: #""audience":{"segment":"*"}"#),
    Corruption(key: "{NS:0}:devices"), Corruption(key: "{NS}:segments"), Corruption(key: "{NS}:definitions"),
    Corruption(key: "{NS}:template:hello", job: #""template":"hello","audience":{"users":["u1"]}"#),
    Corruption(key: "{NS}:templates", job: #""template":"none","audience":{"users":["u1"]}"#),
    Corruption(key: "{NS}:campaign:old", job: #""audience":{"campaign":"old"}"#),
    Corruption(key: "{NS:0}:audience:bad", job: #""audience":{"users":["u0","u1","u2","u3","u4"]}"#),
  ]

  private func rig(partitions: Int = 2) async throws -> WorkerRig {
    var rig = try await WorkerRig(engine: .native, partitions: partitions)
    rig.channel.approvalAbove = 1000
    try await rig.register(5)
    try await rig.store.audiences.add((0..<5).map { "u\($0)" }, to: "vip")
    return rig
  }

  private static func job(_ id: String, _ what: String) -> String {
    let payload = what.contains("template") ? "" : #","apns":{"payload":{"aps":{"alert":"hi"}}}"#
    return #"{"id":"\#(id)","app":"news",\#(what)\#(payload)}"#
  }

  /// A job that needs none of the damaged keys.
  private static let good = job("good", #""lane":"urgent","audience":{"tokens":["\#(WorkerRig.text(1))"]}"#)

  private func dead(_ rig: WorkerRig) async throws -> [DeadJob] {
    var jobs: [DeadJob] = []
    try await rig.store.queue.forEachDeadJob { jobs.append($0) }
    return jobs
  }

  @Test(arguments: corruptions)
  func damageAffectsOnlyTheJobThatMeetsIt(corruption: Corruption) async throws {
    let rig = try await rig()
    let key = corruption.key.replacing("{NS", with: "{" + rig.keys.namespace)
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    _ = try await client.command("DEL", key).get()
    _ = try await client.command(key.contains(":template:") ? "RPUSH" : "XADD", key, "1-1", "x", "y").get()
    try await rig.push(raw: Self.job("bad", corruption.job))
    try await rig.push(raw: Self.good)
    let log = EventLog()
    try await rig.worker("w", log: log).run()
    let dead = try await dead(rig)
    expect(dead.map(\.id) == ["bad"] && dead[0].reason.contains(key), "\(dead) \(log.all)")
    expect(try await rig.store.campaigns.find("good")?.counters.outcomes, is: [.accepted: 1])
    expect(try await client.command("HLEN", "{\(rig.keys.namespace)}:attempts").get().integer, is: 0)
    await client.close()
  }

  /// A raw job with a wrong year is not sent. A job that was submitted in time and waited because no worker ran is
  /// sent.
  @Test func rawJobWithAPastTimeIsMovedAside() async throws {
    let rig = try await rig()
    let past = #","sendAt":"2020-01-01T00:00:00Z""#
    try await rig.push(raw: Self.job("typo", #""audience":{"segment":"vip"}\#(past)"#))
    try await rig.push(raw: Self.job("meant", #""audience":{"segment":"vip"}\#(past),"late":"366d""#))
    try await rig.submit("waited", past, audience: #"{"segment":"vip"}"#)
    try await rig.worker("w").run()
    let dead = try await dead(rig)
    expect(Set(dead.compactMap(\.id)), is: ["typo", "meant"], "2020 is more than 366 days ago")
    expect(dead.allSatisfy { $0.reason.hasPrefix("sendAt: 2020-01-01T00:00:00") && $0.hint.contains("late") })
    expect(try await rig.store.campaigns.find("typo") == nil)
    expect(try await rig.store.campaigns.find("waited")?.counters.outcomes, is: [.accepted: 5])
  }

  @Test func jobThatMetDamageCanBeRetriedAfterTheRepair() async throws {
    let rig = try await rig()
    let key = "{\(rig.keys.namespace):1}:segment:vip"
    let client = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    _ = try await client.command("DEL", key).get()
    _ = try await client.command("SET", key, "x").get()
    let job = Self.job("bad", #""audience":{"segment":"vip"}"#)
    try await rig.push(raw: job)
    try await rig.worker("w").run()
    let entry = try #require(try await dead(rig).first)
    expect(entry.hint.contains("carillon dead retry"))
    _ = try await client.command("DEL", key).get()
    try await rig.store.audiences.add((0..<5).map { "u\($0)" }, to: "vip")
    let apps = JobApps.known(["news": [rig.channel.services[0].service]])
    _ = try await rig.store.queue.submit(entry.job, as: CampaignJob.parse(entry.job, apps), from: entry.key)
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.find("bad")?.counters.outcomes, is: [.accepted: 5])
    await client.close()
  }

  /// A key that all jobs need is damaged. It is not the fault of one job, so the jobs stay in the queue.
  @Test func damageThatAffectsEveryJobMovesNoneAside() async throws {
    let rig = try await rig()
    try await rig.command("SET", "running", "x")
    try await rig.push(raw: Self.good)
    let log = EventLog()
    let worker = rig.worker("w", drains: false, log: log)
    async let running: Void = worker.run()
    try await rig.until { log.all.filter { $0.contains("could not activate a job") }.count > 1 }
    await worker.stop()
    try await running
    expect(try await dead(rig).isEmpty)
    try await rig.command("DEL", "running")
    try await rig.worker("w").run()
    expect(try await rig.store.campaigns.find("good")?.counters.outcomes, is: [.accepted: 1], "\(log.all)")
  }

  /// No worker runs here, because its housekeeping would remove the user too.
  @Test func intakeRemovesAUserWhoWasErasedWhileTheJobWaited() async throws {
    let rig = try await rig()
    try await rig.push(raw: Self.job("waited", #""audience":{"users":["u1","u2"]}"#))
    _ = try await rig.store.erasure.erase("u1")
    let entry = try #require(try await rig.store.queue.awaitJob(worker: "w", seconds: 5, now: 1))
    var chance = SystemRandomNumberGenerator()
    let intake = JobIntake(
      store: rig.store, instance: WorkerInstance(name: "w", using: &chance), apps: .any([APNsService()]),
      channels: [:], checker: JobChecker(priority: .normal, limit: .seconds(60)), largeAudience: 1_000_000,
      mayTakeLong: false, hook: nil)
    guard case .activated = try await intake.take(in: entry) else { throw TestSupportError("it was not activated") }
    let job = try #require(try await rig.store.campaigns.findWithJob("waited")).job
    let text = String(decoding: job, as: UTF8.self)
    expect(text.contains(#""u2""#) && !text.contains(#""u1""#), "\(text)")
    await rig.simulator.stop()
  }

  /// Makes workers take the job off the queue, begin its intake, and die.
  private func die(of rig: WorkerRig, times: Int) async throws {
    var chance = SystemRandomNumberGenerator()
    for number in 0..<times {
      let instance = WorkerInstance(name: "dead\(number)", using: &chance)
      let job = try #require(try await rig.store.queue.awaitJob(worker: instance.name, seconds: 5, now: 1))
      let attempts = try #require(try await rig.store.queue.beginJob(job, instance: instance))
      expect(attempts.otherLives == number && attempts.failures == 0)
      _ = try await rig.store.fleet.removeWorker(instance.name)
    }
  }

  @Test(arguments: [2, 3])
  func jobThatCrashesWorkersGoesToTheDeadList(deaths: Int) async throws {
    let rig = try await rig()
    try await rig.push(raw: Self.job("fatal", #""audience":{"users":["u1"]}"#))
    try await die(of: rig, times: deaths)
    try await rig.push(raw: Self.good)
    try await rig.worker("w").run()
    let dead = try await dead(rig)
    if deaths < 3 {
      expect(dead.isEmpty)
      expect(try await rig.store.campaigns.find("fatal")?.state, is: .completed)
    } else {
      expect(dead.map(\.id), is: ["fatal"])
      expect(dead[0].reason, is: "3 workers ended while they activated this job")
    }
    expect(try await rig.store.campaigns.find("good")?.state, is: .completed)
    // The step that takes a job off the list also removes its count of attempts.
    expect(try await rig.command("HLEN", "attempts").integer, is: 0)
  }

  /// No push waits for an endless check, and other jobs wait for it at most until the time limit.
  @Test(arguments: [100, 20_000])
  func expensiveJobDelaysNoOther(bytes: Int) async throws {
    let isLarge = bytes > 16_384
    let rig = try await rig()
    let end = DispatchSemaphore(value: 0)
    var configuration = WorkerConfiguration(name: "w", drains: true, apps: ["news": rig.channel])
    // The intake does not wait for the check of a large job, so the check may take any time.
    configuration.jobCheckLimit = isLarge ? .seconds(3600) : .milliseconds(500)
    configuration.faults.checksJob = { job in
      guard String(decoding: job, as: UTF8.self).contains(#""id":"slow""#) else { return }
      // The limit counts processor time.
      while end.wait(timeout: .now()) == .timedOut {}
    }
    let log = EventLog()
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: log.append)
    let padding = String(repeating: "x", count: bytes)
    try await rig.push(
      raw: Self.job("slow", #""audience":{"users":["u1"]},"category":null,"rate":null,"collapseId":"\#(padding)""#))
    try await rig.push(raw: Self.good)
    async let running: Void = worker.run()
    try await rig.until { try await rig.store.campaigns.find("good")?.state == .completed }
    if !isLarge { try await rig.until { try await !dead(rig).isEmpty } }
    end.signal()
    try await running
    let moved = try await dead(rig)
    expect(moved.map(\.id), is: ["slow"])
    let expected =
      isLarge ? "collapseId" : "the job is too expensive: its check took more than 0.5 seconds of processor time"
    expect(moved[0].reason.contains(expected), "\(moved[0].reason) \(log.all)")
  }

  /// A small entry of the list whose job takes long to take in. It must not delay other jobs.
  enum SmallEntry: CaseIterable {
    /// A run of a recurring campaign. The entry names the run.
    case run
    /// A job with a large template.
    case template
    /// A job with a large audience, which must be counted for its approval, behind a large job.
    case audience
  }

  @Test(arguments: SmallEntry.allCases)
  func largeJobBehindASmallEntryDelaysNoOther(entry: SmallEntry) async throws {
    var rig = try await rig()
    let users = (0..<3000).map { "\"u\($0)\"" }.joined(separator: ",")
    let large = Self.job("large", #""audience":{"users":[\#(users)]},"repeat":{"cron":"0 * * * *"}"#)
    switch entry {
    case .run:
      let campaign = try CampaignJob.parse(Array(large.utf8), .any([APNsService()]))
      _ = try await rig.store.queue.activate(campaign, job: Array(large.utf8), worker: "other")
      try await rig.reschedule("large", to: 3_600_000)
    case .template:
      let text = String(repeating: "x", count: 20_000)
      _ = try await rig.store.campaigns.put(Array(#"{"message":{"body":"\#(text)"}}"#.utf8), asTemplate: "long")
      try await rig.push(raw: Self.job("large", #""template":"long","audience":{"users":["u1"]}"#))
    case .audience:
      rig.channel.approvalAbove = 3
      try await rig.push(raw: large)
      try await rig.push(raw: Self.job("counted", #""audience":{"segment":"vip"}"#))
    }
    let end = DispatchSemaphore(value: 0)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    var configuration = WorkerConfiguration(name: "w", drains: false, apps: ["news": rig.channel])
    configuration.jobCheckLimit = .seconds(3600)
    configuration.largeAudience = 2
    configuration.faults.checksJob = { job in
      guard job.count > 16_384 else { return }
      begin.finish()
      end.wait()
      end.signal()
    }
    let log = EventLog()
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: log.append)
    async let running: Void = worker.run()
    // A failing test must not wait for the worker without end.
    defer { end.signal() }
    for await _ in begun {}
    try await rig.push(raw: Self.good)
    try await rig.until { try await rig.store.campaigns.find("good")?.state == .completed }
    if entry == .audience { expect(try await rig.store.campaigns.find("counted") == nil) }
    end.signal()
    if entry == .audience {
      try await rig.until { try await rig.store.campaigns.find("counted") != nil }
      let record = try #require(try await rig.store.campaigns.find("counted"))
      expect(record.approval.estimate?.targets == 5 && record.state == .paused, "\(record)")
    }
    await worker.stop()
    try await running
  }

  /// Both workers check an expensive job of one app, and no check ends before the urgent campaign of another app has
  /// been sent.
  @Test func expensiveJobsOfAnAppDelayNoUrgentCampaignOfAnother() async throws {
    let rig = try await rig()
    let end = DispatchSemaphore(value: 0)
    // A failing test must not wait for the workers without end.
    defer { end.signal() }
    let checking = Mutex<Set<String>>([])
    let workers = ["one", "other"].map { name in
      var configuration = WorkerConfiguration(
        name: name, drains: false, apps: ["news": rig.channel, "sport": rig.channel])
      configuration.jobCheckLimit = .seconds(3600)
      configuration.faults.checksJob = { job in
        guard job.count > 16_384 else { return }
        checking.withLock { _ = $0.insert(name) }
        end.wait()
        end.signal()
      }
      return PushWorker(
        configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
        observer: { _ in })
    }
    async let first: Void = workers[0].run()
    async let second: Void = workers[1].run()
    let users = (0..<3000).map { "\"s\($0)\"" }.joined(separator: ",")
    var expensive: [String] = []
    try await rig.until {
      if checking.withLock({ $0.count }) == workers.count { return true }
      expensive.append("slow\(expensive.count)")
      try await rig.push(
        raw: Self.job(expensive[expensive.count - 1], #""audience":{"users":[\#(users)]}"#)
          .replacing(#""app":"news""#, with: #""app":"sport""#))
      return false
    }
    try await rig.push(raw: Self.good)
    try await rig.until { await rig.simulator.counters().accepted == 1 }
    for id in expensive { expect(try await rig.store.campaigns.find(id) == nil) }
    expect(try await dead(rig).isEmpty)
    end.signal()
    for id in expensive {
      try await rig.until { try await rig.store.campaigns.find(id)?.state == .completed }
    }
    for worker in workers { await worker.stop() }
    _ = try await (first, second)
  }

  /// Endless checks keep their threads, and the jobs after them get new ones.
  @Test func severalEndlessChecksDoNotStopTheIntake() async throws {
    let rig = try await rig()
    let end = DispatchSemaphore(value: 0)
    defer { for _ in 0..<5 { end.signal() } }
    var configuration = WorkerConfiguration(name: "w", drains: true, apps: ["news": rig.channel])
    configuration.jobCheckLimit = .milliseconds(200)
    configuration.faults.checksJob = { job in
      guard String(decoding: job, as: UTF8.self).contains(#""id":"slow"#) else { return }
      while end.wait(timeout: .now()) == .timedOut {}
    }
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: { _ in })
    for number in 0..<5 { try await rig.push(raw: Self.job("slow\(number)", #""audience":{"users":["u1"]}"#)) }
    try await rig.push(raw: Self.good)
    try await worker.run()
    expect(try await rig.store.campaigns.find("good")?.state, is: .completed)
    expect(try await dead(rig).count, is: 5)
    expect(OverdueChecks.since != nil)
  }

  /// The reading of campaigns' large jobs does not use the places for prepared slices.
  @Test func largeJobsOfRunningCampaignsDelayNoOther() async throws {
    let rig = try await rig(partitions: 1)
    // A worker prepares at most eight slices at a time, and each campaign has one slice.
    let ids = (0..<8).map { "large\($0)" }
    let users = (1...3000).map { "\"u\($0)\"" }.joined(separator: ",")
    for id in ids {
      let job = Array(Self.job(id, #""audience":{"users":[\#(users)]}"#).utf8)
      let campaign = try CampaignJob.parse(job, .any([APNsService()]))
      _ = try await rig.store.queue.activate(campaign, job: job, worker: "other", narrowed: true)
    }
    let end = DispatchSemaphore(value: 0)
    var configuration = WorkerConfiguration(name: "w", drains: true, apps: ["news": rig.channel])
    configuration.faults.checksJob = { job in
      guard job.count > 16_384 else { return }
      end.wait()
      end.signal()
    }
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: { _ in })
    async let running: Void = worker.run()
    // A failing test must not wait for the worker without end.
    defer { end.signal() }
    // The worker has taken a slice of each campaign before the urgent campaign comes.
    try await rig.until {
      for id in ids where try await rig.store.campaigns.find(id)?.times.startedAt == nil { return false }
      return true
    }
    try await rig.push(raw: Self.good)
    try await rig.until { try await rig.store.campaigns.find("good")?.state == .completed }
    end.signal()
    try await running
    for id in ids { expect(try await rig.store.campaigns.find(id)?.counters.outcomes, is: [.accepted: 4]) }
  }

  /// A stopping worker does not wait for a check. The job goes back to the queue without a counted attempt.
  @Test(arguments: [100, 20_000])
  func workerThatStopsDoesNotWaitForACheck(bytes: Int) async throws {
    let rig = try await rig()
    let end = DispatchSemaphore(value: 0)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    var configuration = WorkerConfiguration(name: "w", apps: ["news": rig.channel])
    configuration.jobCheckLimit = .seconds(3600)
    configuration.faults.checksJob = { _ in
      begin.finish()
      end.wait()
    }
    let worker = PushWorker(
      configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
      observer: { _ in })
    let padding = String(repeating: "x", count: bytes)
    let job = Self.job("slow", #""audience":{"users":["u1"]},"collapseId":"\#(padding)""#)
    try await rig.push(raw: job)
    async let running: Void = worker.run()
    for await _ in begun {}
    await worker.stop(within: 3600)
    try await running
    end.signal()
    expect(try await rig.command("LINDEX", "campaigns", "0").bytes.map(Array.init), is: Array(job.utf8))
    expect(try await rig.command("HLEN", "attempts").integer, is: 0)
  }
}
