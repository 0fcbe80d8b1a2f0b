import APNs
import APNsSimulator
import CampaignStore
import Foundation
import Glibc
import PushCore
import Redis
import TLS
import TestSupport

/// A case for each alert of `deploy/monitoring`, with its real cause. Real workers and a real admin server run, their
/// metrics are scraped, and Prometheus' own code evaluates the rules over the samples.
public enum AlertCases {
  static let all = [pushService, quota, renewal, fleet, redis]

  /// Alerts whose cause is too slow for the short form.
  private static let slow = ["CarillonBreakerFlapping", "CarillonPoisonTarget"]

  /// The alerts that the cases fire.
  public static let alerts = ofPushService + [ofQuota, ofRenewal] + ofFleet + ofRedis + slow
  private static let ofQuota = "CarillonQuotaExceeded"
  private static let ofRenewal = "CarillonCredentialFailing"
  private static let ofPushService = [
    "CarillonFailuresBurn", "CarillonBreakerOpen", "CarillonGuardTripped", "CarillonCredentialStopped",
    "CarillonCredentialEnds", "CarillonBackendUnhealthy",
  ]
  private static let ofFleet = [
    "CarillonDeadJobs", "CarillonWorkersDie", "CarillonNoWorker", "CarillonQueueStands", "CarillonOldestWaits",
    "CarillonScheduleLate", "CarillonApprovalUrgent", "CarillonApprovalWaits",
  ]
  private static let ofRedis = [
    "CarillonRedisMemory", "CarillonRedisChanges", "CarillonRedisUnreachable", "CarillonWorkerNotReady",
    "CarillonLogLinesDropped",
  ]

  /// Returns all alerts of the rules.
  public static func known() throws -> [String] { try Promtool.alerts() }

  static func fault(_ alert: String) -> String { "trouble of \(alert)" }

  // MARK: The push service

  /// Returns the settings of an app whose push certificate expires tomorrow and whose backend does not answer.
  private static func certificateUntilTomorrow(in folder: ScratchFolder) throws -> [String] {
    let identity = try PushCertificateAuthority().issue(topic: "com.example.old", validity: -86_400..<86_400)
    try folder.writeSecret("push.pem", identity.certificateChainPEM + identity.privateKeyPEM)
    return [
      "  old:", "    apns:", "      topic: com.example.old", "      environment: production",
      "      certificate: { file: \(folder.path("push.pem")) }", "      endpoint: https://127.0.0.1:1",
      "    backend: { healthURL: \"http://127.0.0.1:1/health\", every: 1s, rate: 100 }",
    ]
  }

  static let pushService = FaultCase(
    "alerts-push-service", faults: ofPushService.map(fault),
    invariant: "each alert fires after its trouble; every panel of the dashboard has a series",
    bound: "0: no worker died"
  ) { stage in
    let folder = try ScratchFolder("certificate")
    let settings = try certificateUntilTomorrow(in: folder)
    let scene = try await AlertScene(stage) {
      $0.settings = settings
      // Enough pushes that the campaign of `storm` outlasts all openings of the circuit breaker: in each pause between
      // two openings, on a slow machine too, the service accepts a few hundred.
      $0.devices = stage.times(short: 600, full: 6000)
      $0.redis = ["--maxmemory", "1gb", "--maxmemory-policy", "noeviction"]
      // The guard must permit a campaign of which half the messages are refused, but not a campaign whose tokens are
      // all bad.
      $0.environment["CARILLON_GUARD_THRESHOLD"] = "0.8"
    }
    let simulator = scene.world.simulator
    // With an unknown reason, pushes are rejected.
    try await simulator.set(#"{"failures":[{"share":0.5,"status":400,"reason":"Strange"}]}"#)
    try await scene.send(FaultCampaign("strange"))
    try await simulator.set(#"{"failures":[]}"#)
    try await scene.fires("CarillonFailuresBurn", after: 5)
    try scene.showsDashboard()

    try await simulator.set(#"{"failures":[{"share":1,"status":503,"reason":"ServiceUnavailable"}]}"#)
    let away = FaultCampaign("away")
    try await scene.world.submit(away)
    try await scene.awaitMetric("carillon_breaker_open", "is 1") { $0 == 1 }
    try await scene.fires("CarillonBreakerOpen", after: 7)
    if stage.scale == .full { try await storm(scene) }
    try await simulator.set(#"{"failures":[]}"#)
    try await scene.world.ended(away)

    try await scene.world.setDevices(#""state":"bad""#)
    let wrong = FaultCampaign("wrong") { $0.end = "cancelled" }
    try await scene.world.submit(wrong)
    try await until("the guard has paused it") {
      try await scene.world.store.campaigns.find(wrong.id)?.state == .paused
    }
    try await scene.fires("CarillonGuardTripped", after: 2)
    try await scene.world.succeed("campaign", "cancel", wrong.id)
    try await scene.world.ended(wrong)
    try await scene.world.setDevices(#""state":"registered""#)

    try await simulator.set(#"{"revokedKeys":["SIMULATOR1"]}"#)
    let keyless = FaultCampaign("keyless") { $0.end = "cancelled" }
    try await scene.world.submit(keyless)
    try await scene.awaitMetric("carillon_credential_stopped", "is 1") { $0 == 1 }
    try await scene.fires("CarillonCredentialStopped", after: 4)
    try await scene.world.succeed("campaign", "cancel", keyless.id)
    try await scene.world.ended(keyless)
    for alert in ["CarillonCredentialEnds", "CarillonBackendUnhealthy"] { scene.hasFired(alert) }
    try await scene.finish()
  }

  /// Lets the push service recover and fail again several times.
  private static func storm(_ scene: AlertScene) async throws {
    let more = FaultCampaign("storm") { $0.more["rate"] = "200" }
    for opening in 1...6 {
      try await scene.world.simulator.set(#"{"failures":[]}"#)
      try await scene.awaitMetric("carillon_breaker_open", "is 0", byAll: true) { $0 == 0 }
      if opening == 1 { try await scene.world.submit(more) }
      try await scene.world.simulator.set(#"{"failures":[{"share":1,"status":503,"reason":"ServiceUnavailable"}]}"#)
      try await scene.awaitMetric("carillon_breaker_openings_total", "grows to \(opening + 1)") {
        $0 >= Double(opening + 1)
      }
    }
    try await scene.fires("CarillonBreakerFlapping", after: 2)
    try await scene.world.simulator.set(#"{"failures":[]}"#)
    try await scene.world.ended(more)
  }

  // MARK: The quota of a push service

  static let quota = FaultCase(
    "alerts-quota", faults: [fault(ofQuota)], invariant: "the alert fires after its trouble",
    bound: "0: 429 excludes delivery"
  ) { stage in
    let scene = try await AlertScene(stage) {
      // A refused push is retried only after a minute, so each worker needs enough pushes for all samples.
      $0.devices = 5000
      $0.androidDevices = $0.devices
      // A push that is refused because of the quota does not count as an answer for the guard. With a smaller minimum
      // the guard would permit only a few pushes.
      $0.environment["CARILLON_GUARD_MINIMUM"] = String($0.devices)
    } well: { campaign, world in
      // Requests to FCM have no id of their campaign, so the checker can judge only one campaign to Android devices.
      campaign.more["services"] = #"["apns"]"#
      campaign.tokens = world.tokens
    }
    let simulator = scene.world.simulator
    try await simulator.set(#"{"fcm":{"failures":[{"share":1,"kind":"projectQuota","retryAfterSeconds":1}]}}"#)
    let refused = FaultCampaign("refused") { $0.content = #""message":{"body":"hi"}"# }
    try await scene.world.submit(refused)
    // The alert fires after many minutes with more than one refused push per second.
    let (minutes, each) = (9, 100)
    for minute in 1...minutes {
      try await scene.awaitMetric("carillon_quota_exceeded_total", "grows") { $0 >= Double(each * minute) }
      try await scene.record(minutes: 1)
    }
    try await scene.awaitMetric("carillon_quota_exceeded_total", "grows") { $0 >= Double(each * minutes * 2) }
    try await scene.fires(ofQuota, after: 7)
    try await simulator.set(#"{"fcm":{"failures":[]}}"#)
    try await scene.world.ended(refused)
    try await scene.finish()
  }

  // MARK: The renewal of an access token

  /// The key file is replaced by one with a key that Google does not know. Later, the correct file is back.
  static let renewal = FaultCase(
    "alerts-renewal", faults: [fault(ofRenewal)], invariant: "the alert fires after its trouble, and ends with it",
    bound: "0: no worker died"
  ) { stage in
    let scene = try await AlertScene(stage) {
      $0.androidDevices = $0.devices
    } well: { campaign, _ in
      campaign.content = #""message":{"body":"hi"}"#
    }
    let (world, metric) = (scene.world, "carillon_credential_renewal_failing")
    let key = try world.serviceAccountKey()
    try world.replaceServiceAccount(keyID: String(key.reversed()))
    try await scene.awaitMetric(metric, "is 1") { $0 == 1 }
    try await scene.fires(ofRenewal, after: 4)
    try world.replaceServiceAccount(keyID: key)
    try await scene.awaitMetric(metric, "is 0", byAll: true) { $0 == 0 }
    try await scene.finish()
  }

  // MARK: The fleet

  static let fleet = FaultCase(
    "alerts-fleet", faults: ofFleet.map(fault), invariant: "each alert fires after its trouble", bound: "window × kills"
  ) { stage in
    let clock = try ShiftedClock()
    let launcher = try clock.launcher
    let scene = try await AlertScene(stage) {
      $0.devices = 2000
      $0.simulator = ["--latency", "200ms"]
      $0.redis = ["--appendonly", "yes"]
      $0.redisLauncher = launcher
    }
    let (world, window) = (scene.world, scene.world.options.window)
    try await world.redis.command("LPUSH", "{\(world.namespace)}:campaigns", "no job").get()
    try await scene.awaitMetric("carillon_dead_jobs_total", "is 1") { $0 == 1 }
    try await scene.fires("CarillonDeadJobs", after: 2)
    try await approval(scene)

    let survived = FaultCampaign("survived")
    try await world.submit(survived)
    guard let victim = try await world.sending(among: scene.live).first else {
      throw TestSupportError("no worker sends")
    }
    if await world.kill(victim) { stage.allow(duplicates: window) }
    try await world.ended(survived)
    try await scene.fires("CarillonWorkersDie", after: 2)
    if stage.scale == .full { try await poison(scene) }

    // When all workers die, the fleet has a running campaign, a scheduled one and submitted ones.
    let news = FaultCampaign("news") { $0.more["lane"] = #""urgent""# }
    let now = try await world.store.time() / 1000
    let soon = Date(timeIntervalSince1970: Double(now) / 1000 + 20).formatted(.iso8601)
    let scheduled = FaultCampaign("scheduled") { $0.more["sendAt"] = "\"\(soon)\"" }
    try await world.submit(scheduled)
    try await until("it is scheduled") { try await world.store.campaigns.find(scheduled.id)?.state == .scheduled }
    try await world.submit(news)
    try await world.reached(20, of: news)
    for worker in scene.live where await world.kill(worker) { stage.allow(duplicates: window) }
    // Each dead worker may still take one job, because Redis has not detected its death yet. So more jobs than workers
    // are pushed.
    let queued = (1...3).map { FaultCampaign("queued-\($0)") }
    for campaign in queued { try await world.push(campaign) }
    try await scene.awaitMetric("carillon_fleet_queue_jobs", "has one") { $0 >= 1 }
    try await scene.fires("CarillonNoWorker", "CarillonQueueStands", after: 7)
    // No worker runs for twelve minutes.
    try await clock.shift(world.server, by: 720)
    try await scene.awaitMetric("carillon_fleet_schedule_lag_seconds", "has grown") { $0 > 60 }
    try await scene.fires("CarillonOldestWaits", "CarillonScheduleLate", after: 4)
    try await clock.shift(world.server, by: 0)
    for _ in 0..<2 { try await scene.addWorker() }
    for campaign in [news, scheduled] + queued { try await world.ended(campaign) }
    try await scene.finish()
  }

  /// Submits two campaigns that need approval: one that should have started, and one for tomorrow.
  private static func approval(_ scene: AlertScene) async throws {
    let world = scene.world
    let tomorrow = try await world.store.time() / 1000 + 86_400_000
    let sendAt = #","sendAt":"\#(Timestamp.format(milliseconds: tomorrow))""#
    for (id, more) in [("unapproved", ""), ("unapproved-tomorrow", sendAt)] {
      let job = Array(CarillonWorld.job(id, audience: #"{"segment":"*"}"#, more: more).utf8)
      let campaign = try CampaignJob.parse(job, .any([APNsService()]))
      _ = try await world.store.queue.activate(campaign, job: job, worker: "large", approval: "it is large")
    }
    try await scene.awaitMetric("carillon_fleet_campaigns_awaiting_approval", "is 2") { $0 == 2 }
    try await scene.fires("CarillonApprovalUrgent", "CarillonApprovalWaits", after: 17)
    for id in ["unapproved", "unapproved-tomorrow"] { try await world.store.campaigns.control(id, .cancel) }
  }

  private static func poison(_ scene: AlertScene) async throws {
    let world = scene.world
    let environment = ["CARILLON_FAULT_POISON": world.tokens[7], "CARILLON_WORKER_WINDOW": "8"]
    let sound = scene.live
    let poison = FaultCampaign("poison") { $0.mayBeUnknown = [world.tokens[7]] }
    for _ in 0..<2 { try await scene.addWorker(environment: environment) }
    for worker in sound { scene.stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop") }
    try await world.submit(poison)
    var deaths = 0
    try await until("the poison is found", within: .seconds(240), every: .milliseconds(200)) {
      let hasEnded = try await world.hasEnded(poison)
      while scene.live.count < 2 {
        try await scene.addWorker(environment: environment)
        deaths += 1
      }
      return hasEnded
    }
    scene.stage.allow(duplicates: deaths * 8)
    try await scene.fires("CarillonPoisonTarget", after: 2)
    let bitten = scene.live
    for _ in 0..<2 { try await scene.addWorker() }
    for worker in bitten { scene.stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop") }
  }

  // MARK: Redis

  static let redis = FaultCase(
    "alerts-redis", faults: ofRedis.map(fault), invariant: "each alert fires after its trouble",
    bound: "0: no worker died"
  ) { stage in
    let scene = try await AlertScene(stage) { $0.redis = ["--appendonly", "yes"] }
    let server = scene.world.server
    try await dropLogLines(scene)
    // The memory in use changes slightly when clients connect and disconnect.
    var used = 0.0
    for _ in 0..<5 {
      let scrape = try await scene.scrape()["admin"] ?? ""
      used = max(used, MetricsSamples.sum("carillon_fleet_redis_memory_bytes", in: scrape) ?? 0)
    }
    try await server.command("config", "set", "maxmemory", String(Int(used * 1.01)))
    try await scene.awaitMetric("carillon_fleet_redis_memory_limit_bytes", "is there") { $0 > 0 }
    try await scene.fires("CarillonRedisMemory", after: 7)
    try await server.command("config", "set", "maxmemory", "0")
    try await server.restart()
    try await scene.awaitMetric("carillon_redis_changes_total", "has grown") { $0 >= 1 }
    try await scene.fires("CarillonRedisChanges", after: 2)
    await server.stop()
    try await scene.awaitMetric("carillon_worker_ready", "is 0", byAll: true) { $0 == 0 }
    try await scene.awaitMetric("carillon_fleet_up", "is 0") { $0 == 0 }
    try await scene.fires("CarillonRedisUnreachable", "CarillonWorkerNotReady", after: 13)
    try await server.restart()
    try await scene.send(FaultCampaign("after"))
    try await scene.finish()
  }

  /// Lets a worker drop lines of its log, because it can't write them.
  private static func dropLogLines(_ scene: AlertScene) async throws {
    let name = "carillon_log_lines_dropped_total"
    let worker = try await scene.addWorkerWithoutLog()
    try await scene.record(minutes: 3)
    let before = MetricsSamples.sum(name, in: try await scene.scrape()[worker.name] ?? "") ?? 0
    // A reload writes a log line.
    worker.process.send(signal: SIGHUP)
    try await scene.awaitMetric(name, "has grown") { $0 > before }
    try await scene.fires("CarillonLogLinesDropped", after: 2)
    scene.stage.expect(await worker.terminate() == .status(0), "\(worker.name) did not stop")
  }
}
