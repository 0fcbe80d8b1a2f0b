import APNsSimulator
import CampaignStore
import FCM
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Whole campaigns to Android devices: real workers, Redis and TLS, and the simulator of FCM and of Google's token
/// endpoint.
@Suite(.timeLimit(.minutes(6)), .takesTurns)
struct FCMRunTests {
  @Test(arguments: PushEngineKind.one(for: "androidDevicesGetACampaign"))
  func androidDevicesGetACampaign(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 300) { number in
      number % 50 == 7 ? .unregistered : number % 100 == 11 ? .malformed : .registered
    }
    try await fcm.rig.submit(
      "android", #","services":["fcm"],"uniqueKey":"push""#,
      content: #""message":{"title":"Hi","body":"There","data":{"sale":"42"}}"#)
    let log = EventLog()
    try await fcm.rig.worker("w", log: log).run()
    let record = try #require(try await fcm.rig.store.campaigns.show("android"))
    expect(record.state == .completed && record.service == "fcm", "\(log.all)")
    expect(record.counters.outcomes, is: [.accepted: 291, .unregistered: 6, .badToken: 3], "\(log.all)")
    expect(record.counters.pruned == 6 && record.counters.quarantined == 3)
    await fcm.rig.simulator.stop()
  }

  @Test func oneMessageReachesAppleAndAndroidDevices() async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests")
    let fcm = try await FCMRig(engine: .native, users: 200, log: path)
    // Users 0 to 99 have both devices.
    try await fcm.rig.register(100)
    try await fcm.rig.submit(
      "both", #","uniqueKey":"push","expiration":"4h","urgency":"normal""#,
      content: #""message":{"title":"Hi {{name|you}}","body":"There","badge":"+1","data":{"sale":"42"}},"#
        + #""fcm":{"message":{"android":{"notification":{"channel_id":"offers"}}}},"#
        + #""apns":{"payload":{"aps":{"interruption-level":"active"}}}"#)
    let log = EventLog()
    try await fcm.rig.worker("w", log: log).run()
    let record = try #require(try await fcm.rig.store.campaigns.show("both"))
    expect(record.state == .completed && record.parts.map(\.id) == ["both~main-apns", "both~main-fcm"], "\(log.all)")
    expect(record.parts.map(\.counters.outcomes), is: [[.accepted: 100], [.accepted: 200]], "\(log.all)")
    expect(record.counters.audience.users, is: 200)
    let bodies = try RequestLine.read(path).map(\.body).filter { $0.contains("There") }
    let (apple, android) = (bodies.filter { $0.contains(#""aps":"#) }, bodies.filter { $0.contains(#""token":"#) })
    expect(apple.count == 100 && android.count == 200)
    expect(
      apple.allSatisfy {
        $0.hasPrefix(#"{"aps":{"alert":{"title":"Hi you","body":"There"},"badge":1,"interruption-level":"active"},"#)
          && $0.contains(#""sale":"42","push":""#)
      }, "\(apple.first ?? "")")
    // A user with two devices has the same badge count on both.
    expect(
      android.allSatisfy { body in
        [
          #""notification":{"title":"Hi you","body":"There"}"#, #""notification_count":1"#, #""channel_id":"offers""#,
          #""data":{"sale":"42","push":""#, #""priority":"NORMAL""#, #""ttl":"14"#,
        ].allSatisfy { body.contains($0) }
      }, "\(android.first ?? "")")
    await fcm.rig.simulator.stop()
  }

  /// FCM gives no time with `UNREGISTERED`. A device that registers after its push was granted has a token that works
  /// again, so it is kept. Here, the push waits for an access token while the device registers.
  @Test(arguments: PushEngineKind.one(for: "deviceThatRegistersAfterTheGrantIsKept"))
  func deviceThatRegistersAfterTheGrantIsKept(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 1, partitions: 1) { _ in .unregistered }
    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = true }
    try await fcm.rig.submit("gone", #","services":["fcm"]"#, content: #""message":{"title":"Hi"}"#)
    async let running: Void = fcm.rig.worker("w").run()
    try await fcm.rig.until { try await fcm.rig.store.campaigns.show("gone")?.counters.inDoubt == 1 }
    var device = DeviceRecord(token: Array(FCMRig.token(0).utf8), service: "fcm")
    device.app = "news"
    // Later than the grant also if both are in the same millisecond.
    device.registeredAt = UInt64(try await fcm.rig.store.time() / 1000) + 1
    try await fcm.rig.store.registry.register([DeviceRegistration(user: "u0", device: device)])
    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = false }
    try await running
    let counters = try #require(try await fcm.rig.store.campaigns.show("gone")).counters
    expect(counters.outcomes == [.unregistered: 1] && counters.pruned == 0, "\(counters)")
    expect(try await fcm.rig.store.registry.user("u0")?.devices.count, is: 1)
    await fcm.rig.simulator.stop()
  }

  /// FCM refuses the message for every device. The guard pauses the leg of FCM only, and no target is lost.
  @Test(arguments: PushEngineKind.one(for: "refusedMessagePausesTheLegOfFCM"))
  func refusedMessagePausesTheLegOfFCM(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 1000)
    await fcm.rig.simulator.change { $0.fcm.failures = [.init(share: 1, kind: .invalidArgument)] }
    try await fcm.rig.register(100)
    try await fcm.rig.submit("refused", content: #""message":{"title":"Hi","body":"There"}"#)
    let log = EventLog()
    let worker = fcm.rig.worker("w", window: 400, drains: false, log: log)
    let run = Task { try await worker.run() }
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("refused")?.state == .paused }
    let paused = try #require(try await fcm.rig.store.campaigns.show("refused"))
    expect(paused.pausedItself && paused.parts.map(\.state) == [.completed, .paused], "\(log.all)")
    expect(paused.reason?.contains("mostly with INVALID_ARGUMENT: probably a wrong message"), is: true)
    expect(try await fcm.outcomes("apns", of: "refused"), is: [.accepted: 100])
    expect(try await fcm.outcomes("fcm", of: "refused"), is: [:])
    let sent = await fcm.rig.simulator.counters().fcm.received
    expect((200...400).contains(sent), "\(sent)")

    await fcm.rig.simulator.change { $0.fcm.failures = [] }
    _ = try await fcm.rig.store.campaigns.resume("refused", unguarded: false, by: "", service: "fcm")
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("refused")?.state == .completed }
    expect(try await fcm.outcomes("fcm", of: "refused"), is: [.accepted: 1000])
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  /// The message becomes wrong in the middle of a campaign. The guard pauses it after a bounded number of refusals.
  @Test(arguments: PushEngineKind.one(for: "laterRefusedMessageFailsFewTargets"))
  func laterRefusedMessageFailsFewTargets(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 3000)
    await fcm.rig.simulator.change { $0.fcm.latencyMilliseconds = 20 }
    try await fcm.rig.submit("later", #","services":["fcm"]"#, content: #""message":{"title":"Hi","body":"There"}"#)
    let worker = fcm.rig.worker("w", window: 400, drains: false)
    let run = Task { try await worker.run() }
    try await fcm.rig.until { await fcm.rig.simulator.counters().fcm.accepted >= 600 }
    await fcm.rig.simulator.change { $0.fcm.failures = [.init(share: 1, kind: .invalidArgument)] }
    try await fcm.rig.until {
      guard let record = try await fcm.rig.store.campaigns.show("later") else { return false }
      return record.state == .paused && record.counters.inDoubt == 0
    }
    let outcomes = try #require(try await fcm.rig.store.campaigns.show("later")).counters.outcomes
    expect(outcomes[.rejected, default: 0] <= 45 && outcomes[.accepted, default: 0] >= 600, "\(outcomes)")
    expect(outcomes.values.reduce(0, +) < 3000)
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  /// The quota of the project is smaller than the configured rate. FCM refuses the pushes until its minute ends, which
  /// is ten seconds here. The first retry comes ten seconds after the refusal.
  @Test(arguments: PushEngineKind.one(for: "exceededProjectQuotaFailsNoTarget"))
  func exceededProjectQuotaFailsNoTarget(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(
      engine: engine, users: 360,
      knobs: FCMKnobs {
        ($0.messagesPerMinute, $0.quotaSeconds, $0.quotaRetryAfterSeconds) = (300, 10, 1)
      })
    try await fcm.rig.submit("android", #","services":["fcm"]"#, content: #""message":{"title":"Hi"}"#)
    let log = EventLog()
    try await withThrowingTaskGroup { group in
      for name in ["one", "other"] {
        // A refusal that used up an attempt would fail its target.
        let worker = fcm.rig.worker(name, retry: RetryPolicy(attempts: 1), log: log)
        group.addTask { try await worker.run() }
      }
      try await group.waitForAll()
    }
    let record = try #require(try await fcm.rig.store.campaigns.show("android"))
    expect(record.state == .completed && record.counters.outcomes == [.accepted: 360], "\(log.all)")
    let refused = await fcm.rig.simulator.counters().fcm.errors["RATE_LIMIT_EXCEEDED"] ?? 0
    expect(refused >= 60)
    // The fleet uses the limit that the answers report.
    let quota = try #require(FCMService(project: FCMRig.project).quota)
    let next = try await fcm.rig.store.limits.lease(0, of: .quota(quota), at: .perSecond(quota.perSecond), returned: 0)
    expect(next.perSecond <= 300.0 / 60, "\(next)")
    let events = log.all.map { "\($0)" }
    expect(events.contains { $0.hasPrefix("quotaExceeded(") } && !events.contains { $0.hasPrefix("breakerOpened(") })
    await fcm.rig.simulator.stop()
  }

  /// Google revokes the key and its access tokens, and later the key file is replaced.
  @Test(arguments: PushEngineKind.one(for: "replacedKeyContinuesACampaign"))
  func replacedKeyContinuesACampaign(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 600)
    await fcm.rig.simulator.change { $0.fcm.latencyMilliseconds = 50 }
    try await fcm.rig.submit(
      "revoked", #","services":["fcm"],"rate":100"#, content: #""message":{"title":"Hi","body":"There"}"#)
    let worker = fcm.rig.worker("w", drains: false)
    let run = Task { try await worker.run() }
    try await fcm.rig.until { await fcm.rig.simulator.counters().fcm.accepted >= 50 }
    await fcm.rig.simulator.change {
      $0.fcm.revokedKeys = [FCMRig.keyIDs[0]]
      $0.fcm.failures = [.init(share: 1, kind: .accessTokenInvalid)]
    }
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("revoked")?.state == .paused }
    let paused = try #require(try await fcm.rig.store.campaigns.show("revoked"))
    expect(paused.reason?.contains("the key was deleted"), is: true, "\(paused.reason ?? "")")
    expect(Set(paused.counters.outcomes.keys) == [.accepted] && paused.pending > 0)

    await fcm.rig.simulator.change { $0.fcm.failures = [] }
    try fcm.replaceKey()
    _ = try await fcm.rig.store.campaigns.resume("revoked", unguarded: false, by: "")
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("revoked")?.state == .completed }
    let record = try #require(try await fcm.rig.store.campaigns.show("revoked"))
    expect(record.counters.outcomes.filter { $0.value > 0 }, is: [.accepted: 600])
    let counters = await fcm.rig.simulator.counters().fcm
    expect(counters.duplicates == 0 && counters.mints == 2, "\(counters)")
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  /// The access token expires while the token endpoint is down: pushes wait unsent, and operators see the reason.
  @Test(arguments: PushEngineKind.one(for: "campaignWaitsForTheTokenEndpoint"))
  func campaignWaitsForTheTokenEndpoint(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 600)
    await fcm.rig.simulator.change { $0.fcm.latencyMilliseconds = 50 }
    try await fcm.rig.submit(
      "waits", #","services":["fcm"],"rate":100"#, content: #""message":{"title":"Hi","body":"There"}"#)
    let worker = fcm.rig.worker("w", drains: false)
    let run = Task { try await worker.run() }
    try await fcm.rig.until { await fcm.rig.simulator.counters().fcm.accepted >= 20 }
    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = true }
    fcm.rig.simulator.expireAccessTokens()
    // Until the token expires, the reason of the wait is the campaign's rate.
    try await fcm.rig.until {
      try await fcm.rig.store.campaigns.show("waits")?.waiting?.reason.contains("can't be reached") == true
    }
    let waiting = try #require(try await fcm.rig.store.campaigns.show("waits"))
    expect(waiting.state == .active && waiting.counters.outcomes[.accepted] ?? 0 < 600)

    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = false }
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("waits")?.state == .completed }
    let record = try #require(try await fcm.rig.store.campaigns.show("waits"))
    expect(record.counters.outcomes.filter { $0.value > 0 } == [.accepted: 600] && record.waiting == nil)
    expect(await fcm.rig.simulator.counters().fcm.duplicates, is: 0)
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  /// Google refuses an assertion whose time is wrong. The worker corrects the time, and an operator sees the error.
  @Test(arguments: PushEngineKind.one(for: "wrongClockIsCorrectedAndReported"))
  func wrongClockIsCorrectedAndReported(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(engine: engine, users: 20)
    await fcm.rig.simulator.change { $0.fcm.clockSkewSeconds = -600 }
    try await fcm.rig.submit(
      "skewed", #","services":["fcm"]"#, content: #""message":{"title":"Hi","body":"There"}"#)
    let worker = fcm.rig.worker("w", drains: false)
    let run = Task { try await worker.run() }
    try await fcm.rig.until { try await fcm.rig.store.campaigns.find("skewed")?.state == .completed }
    expect(try await fcm.rig.store.campaigns.show("skewed")?.counters.outcomes[.accepted], is: 20)
    var alarm: FleetAlarm?
    try await fcm.rig.until {
      alarm = try await fcm.rig.store.fleet.snapshot(lease: 6000).alarms().first { $0.kind == .clockWrong }
      return alarm != nil
    }
    expect(alarm?.text.hasPrefix("the time of worker w is "), is: true, "\(alarm?.text ?? "")")
    expect(alarm?.text.hasSuffix(" s ahead of the push service of app news"), is: true, "\(alarm?.text ?? "")")
    await worker.stop()
    try await run.value
    await fcm.rig.simulator.stop()
  }

  /// A push that waits for a connection is sent with the lifetime that is left. Here, it waits for an access token.
  @Test(arguments: PushEngineKind.one(for: "waitingPushIsComposedAgain"))
  func waitingPushIsComposedAgain(engine: PushEngineKind) async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests")
    let fcm = try await FCMRig(engine: engine, users: 1, partitions: 1, log: path)
    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = true }
    try await fcm.rig.submit(
      "waits", #","services":["fcm"],"expiration":"60s""#, content: #""message":{"title":"Hi","body":"There"}"#)
    async let running: Void = fcm.rig.worker("w").run()
    try await fcm.rig.until { try await fcm.rig.store.campaigns.show("waits")?.counters.inDoubt == 1 }
    let start = ContinuousClock.now
    try await fcm.rig.until { start.duration(to: .now) > .seconds(9) }
    await fcm.rig.simulator.change { $0.fcm.tokenEndpointIsDown = false }
    try await running
    expect(try await fcm.rig.store.campaigns.show("waits")?.counters.outcomes, is: [.accepted: 1])
    let body = try #require(try RequestLine.read(path).map(\.body).last { $0.contains("There") })
    let text = try #require(body.firstMatch(of: /"ttl":"(\d+)s"/)?.1)
    expect(try #require(Int(text)) <= 56, "\(body)")
    await fcm.rig.simulator.stop()
  }
}
