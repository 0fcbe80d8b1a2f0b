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

/// A worker, a store and an APNs that gives the answer of a row, and the checks of the result.
struct ReasonStage {
  static let firstToken = WorkerRig.text(0)
  /// The delays differ from each other. They are so long that none ends during a check.
  static let retry = RetryPolicy(firstServerError: 100_000, serverError: 900_000, tooManyRequests: 200_000)
  /// The value of `Retry-After` in rows with this header. It is longer than the delays of ``retry`` and shorter than
  /// the longest.
  static let retryAfter = 1800

  /// The window of a worker whose pushes are all refused.
  private static let window = 4

  private static let authority = Result { try PushCertificateAuthority() }

  let run: ReasonRun
  let rig: WorkerRig
  let users: Int
  private let credential: any PushCredential
  private let redis: RedisClient

  init(_ run: ReasonRun) async throws {
    self.run = run
    let scene = run.scene
    let authority = run.auth == .certificate ? try Self.authority.get() : nil
    var rig = try await WorkerRig(engine: run.engine, partitions: 1) { configuration in
      configuration.clientAuthorityPEM = authority?.authorityPEM
      configuration.knobs = scene.knobs
      for index in configuration.keys.indices {
        configuration.keys[index].environment = scene.keyEnvironment
        configuration.keys[index].topics = scene.keyTopics
      }
      if !scene.isKeyKnown { configuration.keys = [] }
    }
    rig.channel.services[0].service = APNsService(AppTraits(topic: scene.topic))
    if let authority {
      rig.channel.services[0].credential = try ClientCertificate(
        authority.issue(
          topic: scene.certificateTopic, environments: scene.certificateEnvironments,
          validity: scene.certificateValidity))
    }
    self.rig = rig
    redis = RedisClient(url: rig.url, options: WorkerRig.unhurried)
    credential = rig.channel.services[0].credential
    // If the answer hits all pushes, there must be users whom the paused campaign has not reached.
    users = if case .one = scene.hit { 8 } else { 240 }
  }

  private var isPaused: Bool {
    switch run.row.campaign {
    case .paused, .guarded: true
    case .goesOn, .broadcast: false
    }
  }

  /// Sends the campaign until its state no longer changes without a call.
  func play() async throws {
    let scene = run.scene
    try await rig.register(users) { $0 == 0 || scene.hit.isAll ? scene.state : .registered }
    rig.simulator.load(
      (0..<(scene.hit.isAll ? users : 1)).map { number in
        SimulatedDevice(
          token: WorkerRig.token(number), state: scene.state, topic: scene.deviceTopic, timestamp: scene.deadSince,
          environment: scene.deviceEnvironment)
      })
    try await rig.push(raw: job())
    let isGuarded = if case .guarded = run.row.campaign { true } else { false }
    let worker = rig.worker(
      "w", window: scene.hit.isAll && !isGuarded ? Self.window : 40, connections: 1, retry: Self.retry,
      guard: GuardPolicy(minimum: isGuarded ? 20 : 200), drains: run.row.isOver)
    async let running: Void = worker.run()
    if !run.row.isOver {
      try await rig.until {
        guard let record = try await rig.store.campaigns.show("row") else { return false }
        if isPaused { return record.state == .paused && record.counters.inDoubt == 0 }
        // A target that is resent immediately waits for a moment too.
        guard record.counters.retrying == 1, record.pending == 1 else { return false }
        return try await nextAttempt().map { $0 > 0 } ?? false
      }
      await worker.stop()
    }
    try await running
  }

  private func job() -> String {
    guard let channel = run.scene.channel else {
      return
        #"{"id":"row","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"a"}}}\#(run.scene.fields)}"#
    }
    let id =
      switch channel {
      case .open: rig.simulator.openChannel(of: run.scene.topic, keepsLatest: false) ?? ""
      case .named(let name): name
      }
    return #"""
      {"id":"row","app":"news","audience":{"channel":"\#(id)"}\#(run.scene.fields),
      "apns":{"payload":{"aps":{"timestamp":1,"event":"update","content-state":{}}},"pushType":"liveactivity"}}
      """#
  }

  // MARK: Results

  func check() async throws {
    let row = run.row
    let results = try await rig.results("row")
    let record = try #require(try await rig.store.campaigns.show("row"))
    let counters = await rig.simulator.counters()
    try await checkTargets(results, record)
    try await checkDevices(results)
    switch row.credential {
    case .kept: expect(credential.stopped, is: nil, "\(run)")
    case .stopped(let reason): expect(credential.stopped, is: reason.code, "\(run)")
    case .stoppedBySomethingUnknown: expect([ReasonCode.none, .other].contains(credential.stopped), "\(run)")
    case .mintedOnce:
      expect(credential.stopped, is: nil, "\(run)")
      expect(credential.authorization()?.generation, is: 2, "\(run)")
    }
    switch row.connection {
    case .kept: expect(counters.connections, is: 1, "\(run)")
    // A repeated push uses the connection for suspects. The rest of the campaign, if any, uses a new one.
    case .replaced: expect((2...3).contains(counters.connections), "\(run)")
    case .another: expect(counters.connections, is: 2, "\(run)")
    case .refused: expect(counters.received, is: 0, "\(run)")
    }
    switch row.campaign {
    case .goesOn: expect(record.state, is: row.isOver ? .completed : .active, "\(run)")
    case .broadcast: expect(record.state, is: row.isOver ? .completed : .active, "\(run)")
    case .paused(let words), .guarded(let words):
      expect(record.state, is: .paused, "\(run)")
      // Nothing more is sent after the first such answer, even before Redis receives the pause.
      if run.scene.hit.isAll, case .paused = row.campaign { expect(counters.received <= Self.window, "\(run)") }
      expect(record.reason?.contains(words), is: true, "\(run): \(record.reason ?? "no reason")")
    }
    if row.disposition == .resent, !run.scene.hit.isAll { expect(counters.received, is: users + 1, "\(run)") }
  }

  private func checkTargets(_ results: [TargetResult], _ record: CampaignRecord) async throws {
    let row = run.row
    let hit = results.filter { run.scene.hit.isAll || run.scene.channel != nil || $0.user == "u0" }
    let others = results.filter { !run.scene.hit.isAll && run.scene.channel == nil && $0.user != "u0" }
    expect(results.count, is: run.scene.channel == nil ? users : 1, "\(run)")
    expect(others.allSatisfy { $0.outcome == .accepted }, "\(run)")
    let answered = hit.filter { $0.status != 0 }
    // A target that was taken back before its resend has no last answer any more.
    if row.status != nil, row.connection != .replaced { expect(!answered.isEmpty, "\(run)") }
    // A paused campaign leaves some users unsent, if it has more than one target.
    if isPaused, results.count > 1 { expect(answered.count < results.count, "\(run)") }
    for result in answered where row.disposition != .resent {
      expect(Int(result.status), is: row.status, "\(run)")
      expect(result.reason, is: row.exported(run.scene), "\(run)")
      expect(result.outcome, is: row.outcome, "\(run)")
    }
    for result in hit where row.disposition == .resent { expect(result.outcome, is: .accepted, "\(run)") }
    switch row.disposition {
    case .held, .spared: expect(hit.allSatisfy { $0.outcome == nil }, "\(run)")
    case .waits(let wait):
      expect(record.counters.retrying, is: 1, "\(run)")
      let left = try #require(try await nextAttempt())
      // A part of the wait has passed, and a tenth of it is random (`retry.jitter`).
      expect((wait.milliseconds - 30_000...wait.milliseconds * 11 / 10).contains(left), "\(run): \(left)")
    case .final, .resent: expect(record.counters.retrying == 0 || isPaused, "\(run)")
    }
  }

  private func checkDevices(_ results: [TargetResult]) async throws {
    guard run.scene.channel == nil else { return }
    let devices = try await rig.store.registry.user("u0")?.devices
    switch run.row.device {
    case .kept, .spared: expect(devices?.map(\.isQuarantined), is: [false], "\(run)")
    case .quarantined: expect(devices?.map(\.isQuarantined), is: [true], "\(run)")
    case .pruned: expect(devices, is: nil, "\(run)")
    }
    let record = try await rig.store.campaigns.show("row")
    expect(record?.counters.pruned, is: run.row.device == .pruned ? 1 : 0, "\(run)")
    expect(record?.counters.quarantined, is: run.row.device == .quarantined ? 1 : 0, "\(run)")
  }

  /// Returns the ms until the first waiting target is due, by Redis' clock; `nil` if none waits.
  private func nextAttempt() async throws -> Int? {
    let due = try await redis.command("ZRANGE", "{\(rig.keys.namespace):0}:retry:row", "0", "0", "WITHSCORES")
    guard due.count == 2, let score = due[1].string.flatMap(Double.init) else { return nil }
    return Int(score) - (try await rig.store.time()) / 1000
  }
}

extension ReasonScene.Hit {
  var isAll: Bool { if case .all = self { true } else { false } }
}

extension ReasonRow.Wait {
  var milliseconds: Int {
    switch self {
    case .firstServerError: ReasonStage.retry.firstServerError
    case .serverError: ReasonStage.retry.serverError
    case .tooManyRequests: ReasonStage.retry.tooManyRequests
    case .retryAfter: ReasonStage.retryAfter * 1000
    }
  }
}

extension ReasonRow {
  /// Whether the campaign ends without a further call.
  var isOver: Bool {
    switch (disposition, campaign) {
    case (.final, .goesOn), (.resent, .goesOn), (.final, .broadcast): true
    default: false
    }
  }

  /// Returns the reason in `results export`. A reason without a code appears only after the target has an outcome.
  func exported(_ scene: ReasonScene) -> String {
    // A body with an acceptance does not contain a reason.
    if outcome == .accepted { return "" }
    let word = exported ?? scene.word ?? String(name.prefix { $0.isLetter || $0.isNumber })
    return outcome == nil && Reason(name: word) == .other ? "" : word
  }
}
