import CampaignStore
import CommandSupport
import Foundation
import PushCore
import Redis

/// The report of `carillon status`.
struct FleetReport: JSONReport {
  let fleet: FleetSnapshot
  let alarms: [FleetAlarm]
  /// Maximum number of rows for workers and for campaigns. Further rows are only counted.
  var most = 20

  init(_ fleet: FleetSnapshot, most: Int = 20) {
    self.fleet = fleet
    alarms = fleet.alarms()
    self.most = most
  }

  /// Whether no alarm is open.
  var isHealthy: Bool { alarms.isEmpty }

  // MARK: For people

  var text: String { lines.joined(separator: "\n") }

  /// The report in lines without control characters.
  var lines: [String] {
    var lines: [String] = []
    let when = Timestamp.format(milliseconds: fleet.at)
    lines.append(
      "\(fleet.store.namespace)  \(isHealthy ? "ok" : Self.count(alarms.count, "open alarm"))  \(when)"
    )
    for (index, alarm) in alarms.enumerated() where index < most {
      lines += ["  ! \(alarm.text)", "    \(alarm.hint)"]
    }
    if alarms.count > most { lines.append("    and \((alarms.count - most).grouped) more") }
    lines.append("")
    lines += TextTable(overview).text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if !fleet.presence.workers.isEmpty {
      lines.append("")
      lines += table(workerRows, of: fleet.presence.workers.count + fleet.presence.unseen)
    }
    if !fleet.running.campaigns.isEmpty {
      lines.append("")
      lines += table(campaignRows, of: fleet.running.campaigns.count + fleet.running.unseen)
    }
    return lines.map(Excerpt.harmless)
  }

  private func table(_ rows: [[String]], of count: Int) -> [String] {
    let text = TextTable(Array(rows.prefix(most + 1))).text
    let lines = text.split(separator: "\n").map(String.init)
    let unshown = count - (min(rows.count, most + 1) - 1)
    return lines + (unshown > 0 ? ["and \(unshown.grouped) more"] : [])
  }

  private var overview: [[String]] {
    var rows: [[String]] = []
    for node in fleet.nodes.prefix(most) {
      let limit = node.memory.limit > 0 ? " of \(Self.mebibytes(node.memory.limit))" : ""
      let percent = node.percentUsed.map { " (\($0) %)" } ?? ""
      rows.append([
        "redis",
        "\(node.endpoint)  \(node.version)  \(Self.mebibytes(node.memory.used))\(limit) MiB\(percent)  "
          + "\(node.commandsPerSecond.grouped) commands/s  up \(FleetSnapshot.age((node.info.uptime ?? 0) * 1000))",
      ])
    }
    let versions = fleet.versions
    rows.append([
      "workers",
      "\(fleet.presence.live.grouped) live"
        + (fleet.presence.workers.count + fleet.presence.unseen > fleet.presence.live
          ? ", \((fleet.presence.workers.count + fleet.presence.unseen - fleet.presence.live).grouped) silent" : "")
        + (versions.isEmpty ? "" : "  version \(versions.joined(separator: " and "))")
        + "  \(fleet.perSecond.grouped) outcomes/s" + (fleet.presence.housekeeper.map { "  leader \($0)" } ?? ""),
    ])
    rows.append(["intake", backlog(fleet.queues.intake.count, "job", since: fleet.queues.intake.since)])
    for lane in fleet.queues.lanes {
      rows.append([
        lane.lane.rawValue,
        lane.campaigns == 0
          ? "0 slices" : backlog(lane.slices, "slice", since: lane.since, of: Self.count(lane.campaigns, "campaign")),
      ])
    }
    rows.append(["scheduled", scheduledWork(fleet.queues.scheduled)])
    let awaiting = fleet.awaitingApproval
    if !awaiting.isEmpty {
      let urgent = awaiting.count { $0.record.isApprovalUrgent(at: fleet.at) }
      rows.append([
        "approval",
        "\((awaiting.count + fleet.running.unseenAwaiting).grouped) waiting" + (urgent > 0 ? ", \(urgent) urgent" : ""),
      ])
    }
    rows.append(["parked", scheduledWork(fleet.queues.parked)])
    rows.append([
      "campaigns",
      "\(fleet.campaigns(.active).count.grouped) active, \(fleet.campaigns(.paused).count.grouped) paused, "
        + "\(fleet.waiting.count.grouped) waiting"
        + (fleet.running.unseen > 0 ? ", \(fleet.running.unseen.grouped) not read" : ""),
    ])
    rows.append([
      "events",
      EventList.allCases.map { "\((fleet.queues.events[$0] ?? 0).grouped) \($0.rawValue)" }.joined(separator: ", ")
        + (fleet.superseded > 0 ? "; \(fleet.superseded.grouped) superseded" : ""),
    ])
    rows.append([
      "lists",
      "\(fleet.pendingEntries.dead.grouped) on the dead list, \(fleet.pendingEntries.quarantined.grouped) devices in quarantine, "
        + "\(fleet.pendingEntries.feedback.grouped) on the feedback list",
    ])
    for webhook in fleet.webhooks.prefix(most) {
      rows.append([
        "webhook",
        "\(webhook.name), \(webhook.backlog.grouped) events pending"
          + (webhook.failures > 0 ? ", \(webhook.failures.grouped) failed attempts: \(webhook.error)" : ""),
      ])
    }
    for backend in fleet.backends.prefix(most) where backend.isSlowed {
      let since = backend.since.map { " for \(FleetSnapshot.age(fleet.at - $0))" } ?? ""
      rows.append([
        "backend",
        "of app \(backend.app) is unhealthy\(since): the app's campaigns are throttled to \(backend.share) of the "
          + "backend's rate; \(backend.reason ?? "")",
      ])
    }
    if let next = fleet.store.nextPartitions {
      rows.append(["store", "is being repartitioned to \(next) partitions: no campaign starts"])
    }
    return rows
  }

  private func backlog(_ count: Int, _ unit: String, since: Int?, of whole: String? = nil) -> String {
    Self.count(count, unit) + (whole.map { " of \($0)" } ?? "")
      + (since.map { ", the oldest for \(FleetSnapshot.age(fleet.at - $0))" } ?? "")
  }

  private func scheduledWork(_ work: FleetSnapshot.ScheduledWork) -> String {
    guard let next = work.next else { return work.count.grouped }
    return "\(work.count.grouped), "
      + (next > fleet.at
        ? "next in \(FleetSnapshot.age(next - fleet.at))" : "next \(FleetSnapshot.age(fleet.at - next)) ago")
  }

  private var workerRows: [[String]] {
    [["worker", "version", "engine", "heartbeat", "per second", "window", "slices", "connections"]]
      + fleet.presence.workers.map { worker in
        let age = Self.seconds(fleet.at - worker.heartbeatAt)
        guard let report = worker.report else { return [worker.name, "?", "", age] }
        let pools = report.pools.map { pool in
          "\(pool.open) to \(pool.endpoint)" + (pool.health == "ready" ? "" : " \(pool.health)")
        }
        return [
          worker.name, report.version, report.engine, worker.isAlive ? age : "silent for \(age)",
          report.perSecond.grouped, "\(report.windowUsed)/\(report.window)", report.slices.grouped,
          report.takesNothing ? "accepts no work" : pools.joined(separator: ", "),
        ]
      }
  }

  private var campaignRows: [[String]] {
    [["campaign", "state", "app", "lane", "done", "slices", ""]]
      + fleet.running.campaigns.map { campaign in
        let record = campaign.record
        let report = CampaignReport(record)
        return [
          record.id, report.state, record.app, record.lane.rawValue, report.progress,
          "\(record.slices.finished)/\(record.slices.total)",
          record.reason ?? record.pausedLegs.lazy.compactMap(\.reason).first
            ?? record.waiting.map { "waiting: \($0.text)" } ?? "",
        ]
      }
  }

  private static func count(_ count: Int, _ unit: String) -> String {
    "\(count.grouped) \(unit)\(count == 1 ? "" : "s")"
  }

  private static func mebibytes(_ bytes: Int) -> String { ((bytes + (1 << 19)) >> 20).grouped }

  private static func seconds(_ milliseconds: Int) -> String {
    milliseconds < 10_000
      ? "\(max(0, milliseconds) / 1000).\(max(0, milliseconds) % 1000 / 100) s" : FleetSnapshot.age(milliseconds)
  }

  // MARK: For machines

  func writeMembers(to json: inout JSONWriter) {
    json.member("healthy", isHealthy)
    json.member("at", Timestamp.format(milliseconds: fleet.at))
    json.member("namespace", fleet.store.namespace)
    json.member("partitions", fleet.store.partitions)
    json.member("nextPartitions", fleet.store.nextPartitions)
    json.array("alarms", alarms)
    writeWorkers(to: &json)
    writeQueues(to: &json)
    writeCampaigns(to: &json)
    json.member("dead", fleet.pendingEntries.dead)
    json.member("quarantined", fleet.pendingEntries.quarantined)
    json.member("feedback", fleet.pendingEntries.feedback)
    json.objects("webhooks", fleet.webhooks) { json, webhook in
      json.member("name", webhook.name)
      json.member("backlog", webhook.backlog)
      json.member("failures", webhook.failures)
      json.member("retryAt", webhook.retryAt > 0 ? Timestamp.format(milliseconds: webhook.retryAt) : nil)
      json.member("error", webhook.error.isEmpty ? nil : webhook.error)
    }
    json.objects("backends", fleet.backends) { json, backend in
      json.member("app", backend.app)
      json.member("share", backend.share)
      json.member("since", backend.since.map(Timestamp.format(milliseconds:)))
      json.member("reason", backend.reason)
    }
    json.array("redis", fleet.nodes)
  }

  private func writeWorkers(to json: inout JSONWriter) {
    json.object("workers") { json in
      json.member("live", fleet.presence.live)
      json.member("listed", fleet.presence.workers.count + fleet.presence.unseen)
      json.member("perSecond", fleet.perSecond)
      json.member("maintenanceLeader", fleet.presence.housekeeper)
      json.array("versions", fleet.versions)
      json.array("each", fleet.presence.workers)
    }
  }

  private func writeQueues(to json: inout JSONWriter) {
    json.object("intake") { json in
      json.member("jobs", fleet.queues.intake.count)
      json.member("since", fleet.queues.intake.since.map(Timestamp.format(milliseconds:)))
    }
    json.object("lanes") { json in
      for lane in fleet.queues.lanes {
        json.object(lane.lane.rawValue) { json in
          json.member("campaigns", lane.campaigns)
          json.member("slices", lane.slices)
          json.member("since", lane.since.map(Timestamp.format(milliseconds:)))
        }
      }
    }
    for (name, work) in [("scheduled", fleet.queues.scheduled), ("parked", fleet.queues.parked)] {
      json.object(name) { json in
        json.member("count", work.count)
        json.member("next", work.next.map(Timestamp.format(milliseconds:)))
        json.member("lagMilliseconds", work.lag(at: fleet.at))
      }
    }
    json.object("events") { json in
      for list in EventList.allCases { json.member(list.rawValue, fleet.queues.events[list] ?? 0) }
      json.member("superseded", fleet.superseded)
    }
  }

  private func writeCampaigns(to json: inout JSONWriter) {
    json.object("campaigns") { json in
      json.member("active", fleet.campaigns(.active).count)
      json.member("paused", fleet.campaigns(.paused).count)
      json.member("waiting", fleet.waiting.count)
      let awaiting = fleet.awaitingApproval
      json.member("awaitingApproval", awaiting.count + fleet.running.unseenAwaiting)
      json.member("approvalUrgent", awaiting.count { $0.record.isApprovalUrgent(at: fleet.at) })
      json.member("unseen", fleet.running.unseen)
      json.name("each")
      json.beginArray()
      for campaign in fleet.running.campaigns { CampaignReport(campaign.record).write(to: &json) }
      json.endArray()
    }
  }
}

extension FleetAlarm: JSONReport {
  func writeMembers(to json: inout JSONWriter) {
    json.member("kind", kind.rawValue)
    json.member("subject", subject)
    json.member("text", text)
    json.member("hint", hint)
  }
}

extension FleetSnapshot.Worker: JSONReport {
  func writeMembers(to json: inout JSONWriter) {
    json.member("name", name)
    json.member("alive", isAlive)
    json.member("heartbeatAt", Timestamp.format(milliseconds: heartbeatAt))
    if let report {
      json.member("version", report.version)
      json.member("startedAt", Timestamp.format(milliseconds: report.startedAt))
      json.member("engine", report.engine)
      json.member("window", report.window)
      json.member("windowUsed", report.windowUsed)
      json.member("slices", report.slices)
      json.member("perSecond", report.perSecond)
      json.member("accepted", report.accepted)
      json.member("superseded", report.superseded)
      json.member("takesNothing", report.takesNothing)
      json.objects("pools", report.pools) { json, pool in
        json.member("endpoint", pool.endpoint)
        json.member("open", pool.open)
        json.member("inFlight", pool.inFlight)
        json.member("backlog", pool.backlog)
        json.member("failures", pool.failures)
        json.member("health", pool.health)
      }
      json.objects("credentials", report.credentials) { json, credential in
        json.array("apps", credential.apps)
        json.member("stopped", credential.stopped)
        json.member("renewalProblem", credential.renewalProblem)
        json.member("expiresAt", credential.expiresAt.map(Timestamp.format(milliseconds:)))
      }
    }
  }
}

extension FleetNode: JSONReport {
  func writeMembers(to json: inout JSONWriter) {
    json.member("endpoint", endpoint)
    json.member("version", version)
    json.member("control", hasControl)
    json.member("role", info.role?.rawValue)
    json.member("usedBytes", memory.used)
    json.member("limitBytes", memory.limit)
    json.member("evictionPolicy", info.evictionPolicy)
    json.member("appendOnly", info.isAppendOnlyEnabled)
    json.member("persists", info.isPersistenceHealthy)
    json.member("replicas", info.connectedReplicas)
    json.member("commandsPerSecond", commandsPerSecond)
    json.member("uptimeSeconds", info.uptime)
  }
}
