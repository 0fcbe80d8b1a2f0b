import CampaignStore
import PushCore
import PushTransport
import PushWorker
import Redis

/// The labels that identify a worker in its metrics.
public struct WorkerIdentity: Sendable {
  public var name: String
  public var version: String
  public var engine: String

  /// Creates an identity from its parts.
  public init(name: String, version: String, engine: String) {
    self.name = name
    self.version = version
    self.engine = engine
  }
}

/// A worker's metrics. `deploy/operations/metrics.md` lists them, and a test compares the list with this code.
struct WorkerExposition {
  let identity: WorkerIdentity
  /// The values of the worker; `nil` before the worker starts.
  let worker: WorkerMetrics?
  let isReady: Bool

  private static let nanoseconds = 1e9

  func write(to metrics: inout Exposition) {
    metrics.family("carillon_worker_info", .gauge, "Always 1; the labels describe the worker.")
    metrics.sample(
      1, ("worker", identity.name), ("version", identity.version), ("engine", identity.engine))
    metrics.single("carillon_worker_ready", .gauge, "Whether the worker is ready, as in /readyz.", isReady ? 1 : 0)
    writeRedis(to: &metrics)
    guard let worker else { return }
    writePushes(worker.apps, to: &metrics)
    writePools(worker.pools, to: &metrics)
    writeQuotas(worker.quotas, to: &metrics)
    metrics.family(
      "carillon_credential_stopped", .gauge,
      "Whether the push service refuses the credential of an app, so the app sends nothing.")
    for credential in worker.credentials {
      metrics.sample(credential.state.stopped == nil ? 0 : 1, Self.app(credential), ("service", credential.service))
    }
    metrics.family(
      "carillon_credential_renewal_failing", .gauge,
      "Whether the credential of an app can't be renewed. Its pushes are sent until the present access token expires.")
    for credential in worker.credentials {
      metrics.sample(
        credential.state.renewalProblem == nil ? 0 : 1, Self.app(credential), ("service", credential.service))
    }
    metrics.family(
      "carillon_certificate_expiry_timestamp_seconds", .gauge,
      "Expiry of the certificate of an app, in seconds since 1970.")
    for credential in worker.credentials {
      guard let end = credential.state.expiresAt else { continue }
      metrics.sample(end / 1000, Self.app(credential), ("service", credential.service))
    }
    writeWorker(worker, to: &metrics)
  }

  private func writePushes(_ apps: [WorkerMetrics.App], to metrics: inout Exposition) {
    metrics.family("carillon_pushes_total", .counter, "Pushes handed to connections, including retries.")
    for app in apps {
      metrics.sample(app.submitted, ("app", app.app), ("service", app.service), ("lane", app.lane.rawValue))
    }
    metrics.family("carillon_outcomes_total", .counter, "Targets whose outcome this worker recorded.")
    for app in apps {
      for outcome in Outcome.allCases {
        metrics.sample(
          app.outcomes[outcome] ?? 0, ("app", app.app), ("service", app.service), ("lane", app.lane.rawValue),
          ("outcome", outcome.name))
      }
    }
    metrics.family(
      "carillon_refusals_total", .counter, "Refused pushes, by the reason of the push service.")
    for app in apps {
      for (reason, count) in app.refusals.sorted(by: { $0.key < $1.key }) {
        metrics.sample(
          count, ("app", app.app), ("service", app.service), ("lane", app.lane.rawValue), ("reason", reason))
      }
    }
    func count(_ name: String, _ meaning: String, _ value: (WorkerMetrics.App) -> Int) {
      metrics.family(name, .counter, meaning)
      for app in apps {
        metrics.sample(value(app), ("app", app.app), ("service", app.service), ("lane", app.lane.rawValue))
      }
    }
    count("carillon_pushes_unanswered_total", "Pushes that ended without an answer.") { $0.unanswered }
    count("carillon_pushes_postponed_total", "Pushes that are sent again later.") { $0.retries }
    count("carillon_devices_pruned_total", "Devices that the push service reported as unregistered.") {
      $0.prunes
    }
    count("carillon_devices_quarantined_total", "Devices whose tokens the push service rejected as bad.") {
      $0.quarantines
    }
  }

  private func writePools(_ pools: [WorkerMetrics.Pool], to metrics: inout Exposition) {
    metrics.family(
      "carillon_answer_duration_seconds", .histogram, "Time between sending a push and its answer, in seconds.")
    for pool in pools {
      metrics.histogram(
        bounds: AnswerTimes.bounds.map { Double($0) / Self.nanoseconds }, counts: pool.state.times.counts,
        sum: Double(pool.state.times.sum) / Self.nanoseconds, ("app", Self.label(pool.apps)),
        ("service", pool.service), ("engine", identity.engine))
    }
    func value(
      _ name: String, _ kind: Exposition.Kind, _ meaning: String, _ value: (PoolState) -> Int
    ) {
      metrics.family(name, kind, meaning)
      for pool in pools { metrics.sample(value(pool.state), ("app", Self.label(pool.apps)), ("service", pool.service)) }
    }
    value("carillon_pushes_in_flight", .gauge, "Pushes that were sent and have no answer yet.") { $0.inFlight }
    value("carillon_stream_limit", .gauge, "Largest number of pushes in flight on the open connections.") {
      state in
      state.connections.reduce(0) { $0 + ($1.phase == .established ? $1.window : 0) }
    }
    value("carillon_pushes_waiting", .gauge, "Pushes that no connection has taken yet.") { $0.backlog }
    metrics.family("carillon_connections", .gauge, "Connections to the push service by state.")
    for pool in pools {
      for (name, phase) in [
        ("closed", ConnectionState.Phase.closed), ("opening", .opening), ("established", .established),
      ] {
        metrics.sample(
          pool.state.connections.count { $0.phase == phase }, ("app", Self.label(pool.apps)),
          ("service", pool.service), ("state", name))
      }
    }
    value("carillon_connections_opened_total", .counter, "Attempts to open a connection.") { $0.openings }
    value("carillon_connections_failed_total", .counter, "Connections that could not be opened or that broke.") {
      $0.failures
    }
    value(
      "carillon_breaker_open", .gauge,
      "Whether the circuit breaker is open: the push service answers nearly everything with server errors."
    ) {
      $0.breaker == .closed ? 0 : 1
    }
    value("carillon_breaker_openings_total", .counter, "Number of times that the circuit breaker opened.") {
      $0.breakerOpenings
    }
  }

  private func writeQuotas(_ quotas: [WorkerMetrics.Quota], to metrics: inout Exposition) {
    metrics.family(
      "carillon_quota_pushes_per_second", .gauge, "Present limit of all workers under the quota of a push service.")
    for quota in quotas { metrics.sample(quota.perSecond, ("quota", quota.name)) }
    metrics.family(
      "carillon_quota_exceeded_total", .counter, "Pushes that the push service refused because of its quota.")
    for quota in quotas { metrics.sample(quota.exceeded, ("quota", quota.name)) }
  }

  private func writeWorker(_ worker: WorkerMetrics, to metrics: inout Exposition) {
    let (totals, events) = (worker.totals, worker.events)
    metrics.single("carillon_window_targets", .gauge, "Limit of targets in doubt (worker.window).", worker.window)
    metrics.single(
      "carillon_window_used_targets", .gauge, "Targets that would be in doubt if the worker died now.",
      worker.windowUsed)
    metrics.single("carillon_slices_in_hand", .gauge, "Slices that the worker holds.", worker.slicesInHand)
    for (name, meaning, value) in [
      ("carillon_slices_finished_total", "Slices that the worker finished.", totals.slices),
      ("carillon_slices_lost_total", "Slices that other workers took over from this worker.", events.lostSlices),
      (
        "carillon_slices_requeued_total", "Slices of dead workers that the worker requeued.",
        events.requeuedSlices
      ),
      ("carillon_takeovers_total", "Slices with targets in doubt that the worker took over.", events.takeovers),
      ("carillon_takeover_targets_total", "Targets in doubt that the worker took over.", events.takenOverInDoubt),
      (
        "carillon_resent_total", "Targets in doubt that the worker sent again. These pushes may have arrived twice.",
        totals.resent
      ),
      ("carillon_commits_total", "Commits to which Redis replied.", totals.commits),
      ("carillon_campaigns_activated_total", "Jobs that the worker activated as campaigns.", events.activated),
      ("carillon_dead_jobs_total", "Jobs and events that the worker put on the dead list.", events.deadLettered),
      (
        "carillon_events_superseded_total", "Event statements that changed nothing, because newer data exists.",
        events.superseded
      ),
      (
        "carillon_campaigns_paused_total",
        "Campaigns that the worker paused: by the guard, or because every push was refused.",
        events.pausedCampaigns
      ),
      (
        "carillon_campaigns_declined_total",
        "Campaigns that the worker declined, because every push would fail here.",
        events.declines
      ),
      (
        "carillon_poison_targets_total",
        "Targets that the worker put on the dead list because they killed their workers.",
        events.poisonTargets
      ),
      ("carillon_redis_changes_total", "Number of times that Redis was restarted or replaced.", events.redisChanges),
      (
        "carillon_redis_reconnects_total", "Number of times that the connection to Redis broke and was opened again.",
        events.redisReconnects
      ),
      ("carillon_errors_retried_total", "Errors after which the worker retried the operation.", events.retriedErrors),
    ] {
      metrics.single(name, .counter, meaning, value)
    }
  }

  private func writeRedis(to metrics: inout Exposition) {
    let totals = RedisTraffic.totals
    metrics.family("carillon_redis_round_trips_total", .counter, "Pipelines sent to a Redis server.")
    for total in totals { metrics.sample(total.roundTrips, ("node", total.node)) }
    metrics.family("carillon_redis_commands_total", .counter, "Commands sent to a Redis server.")
    for total in totals { metrics.sample(total.commands, ("node", total.node)) }
  }

  private static func app(_ credential: WorkerMetrics.Credential) -> (String, String) {
    ("app", label(credential.state.apps))
  }

  /// Returns the label `app` for the connections of some apps. If several apps share the connections, the label has the
  /// first app and the number of the others.
  static func label(_ apps: [String]) -> String {
    guard let first = apps.first else { return "none" }
    return apps.count == 1 ? first : "\(first)+\(apps.count - 1)"
  }
}
