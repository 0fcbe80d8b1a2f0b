public import CampaignStore
import PushCore

/// The metrics of the whole fleet. Only `carillon admin` serves them, so that Prometheus gets each value only once.
public struct FleetExposition: Sendable {
  let fleet: FleetSnapshot
  let wanted: WantedWorkers

  public init(_ fleet: FleetSnapshot, _ wanted: WantedWorkers) {
    self.fleet = fleet
    self.wanted = wanted
  }

  /// Writes only the metric that says that Redis did not answer.
  public static func writeAbsence(to metrics: inout Exposition) { metrics.single(up, .gauge, upMeaning, 0) }

  private static let up = "carillon_fleet_up"
  private static let upMeaning = "Whether Redis answered for this scrape."

  public func write(to metrics: inout Exposition) {
    metrics.single(Self.up, .gauge, Self.upMeaning, 1)
    func gauge(_ name: String, _ meaning: String, _ value: Int) {
      metrics.single("carillon_fleet_" + name, .gauge, meaning, value)
    }
    gauge("workers", "Live workers.", fleet.presence.live)
    gauge("wanted_workers", "Recommended number of workers for the remaining targets.", wanted.workers)
    metrics.family("carillon_fleet_campaigns", .gauge, "Campaigns that have not ended, by state.")
    metrics.sample(fleet.campaigns(.active).count + fleet.running.unseen, ("state", "active"))
    metrics.sample(fleet.campaigns(.paused).count, ("state", "paused"))
    metrics.sample(fleet.queues.scheduled.count, ("state", "scheduled"))
    gauge(
      "campaigns_guarded", "Campaigns that the guard paused, or that were paused because every push was refused.",
      fleet.running.campaigns.count {
        $0.record.state == .paused && $0.record.pausedItself || $0.record.pausedLegs.contains(where: \.pausedItself)
      })
    metrics.family(
      "carillon_fleet_campaigns_awaiting_approval", .gauge, "Campaigns that wait for approval, by urgency.")
    let awaiting = fleet.awaitingApproval
    let urgent = awaiting.count { $0.record.isApprovalUrgent(at: fleet.at) }
    metrics.sample(urgent, ("urgency", "urgent"))
    metrics.sample(awaiting.count - urgent + fleet.running.unseenAwaiting, ("urgency", "later"))
    gauge("campaigns_waiting", "Active campaigns that are ready to send but make no progress.", fleet.waiting.count)
    metrics.family("carillon_fleet_queue_jobs", .gauge, "Entries that no worker has taken yet, by list.")
    metrics.sample(fleet.queues.intake.count, ("list", "campaigns"))
    for list in EventList.allCases { metrics.sample(fleet.queues.events[list] ?? 0, ("list", list.rawValue)) }
    metrics.family(
      "carillon_fleet_queue_oldest_age_seconds", .gauge, "Waiting time of the oldest job in the queue, in seconds.")
    metrics.sample(age(of: fleet.queues.intake.since))
    lanes(to: &metrics)
    metrics.family("carillon_fleet_schedule_lag_seconds", .gauge, "Delay of the next scheduled campaign, in seconds.")
    metrics.sample(Double(fleet.queues.scheduled.lag(at: fleet.at)) / 1000)
    gauge("slices_parked", "Slices that wait for a retry, or for their push service.", fleet.queues.parked.count)
    gauge("dead_entries", "Jobs and events that could not be run.", fleet.pendingEntries.dead)
    gauge("quarantined_devices", "Devices in quarantine.", fleet.pendingEntries.quarantined)
    gauge("feedback_entries", "Tokens on the feedback list that no consumer has taken.", fleet.pendingEntries.feedback)
    metrics.family(
      "carillon_fleet_backend_share", .gauge,
      "Share of the backend's rate that an app may use while the backend is unhealthy.")
    for backend in fleet.backends { metrics.sample(backend.share, ("app", backend.app)) }
    gauge("alarms", "Active alarms, as in carillon status.", fleet.alarms().count)
    metrics.family("carillon_fleet_redis_memory_bytes", .gauge, "Memory that a Redis server uses, in bytes.")
    for node in fleet.nodes { metrics.sample(node.memory.used, ("node", node.endpoint)) }
    metrics.family(
      "carillon_fleet_redis_memory_limit_bytes", .gauge,
      "Value of maxmemory of a Redis server, in bytes; 0 if there is no limit.")
    for node in fleet.nodes { metrics.sample(node.memory.limit, ("node", node.endpoint)) }
  }

  private func lanes(to metrics: inout Exposition) {
    func each(_ name: String, _ meaning: String, _ value: (FleetSnapshot.LaneBacklog) -> Double) {
      metrics.family("carillon_fleet_lane_" + name, .gauge, meaning)
      for lane in fleet.queues.lanes { metrics.sample(value(lane), ("lane", lane.lane.rawValue)) }
    }
    each("campaigns", "Campaigns with slices that no worker holds.") { Double($0.campaigns) }
    each("slices", "Slices that no worker holds.") { Double($0.slices) }
    each("oldest_age_seconds", "Waiting time of the oldest of these campaigns, in seconds; 0 if there is none.") {
      age(of: $0.since)
    }
  }

  private func age(of since: Int?) -> Double { since.map { Double(max(0, fleet.at - $0)) / 1000 } ?? 0 }
}
