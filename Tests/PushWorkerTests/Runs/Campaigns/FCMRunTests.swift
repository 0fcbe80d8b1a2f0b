import APNs
import APNsSimulator
import CampaignStore
import FCM
import Foundation
import PushCore
import PushTransport
import PushWorker
import TLS
import TestSupport
import Testing

/// Whole campaigns to Android devices: real workers, Redis and TLS, and the simulator of FCM and of Google's token
/// endpoint.
@Suite(.timeLimit(.minutes(2)))
struct FCMRunTests {
  private static let project = "test-project"
  private static let email = "sender@test-project.iam.gserviceaccount.com"
  private static let keyID = "0123456789abcdef0123456789abcdef01234567"

  /// A rig whose app uses FCM beside APNs.
  private struct FCMRig {
    var rig: WorkerRig

    init(
      engine: PushEngineKind, users: Int, log: String? = nil, knobs: FCMKnobs = FCMKnobs(),
      state: (Int) -> SimulatedRegistration.State = { _ in .registered }
    ) async throws {
      let key = try RSAPrivateKey.generate()
      rig = try await WorkerRig(engine: engine, others: [FCMService()]) { configuration in
        var fcm = FCMConfiguration()
        fcm.accounts = [.init(projectID: project, clientEmail: email, keyID: keyID, pem: key.publicPEM)]
        configuration.fcm = fcm
        configuration.log = log
        configuration.logsBodies = log != nil
        configuration.knobs.fcm = knobs
      }
      let account = try JSONSerialization.data(withJSONObject: [
        "type": "service_account", "project_id": project, "private_key_id": keyID, "private_key": key.pem,
        "client_email": email, "token_uri": "https://localhost:\(rig.simulator.tokenPort ?? 0)/token",
      ])
      let roots = rig.channel.services[0].endpoint.trustRoots
      rig.channel.services.append(
        ServiceChannel(
          service: FCMService(project: project), environment: "production",
          endpoint: PushEndpoint(url: "https://127.0.0.1:\(rig.simulator.fcmPort ?? 0)", trustRoots: roots),
          credential: AccessTokenSource(account: try ServiceAccount(json: Array(account)), trustRoots: roots)))
      try await rig.store.registry.register(
        (0..<users).map { number in
          var device = DeviceRecord(token: Array(Self.token(number).utf8), service: "fcm")
          device.app = "news"
          device.registeredAt = 1000
          return DeviceRegistration(user: "u\(number)", device: device)
        })
      rig.simulator.load((0..<users).map { SimulatedRegistration(Self.token($0), state: state($0)) })
    }

    static func token(_ number: Int) -> String { "cAAAAAAAAAAAAAAAAAAAAA:APA91b_\(number)" }
  }

  @Test(arguments: PushEngineKind.allCases)
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
    #expect(record.state == .completed && record.service == "fcm", "\(log.all)")
    #expect(record.counters.outcomes == [.accepted: 291, .unregistered: 6, .badToken: 3], "\(log.all)")
    #expect(record.counters.pruned == 6 && record.counters.quarantined == 3)
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
    #expect(record.state == .completed && record.parts.map(\.id) == ["both~main-apns", "both~main-fcm"], "\(log.all)")
    #expect(record.parts.map(\.counters.outcomes) == [[.accepted: 100], [.accepted: 200]], "\(log.all)")
    #expect(record.counters.audience.users == 200)
    let bodies = try RequestLine.read(path).map(\.body).filter { $0.contains("There") }
    let (apple, android) = (bodies.filter { $0.contains(#""aps":"#) }, bodies.filter { $0.contains(#""token":"#) })
    #expect(apple.count == 100 && android.count == 200)
    #expect(
      apple.allSatisfy {
        $0.hasPrefix(#"{"aps":{"alert":{"title":"Hi you","body":"There"},"badge":1,"interruption-level":"active"},"#)
          && $0.contains(#""sale":"42","push":""#)
      }, "\(apple.first ?? "")")
    // A user with two devices has the same badge count on both.
    #expect(
      android.allSatisfy { body in
        [
          #""notification":{"title":"Hi you","body":"There"}"#, #""notification_count":1"#, #""channel_id":"offers""#,
          #""data":{"sale":"42","push":""#, #""priority":"NORMAL""#, #""ttl":"14"#,
        ].allSatisfy { body.contains($0) }
      }, "\(android.first ?? "")")
    await fcm.rig.simulator.stop()
  }

  /// The quota of the project is smaller than the configured rate. FCM refuses the pushes until its minute ends, which
  /// is ten seconds here. The first retry comes ten seconds after the refusal.
  @Test(arguments: PushEngineKind.one(for: "exceededProjectQuotaFailsNoTarget"))
  func exceededProjectQuotaFailsNoTarget(engine: PushEngineKind) async throws {
    let fcm = try await FCMRig(
      engine: engine, users: 960,
      knobs: FCMKnobs {
        ($0.messagesPerMinute, $0.quotaSeconds, $0.quotaRetryAfterSeconds) = (900, 10, 1)
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
    #expect(record.state == .completed && record.counters.outcomes == [.accepted: 960], "\(log.all)")
    let refused = await fcm.rig.simulator.counters().fcm.errors["RATE_LIMIT_EXCEEDED"] ?? 0
    #expect(refused >= 60)
    // The fleet knows the limit of the answers.
    let quota = try #require(FCMService(project: Self.project).quota)
    let next = try await fcm.rig.store.limits.lend(0, of: .quota(quota), at: .perSecond(quota.perSecond), returned: 0)
    #expect(next.perSecond <= 900.0 / 60, "\(next)")
    let events = log.all.map { "\($0)" }
    #expect(events.contains { $0.hasPrefix("quotaExceeded(") } && !events.contains { $0.hasPrefix("breakerOpened(") })
    await fcm.rig.simulator.stop()
  }
}
