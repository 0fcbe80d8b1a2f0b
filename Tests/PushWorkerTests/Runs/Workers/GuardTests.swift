import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestKit
import TestSupport
import Testing

/// The guard. One wrong setting can't erase the device base.
@Suite(.takesTurns) struct GuardTests {
  /// Returns the numbers of pruned and of quarantined devices of users `u0`, `u1`, ….
  private func touched(_ rig: WorkerRig, users: Int) async throws -> (pruned: Int, quarantined: Int) {
    var quarantined: [String: Bool] = [:]
    try await rig.store.registry.forEachUser { records in
      for record in records where !record.devices.isEmpty {
        quarantined[record.user] = record.devices.contains(where: \.isQuarantined)
      }
    }
    return (users - quarantined.count, quarantined.values.count { $0 })
  }

  /// Waits until the campaign is paused and every slice has been returned.
  ///
  /// - Returns: the campaign, and the number of requests that APNs has received.
  private func rest(_ rig: WorkerRig, _ id: String) async throws -> (CampaignRecord, received: Int) {
    var received = 0
    try await rig.until {
      guard let record = try await rig.store.campaigns.show(id), record.state == .paused else { return false }
      let apns = await rig.simulator.counters()
      received = apns.received
      let answered = record.counters.retrying + record.counters.outcomes.values.reduce(0, +)
      // Some granted targets may have been taken back before they were sent.
      return record.counters.inDoubt == 0 && answered >= apns.received - apns.duplicatesReceived
    }
    return (try #require(try await rig.store.campaigns.show(id)), received)
  }

  @Test(arguments: [
    (PushEngineKind.native, SimulatedDevice.State.bad, "probably the wrong environment for app news"),
    (.curl, .wrongTopic, "probably the wrong environment for app news, or the wrong topic"),
    (.curl, .unregistered, "answers reported the device as gone"),
  ])
  func refusedCampaignPausesAndReachesAllUsersAfterResume(
    engine: PushEngineKind, state: SimulatedDevice.State, reason: String
  ) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(2000) { _ in state }
    try await rig.submit("flood")
    let log = EventLog()
    let worker = rig.worker("w", window: 1000, log: log)
    async let running: Void = worker.run()
    let (paused, sent) = try await rest(rig, "flood")
    expect(paused.reason?.contains(reason), is: true, "\(paused.reason ?? "none")")
    expect(paused.reason?.hasPrefix("100 % of "), is: true)
    expect((200...400).contains(sent), "\(sent)")
    // Targets that were refused because of the setting have no outcome.
    expect(paused.counters.outcomes, is: [:])
    expect(paused.counters.retrying >= sent)
    expect(paused.counters.pruned, is: 0)
    expect(paused.counters.quarantined, is: 0)
    expect(try await touched(rig, users: 2000) == (0, 0))

    rig.simulator.load(
      (0..<2000).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic, timestamp: 2000) })
    expect(try await rig.store.campaigns.control("flood", .resume), is: .active)
    try await running
    let record = try #require(try await rig.store.campaigns.show("flood"))
    expect(record.state, is: .completed, "\(log.all)")
    // The worker logs the pause after Redis' reply. A reader of the campaign may see it earlier.
    expect(log.all.contains { $0.contains("paused") })
    expect(record.counters.outcomes, is: [.accepted: 2000])
    expect(record.counters.resent, is: 0)
    expect(try await touched(rig, users: 2000) == (0, 0))
    // The refused targets came again, under the same id.
    expect(await rig.simulator.counters().duplicatesReceived, is: sent)
  }

  @Test(arguments: PushEngineKind.one(for: "resumeWithoutARepairPausesAgain"))
  func resumeWithoutARepairPausesAgain(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(2000) { _ in .bad }
    try await rig.submit("stubborn")
    let worker = rig.worker("w", window: 200, drains: false)
    async let running: Void = worker.run()
    let (_, first) = try await rest(rig, "stubborn")
    expect(try await rig.store.campaigns.control("stubborn", .resume), is: .active)
    let (paused, second) = try await rest(rig, "stubborn")
    expect(second > first)
    expect(paused.counters.outcomes, is: [:])
    expect((100...200).contains(second - first), "\(second - first)")
    expect(try await touched(rig, users: 2000) == (0, 0))
    await worker.stop()
    try await running
  }

  @Test(arguments: TestForm.pairs(PushEngineKind.allCases, [SimulatedDevice.State.bad, .unregistered]))
  func unguardedResumeAppliesEveryAnswer(engine: PushEngineKind, state: SimulatedDevice.State) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(1000) { _ in state }
    try await rig.submit("unguarded")
    let worker = rig.worker("w", window: 1000)
    async let running: Void = worker.run()
    _ = try await rest(rig, "unguarded")
    expect(try await rig.store.campaigns.control("unguarded", .resume, unguarded: true), is: .active)
    try await running
    let record = try #require(try await rig.store.campaigns.show("unguarded"))
    expect(record.state, is: state == .unregistered ? .completed : .failed)
    let isGone = state == .unregistered
    expect(record.counters.outcomes, is: [isGone ? .unregistered : .badToken: 1000])
    expect(record.counters.pruned, is: isGone ? 1000 : 0)
    expect(record.counters.quarantined, is: isGone ? 0 : 1000)
    expect(try await touched(rig, users: 1000) == (isGone ? 1000 : 0, isGone ? 0 : 1000))
  }

  /// Answers to earlier pushes come after the resume. They do not count for the present setting.
  @Test(arguments: PushEngineKind.one(for: "answersFromBeforeTheResumeHaveNoEffect"))
  func answersFromBeforeTheResumeHaveNoEffect(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(300) { _ in .bad }
    await rig.simulator.change { $0.latencyMilliseconds = 150 }
    try await rig.submit("repaired")
    let log = EventLog()
    let worker = rig.worker("w", window: 1000, log: log)
    async let running: Void = worker.run()
    try await rig.until { await rig.simulator.counters().received >= 40 }
    // Pause and resume follow each other immediately, so the worker may miss the pause.
    try await rig.store.campaigns.control("repaired", .pause)
    rig.simulator.load(
      (0..<300).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic, timestamp: 2000) })
    try await rig.store.campaigns.control("repaired", .resume)
    try await running
    let record = try #require(try await rig.store.campaigns.show("repaired"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 300], "\(log.all)")
    expect(!log.all.contains { $0.hasPrefix("paused") })
    expect(try await touched(rig, users: 300) == (0, 0))
  }

  /// The cause of a refusal may have been repaired in the meantime.
  @Test(arguments: PushEngineKind.one(for: "refusalFromBeforeTheResumePausesNothing"))
  func refusalFromBeforeTheResumePausesNothing(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, users: 300)
    var knobs = rig.simulator.knobs
    knobs.latencyMilliseconds = 4000
    knobs.failures = [.init(share: 1, status: 400, reason: "BadMessageId")]
    await rig.simulator.set(knobs)
    try await rig.submit("repaired")
    let log = EventLog()
    let worker = rig.worker("w", window: 1000, log: log)
    async let running: Void = worker.run()
    // A connection takes one push until the first is answered.
    try await rig.until { await rig.simulator.counters().received >= 1 }
    // Pause and resume follow each other immediately, so the worker may miss the pause.
    try await rig.store.campaigns.control("repaired", .pause)
    knobs.failures = []
    knobs.latencyMilliseconds = 0
    await rig.simulator.set(knobs)
    try await rig.store.campaigns.control("repaired", .resume)
    try await rig.until { try await rig.store.campaigns.show("repaired")?.state == .completed }
    try await running
    let record = try #require(try await rig.store.campaigns.show("repaired"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 300], "\(log.all)")
    expect(log.all.filter { $0.hasPrefix("paused") }, is: [])
  }

  /// Small slices end before there are enough answers. Their held answers wait for those of the other slices.
  @Test(arguments: [(PushEngineKind.curl, SimulatedDevice.State.bad), (.native, .unregistered)])
  func fleetSendsAtMostTwiceTheMinimumWithAWrongSetting(engine: PushEngineKind, state: SimulatedDevice.State)
    async throws
  {
    let rig = try await WorkerRig(engine: engine, partitions: 256)
    try await rig.register(3000) { _ in state }
    try await rig.submit("wrong")
    let logs = (0..<3).map { _ in EventLog() }
    let workers = logs.enumerated().map { rig.worker("w\($0)", window: 1000, drains: false, log: $1) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      let (paused, sent) = try await rest(rig, "wrong")
      expect(paused.reason?.hasPrefix("100 % of "), is: true, "\(paused.reason ?? "none")")
      expect((200...400).contains(sent), "\(sent)")
      expect(paused.counters.pruned, is: 0)
      expect(paused.counters.quarantined, is: 0)
      expect(try await touched(rig, users: 3000) == (0, 0))
      rig.simulator.load(
        (0..<3000).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic, timestamp: 2000) })
      expect(try await rig.store.campaigns.control("wrong", .resume), is: .active)
      try await rig.until { try await rig.store.campaigns.show("wrong")?.state == .completed }
      let record = try #require(try await rig.store.campaigns.show("wrong"))
      expect(record.counters.outcomes, is: [.accepted: 3000])
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
  }

  @Test(arguments: PushEngineKind.one(for: "usualShareOfDeadDevicesIsPrunedToTheLast"))
  func usualShareOfDeadDevicesIsPrunedToTheLast(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(2000) { $0 % 100 < 3 ? .unregistered : $0 % 100 == 50 ? .bad : .registered }
    try await rig.submit("usual")
    let log = EventLog()
    try await rig.worker("w", window: 1000, log: log).run()
    let record = try #require(try await rig.store.campaigns.show("usual"))
    expect(record.state, is: .completed, "\(log.all)")
    expect(record.counters.outcomes, is: [.accepted: 1920, .unregistered: 60, .badToken: 20])
    expect(record.counters.pruned, is: 60)
    expect(record.counters.quarantined, is: 20)
    expect(try await touched(rig, users: 2000) == (60, 20))
  }

  @Test(arguments: PushEngineKind.one(for: "smallCampaignPrunesThoughItNeverReachesTheMinimum"))
  func smallCampaignPrunesThoughItNeverReachesTheMinimum(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine)
    try await rig.register(10) { $0 % 2 == 0 ? .unregistered : .registered }
    try await rig.submit("small")
    try await rig.worker("w", window: 1000).run()
    let record = try #require(try await rig.store.campaigns.show("small"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes, is: [.accepted: 5, .unregistered: 5])
    expect(record.counters.pruned, is: 5)
    expect(try await touched(rig, users: 10) == (5, 0))
  }

  /// One wrong setting, and several small campaigns in a row. Each has too few answers for a verdict of its own.
  @Test(arguments: PushEngineKind.one(for: "smallCampaignsAreJudgedWithEarlierOnes"))
  func smallCampaignsAreJudgedWithEarlierOnes(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 4)
    try await rig.register(60) { $0 < 20 ? .registered : .bad }
    let worker = rig.worker("w", window: 100, drains: false)
    async let running: Void = worker.run()
    func users(_ range: Range<Int>) -> String {
      #"{"users":[\#(range.map { "\"u\($0)\"" }.joined(separator: ","))]}"#
    }
    func play(_ id: String, _ range: Range<Int>) async throws -> CampaignRecord {
      try await rig.submit(id, audience: users(range))
      try await rig.until {
        guard let record = try await rig.store.campaigns.show(id) else { return false }
        return record.times.finishedAt != nil || record.state == .paused && record.counters.inDoubt == 0
      }
      return try #require(try await rig.store.campaigns.show(id))
    }
    for number in 0..<3 { expect(try await play("good-\(number)", 0..<20).state, is: .completed) }
    // Four of 64 answers are bad, which is allowed.
    expect(try await play("few", 20..<24).counters.quarantined, is: 4)
    // With this campaign, 24 of 84 answers would be bad.
    let wrong = try await play("wrong", 24..<44)
    expect(wrong.state, is: .paused)
    expect(wrong.reason?.hasPrefix("with the campaigns before it: "), is: true, "\(wrong.reason ?? "none")")
    expect(try await play("more", 44..<60).state, is: .paused)
    expect(try await touched(rig, users: 60) == (0, 4))

    rig.simulator.load(
      (0..<60).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic, timestamp: 2000) })
    for (id, count) in [("wrong", 20), ("more", 16)] {
      try await rig.store.campaigns.control(id, .resume)
      try await rig.until { try await rig.store.campaigns.show(id)?.state == .completed }
      expect(try await rig.store.campaigns.show(id)?.counters.outcomes, is: [.accepted: count])
    }
    expect(try await touched(rig, users: 60) == (0, 4))
    await worker.stop()
    try await running
  }

  @Test(.timeLimit(.minutes(6)), arguments: PushEngineKind.one(for: "manyTrialsEndWithASmallWindow"))
  func manyTrialsEndWithASmallWindow(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1, users: 60)
    // The devices were gone before they registered, so none is pruned, and every campaign meets all of them.
    rig.simulator.load(
      (0..<60).map { SimulatedDevice(token: WorkerRig.token($0), state: .unregistered, timestamp: 500) })
    for number in 0..<12 { try await rig.submit("many-\(number)") }
    try await rig.worker("w", window: 10, guard: GuardPolicy(pruneShare: 1)).run()
    for number in 0..<12 {
      let record = try #require(try await rig.store.campaigns.show("many-\(number)"))
      expect(record.state, is: .completed)
      expect(record.counters.outcomes, is: [.unregistered: 60])
    }
  }

  /// A worker that is restarted because of its wrong setting must not touch devices during its stop.
  @Test(arguments: PushEngineKind.one(for: "stoppedWorkerDropsSuspectAnswers"))
  func stoppedWorkerDropsSuspectAnswers(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1)
    try await rig.register(300) { _ in .bad }
    await rig.simulator.change { $0.latencyMilliseconds = 100 }
    try await rig.submit("hasty")
    let first = rig.worker("first", window: 1000, drains: false)
    async let running: Void = first.run()
    try await rig.until { await rig.simulator.counters().received >= 5 }
    await first.stop()
    try await running
    expect(try await rig.store.campaigns.show("hasty")?.counters.outcomes, is: [:])
    expect(try await touched(rig, users: 300) == (0, 0))
    rig.simulator.load(
      (0..<300).map { SimulatedDevice(token: WorkerRig.token($0), topic: WorkerRig.topic, timestamp: 2000) })
    try await rig.worker("second", window: 1000).run()
    expect(try await rig.store.campaigns.show("hasty")?.counters.outcomes, is: [.accepted: 300])
  }

  @Test(arguments: PushEngineKind.one(for: "stoppedWorkerRecordsWhatItHolds"))
  func stoppedWorkerRecordsWhatItHolds(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 1)
    try await rig.register(1000) { $0 % 4 == 0 ? .unregistered : .registered }
    await rig.simulator.change { $0.latencyMilliseconds = 100 }
    try await rig.submit("relay")
    let first = rig.worker("first", window: 300, guard: GuardPolicy(minimum: 150), drains: false)
    async let running: Void = first.run()
    try await rig.until { await rig.simulator.counters().received >= 20 }
    await first.stop()
    try await running
    let halfway = try #require(try await rig.store.campaigns.show("relay"))
    expect(halfway.counters.inDoubt, is: 0)
    expect(halfway.counters.pruned == halfway.counters.outcomes[.unregistered] ?? 0)
    try await rig.worker("second", window: 300).run()
    let record = try #require(try await rig.store.campaigns.show("relay"))
    expect(record.counters.outcomes, is: [.accepted: 750, .unregistered: 250])
    expect(record.counters.pruned, is: 250)
    expect(record.counters.resent, is: 0)
    expect(await rig.simulator.counters().duplicatesReceived, is: 0)
  }

  /// Eight workers are past their guard trials. From one moment on, APNs rejects every token.
  @Test(arguments: PushEngineKind.one(for: "fleetChangesNoMoreDevicesThanOneWorkerMay"))
  func fleetChangesNoMoreDevicesThanOneWorkerMay(engine: PushEngineKind) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: 16) { $0.knobs.latencyMilliseconds = 100 }
    try await rig.register(8000)
    let policy = GuardPolicy(threshold: 0.1, minimum: 80)
    let names = (0..<8).map { "w\($0)" }
    // Each worker knows the size of the fleet from its start.
    for name in names { _ = try await rig.store.fleet.heartbeat(worker: name, timeout: 3_600_000) }
    let workers = names.map {
      rig.worker($0, window: 200, connections: 1, guard: policy, lease: 3_600_000, drains: false)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      try await rig.submit("fleet")
      _ = try await rig.simulator.counters { $0.accepted >= 2000 }
      var knobs = SimulatorKnobs()
      knobs.latencyMilliseconds = 100
      knobs.failures = [.init(share: 1, status: 400, reason: "BadDeviceToken")]
      await rig.simulator.set(knobs)
      try await rig.until {
        guard let record = try await rig.store.campaigns.show("fleet") else { return false }
        return record.state == .paused && record.counters.inDoubt == 0
      }
      for worker in workers { await worker.stop() }
      try await group.waitForAll()
    }
    let record = try #require(try await rig.store.campaigns.show("fleet"))
    expect(record.reason?.contains("probably the wrong environment"), is: true)
    // The bound is a tenth of twice the minimum in the trial, and the same after it. Half of that is added if the sum
    // was halved in between, and one or two for each worker. Without the shared guard, each worker quarantined 100.
    expect(record.counters.quarantined <= 16 + 16 + 8 + 2 * 8, "\(record.counters.quarantined)")
    expect(record.counters.outcomes[.badToken] ?? 0 == record.counters.quarantined)
  }
}
