public import PushCore
import Redis

/// A problem of the fleet that does not resolve itself: an operator must act.
public struct FleetAlarm: Sendable, Equatable {
  /// The kind of the problem. Raw values are names in JSON and in webhooks.
  public enum Kind: String, Sendable, CaseIterable {
    /// No worker is alive.
    case noWorker
    /// A worker sends no heartbeat, and its slices have not been taken over.
    case silentWorker
    /// A push service refuses a worker's credential.
    case credentialStopped
    /// A worker can't renew an access token that is still valid.
    case credentialFailing
    /// A certificate expires soon, or has expired.
    case credentialExpires
    /// The clock of a worker or of Redis differs from a push service's clock.
    case clockWrong
    /// A worker can send almost no push to a push service.
    case pushService
    /// A campaign has paused itself.
    case campaignPaused
    /// A campaign waits for approval, and its start is less than an hour ahead or has passed.
    case approvalUrgent
    /// A campaign waits for approval.
    case approvalWaits
    /// A campaign is due, but workers do not send it.
    case campaignWaits
    /// The jobs on the producers' list are not taken in.
    case intakeWaits
    /// Slices of a lane wait for a worker.
    case laneWaits
    /// A scheduled campaign has not begun in time.
    case scheduleLate
    /// Events about users or pushes are not applied.
    case eventsWait
    /// Jobs or events are on the dead list.
    case dead
    /// A webhook does not accept changes.
    case webhook
    /// Redis has little memory left.
    case memory
    /// The state of a Redis server is unsafe for the data.
    case redis
    /// Data can't be read.
    case unreadable
  }

  public var kind: Kind
  /// The affected object: a campaign, a worker, an app, a lane, a server. Kind and subject identify an alarm.
  public var subject: String
  /// The problem as text.
  public var text: String
  /// The next step for the operator.
  public var hint: String

  /// Creates an alarm.
  public init(_ kind: Kind, _ subject: String, _ text: String, hint: String) {
    self.kind = kind
    self.subject = subject
    self.text = text
    self.hint = hint
  }
}

/// Thresholds from which waiting work raises an alarm. All are in ms, unless the property has another unit.
public struct FleetLimits: Sendable {
  /// Time without a heartbeat while other workers are alive. Normally the other workers take over the slices of the
  /// silent worker within seconds.
  public var silence = 60_000
  /// Waiting time on the producers' list. Normally a worker takes in a job within milliseconds.
  public var intake = 60_000
  /// Waiting time on a lane. The bulk lane has no threshold, because it may wait as long as the other lanes have work.
  public var lanes: [Lane: Int] = [.urgent: 30_000, .normal: 600_000]
  /// Delay of a scheduled campaign after its start time. Normally it begins within a second.
  public var lag = 30_000
  /// Time for which workers report that they can't send a due campaign.
  public var waiting = 60_000
  /// Number of waiting events. One worker applies some thousands a second.
  public var events = 100_000
  /// Time before the expiry of a certificate: two weeks.
  public var expiry = 14 * 86_400_000
  /// Number of failed deliveries to a webhook in a row. The fifth failure is half a minute after the first.
  public var webhookFailures = 5
  /// Used percent of a server's memory limit. Above 90 % no campaign is activated.
  public var memory = 85

  /// Creates the default thresholds.
  public init() {}
}

extension FleetSnapshot {
  /// Returns the active alarms, the most serious kinds first. Pure.
  public func alarms(_ limits: FleetLimits = FleetLimits()) -> [FleetAlarm] {
    var alarms: [FleetAlarm] = []
    addWorkers(limits, to: &alarms)
    addCampaigns(limits, to: &alarms)
    addQueues(limits, to: &alarms)
    addRedis(limits, to: &alarms)
    for problem in problems {
      alarms.append(FleetAlarm(.unreadable, problem.code.rawValue, problem.message, hint: problem.hint))
    }
    let order = FleetAlarm.Kind.allCases
    return alarms.enumerated().sorted {
      (order.firstIndex(of: $0.element.kind) ?? 0, $0.offset) < (order.firstIndex(of: $1.element.kind) ?? 0, $1.offset)
    }.map(\.element)
  }

  private func addWorkers(_ limits: FleetLimits, to alarms: inout [FleetAlarm]) {
    if presence.live == 0 {
      let last =
        presence.workers.map(\.heartbeatAt).max().map { ", the last heartbeat was \(Self.age(at - $0)) ago" } ?? ""
      alarms.append(FleetAlarm(.noWorker, "fleet", "no worker runs\(last)", hint: "start one: carillon worker"))
    }
    for worker in presence.workers
    where !worker.isAlive && presence.live > 0 && at - worker.heartbeatAt >= limits.silence {
      alarms.append(
        FleetAlarm(
          .silentWorker, worker.name,
          "no heartbeat from worker \(worker.name) for \(Self.age(at - worker.heartbeatAt)), and its slices were not taken over",
          hint: "check the logs of the other workers: one of them should take over within seconds"))
    }
    // One alarm covers all workers with the same problem.
    var credentials: [(apps: [String], credential: WorkerReport.Credential, workers: [String])] = []
    var pools: [(pool: WorkerReport.Pool, workers: [String])] = []
    for worker in presence.workers where worker.isAlive {
      for credential in worker.report?.credentials ?? [] {
        if let index = credentials.firstIndex(where: { $0.credential == credential }) {
          credentials[index].workers.append(worker.name)
        } else {
          credentials.append((credential.apps, credential, [worker.name]))
        }
      }
      for pool in worker.report?.pools ?? [] where pool.isStuck && pool.health != "credentialStopped" {
        if let index = pools.firstIndex(where: { $0.pool.endpoint == pool.endpoint && $0.pool.health == pool.health }) {
          pools[index].workers.append(worker.name)
        } else {
          pools.append((pool, [worker.name]))
        }
      }
    }
    for (apps, credential, names) in credentials {
      let subject = apps.joined(separator: ",")
      if let stopped = credential.stopped {
        alarms.append(
          FleetAlarm(
            .credentialStopped, subject, "\(Self.names(names)) of app \(subject): \(stopped)",
            hint: "fix the cause that the text names; workers read a replaced credential file within five seconds"))
      }
      if let problem = credential.renewalProblem {
        alarms.append(
          FleetAlarm(
            .credentialFailing, subject,
            "\(Self.names(names)) can't renew the credential of app \(subject), which expires within an hour: "
              + problem,
            hint: "fix the cause that the text names; workers try again when a key file is replaced, and when a "
              + "campaign of the app begins or resumes"))
      }
      if let end = credential.expiresAt, end - at < limits.expiry {
        alarms.append(
          FleetAlarm(
            .credentialExpires, subject,
            end < at
              ? "the certificate of app \(subject) has expired"
              : "the certificate of app \(subject) expires in \(Self.age(end - at))",
            hint: "renew the certificate and replace its file"))
      }
      if let error = credential.clockError {
        let difference = "\(abs(error)) s \(error > 0 ? "ahead of" : "behind")"
        alarms.append(
          FleetAlarm(
            .clockWrong, subject,
            "the time of \(Self.names(names)) is \(difference) the push service of app \(subject)",
            hint: "set the clocks of the workers and of Redis by NTP; workers correct the time until then"))
      }
    }
    for (pool, names) in pools {
      alarms.append(
        FleetAlarm(
          .pushService, pool.endpoint, "\(pool.endpoint) is \(Self.words(pool.health)) for \(Self.names(names))",
          hint: "check the connection with carillon doctor; campaigns continue automatically"))
    }
  }

  private func addCampaigns(_ limits: FleetLimits, to alarms: inout [FleetAlarm]) {
    for campaign in running.campaigns {
      let record = campaign.record
      if record.waitsForApproval {
        let start = record.start
        let when =
          start > at
          ? "its start is due in \(Self.age(start - at))" : "its start was due \(Self.age(at - start)) ago"
        alarms.append(
          FleetAlarm(
            record.isApprovalUrgent(at: at) ? .approvalUrgent : .approvalWaits, record.id,
            "campaign \(record.id) waits for approval, and \(when)",
            hint:
              "check carillon campaign show \(record.id), then run carillon campaign approve \(record.id) --by NAME, "
              + "or cancel it"))
      } else if record.state == .paused, record.pausedItself {
        alarms.append(
          FleetAlarm(
            .campaignPaused, record.id,
            "campaign \(record.id) has paused itself: \(record.reason ?? "no reason is known")",
            hint: "fix the reported cause, then run carillon campaign resume \(record.id)"))
      }
      for leg in record.pausedLegs where leg.pausedItself {
        let service = CampaignID(leg.id).part?.service ?? ""
        alarms.append(
          FleetAlarm(
            .campaignPaused, leg.id,
            "leg \(service) of campaign \(record.id) has paused itself: \(leg.reason ?? "no reason is known")",
            hint: "fix the reported cause, then run carillon campaign resume \(record.id) --service \(service)"))
      }
      // Two reasons for waiting need no alarm: a rate is intended, and an earlier campaign ends without an action of
      // the operator.
      if let waiting = record.waiting, !waiting.reason.hasPrefix("rate:"), !waiting.reason.hasPrefix("audience:"),
        let since = waiting.since, at - since >= limits.waiting
      {
        alarms.append(
          FleetAlarm(
            .campaignWaits, record.id, "campaign \(record.id) waits for \(Self.age(at - since)): \(waiting.reason)",
            hint: "fix the reported cause; the campaign then continues automatically"))
      }
    }
  }

  private func addQueues(_ limits: FleetLimits, to alarms: inout [FleetAlarm]) {
    if let since = queues.intake.since, queues.intake.count > 0, at - since >= limits.intake {
      alarms.append(
        FleetAlarm(
          .intakeWaits, "campaigns",
          "\(queues.intake.count) jobs wait in the queue, the oldest for \(Self.age(at - since))",
          hint: store.nextPartitions == nil
            ? "check the logs of the workers" : "no campaign starts before carillon store repartition has finished"))
    }
    for backlog in queues.lanes {
      guard let limit = limits.lanes[backlog.lane], let since = backlog.since, at - since >= limit else { continue }
      alarms.append(
        FleetAlarm(
          .laneWaits, backlog.lane.rawValue,
          "\(backlog.slices) slices of lane \(backlog.lane.rawValue) wait for a worker, the oldest campaign for "
            + Self.age(at - since),
          hint: "start more workers, or check why the running workers take none"))
    }
    let lag = queues.scheduled.lag(at: at)
    if lag >= limits.lag, presence.live > 0 {
      alarms.append(
        FleetAlarm(
          .scheduleLate, "schedule", "a scheduled campaign is \(Self.age(lag)) late",
          hint: "check the logs of the workers"))
    }
    for list in EventList.allCases {
      guard let count = queues.events[list], count >= limits.events else { continue }
      alarms.append(
        FleetAlarm(
          .eventsWait, list.rawValue, "\(count) \(list.rawValue) wait to be applied",
          hint: "wait, because a worker applies a few thousand per second, or check the logs of the workers"))
    }
    for webhook in webhooks where webhook.failures >= limits.webhookFailures {
      alarms.append(
        FleetAlarm(
          .webhook, webhook.name,
          "webhook \(webhook.name) has \(webhook.backlog) undelivered events: \(webhook.error)",
          hint: "fix the receiver; delivery is retried automatically, and the latest 1000 events are kept"))
    }
    if pendingEntries.dead > 0 {
      alarms.append(
        FleetAlarm(
          .dead, "dead", "\(pendingEntries.dead) jobs or events could not be run",
          hint: "check the reasons with carillon dead list, then retry or drop them"))
    }
  }

  private func addRedis(_ limits: FleetLimits, to alarms: inout [FleetAlarm]) {
    for node in nodes {
      if let percent = node.percentUsed, percent >= limits.memory {
        alarms.append(
          FleetAlarm(
            .memory, node.endpoint, "the Redis at \(node.endpoint) uses \(percent) % of its memory",
            hint: "raise maxmemory, or wait until ended campaigns expire: above 90 % no new campaign starts"))
      }
      if let policy = node.info.evictionPolicy, policy != "noeviction" {
        alarms.append(
          FleetAlarm(
            .redis, node.endpoint,
            "the Redis at \(node.endpoint) evicts keys when memory is full: maxmemory-policy is \(policy)",
            hint: "set maxmemory-policy to noeviction"))
      }
      if node.info.role == .replica {
        alarms.append(
          FleetAlarm(
            .redis, node.endpoint, "the Redis at \(node.endpoint) is a replica and refuses writes",
            hint: "set redis.url to the primary"))
      }
      if !node.info.isPersistenceHealthy {
        alarms.append(
          FleetAlarm(
            .redis, node.endpoint, "the Redis at \(node.endpoint) can't save its data",
            hint: "check its log; usually the disk is full"))
      }
    }
  }

  private static func names(_ workers: [String]) -> String {
    workers.count == 1 ? "worker \(workers[0])" : "\(workers.count) workers (\(workers[0]) …)"
  }

  private static func words(_ health: String) -> String {
    switch WorkerReport.Pool.Health(rawValue: health) {
    case .breakerOpen: "answering almost everything with server errors"
    case .unresponsive: "not answering"
    default: health
    }
  }

  /// Returns a span of ms as text for people, in its largest unit.
  public static func age(_ milliseconds: Int) -> String {
    let seconds = max(0, milliseconds) / 1000
    return switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
