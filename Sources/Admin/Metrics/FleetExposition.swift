public import CampaignStore
import PushCore

/// The fleet's metrics. Only `carillon admin` serves them, so each value exists once.
public struct FleetExposition: Sendable {
  let fleet: FleetSnapshot
  let wanted: WantedWorkers

  public init(_ fleet: FleetSnapshot, _ wanted: WantedWorkers) {
    self.fleet = fleet
    self.wanted = wanted
  }

  /// Reports only that Redis did not answer.
  public static func writeAbsence(to metrics: inout Exposition) { metrics.single(up, .gauge, upMeaning, 0) }

  private static let up = "carillon_fleet_up"
  private static let upMeaning = "Whether Redis answered for this scrape."

  public func write(to metrics: inout Exposition) {
    metrics.single(Self.up, .gauge, Self.upMeaning, 1)
    func gauge(_ name: String, _ meaning: String, _ value: Int) {
      metrics.single("carillon_fleet_" + name, .gauge, meaning, value)
    }
    gauge("workers", "Workers that live.", fleet.presence.live)
    gauge("wanted_workers", "Workers that would be right for what is left to send.", wanted.workers)
    metrics.family("carillon_fleet_campaigns", .gauge, "Campaigns that have not ended, by state.")
    metrics.sample(fleet.campaigns(.active).count + fleet.running.unseen, ("state", "active"))
    metrics.sample(fleet.campaigns(.paused).count, ("state", "paused"))
    metrics.sample(fleet.queues.scheduled.count, ("state", "scheduled"))
    gauge(
      "campaigns_guarded", "Campaigns that are paused by their guard, or as every push of them was refused.",
      fleet.campaigns(.paused).count { $0.record.pausedItself })
    metrics.family(
      "carillon_fleet_campaigns_awaiting_approval", .gauge, "Campaigns that wait for approval, by urgency.")
    let awaiting = fleet.awaitingApproval
    let urgent = awaiting.count { $0.record.isApprovalUrgent(at: fleet.at) }
    metrics.sample(urgent, ("urgency", "urgent"))
    metrics.sample(awaiting.count - urgent + fleet.running.unseenAwaiting, ("urgency", "later"))
    gauge("campaigns_waiting", "Active campaigns that could be sent, and are not.", fleet.waiting.count)
    metrics.family("carillon_fleet_queue_jobs", .gauge, "Entries that no worker has taken yet, by list.")
    metrics.sample(fleet.queues.intake.count, ("list", "campaigns"))
    for list in EventList.allCases { metrics.sample(fleet.queues.events[list] ?? 0, ("list", list.rawValue)) }
    metrics.family(
      "carillon_fleet_queue_oldest_age_seconds", .gauge, "Since when the next job waits to be taken in, in seconds.")
    metrics.sample(age(of: fleet.queues.intake.since))
    lanes(to: &metrics)
    metrics.family("carillon_fleet_schedule_lag_seconds", .gauge, "By how much the next scheduled campaign is late.")
    metrics.sample(Double(fleet.queues.scheduled.lag(at: fleet.at)) / 1000)
    gauge("slices_parked", "Slices that wait for a retry, or for their push service.", fleet.queues.parked.count)
    gauge("dead_entries", "Jobs and events that could not be run.", fleet.leftovers.dead)
    gauge("quarantined_devices", "Devices in quarantine.", fleet.leftovers.quarantined)
    gauge("feedback_entries", "Tokens on the feedback list that nobody has taken.", fleet.leftovers.feedback)
    metrics.family(
      "carillon_fleet_backend_share", .gauge, "The share of its rate that an app has by its backend's health.")
    for backend in fleet.backends { metrics.sample(backend.share, ("app", backend.app)) }
    gauge("alarms", "Things that need somebody, as carillon status tells them.", fleet.alarms().count)
    metrics.family("carillon_fleet_redis_memory_bytes", .gauge, "Memory that a Redis server uses, in bytes.")
    for node in fleet.nodes { metrics.sample(node.memory.used, ("node", node.endpoint)) }
    metrics.family("carillon_fleet_redis_memory_limit_bytes", .gauge, "Its maxmemory, in bytes; 0 for none.")
    for node in fleet.nodes { metrics.sample(node.memory.limit, ("node", node.endpoint)) }
  }

  private func lanes(to metrics: inout Exposition) {
    func each(_ name: String, _ meaning: String, _ value: (FleetSnapshot.LaneBacklog) -> Double) {
      metrics.family("carillon_fleet_lane_" + name, .gauge, meaning)
      for lane in fleet.queues.lanes { metrics.sample(value(lane), ("lane", lane.lane.rawValue)) }
    }
    each("campaigns", "Campaigns with slices that no worker holds.") { Double($0.campaigns) }
    each("slices", "Those slices.") { Double($0.slices) }
    each("oldest_age_seconds", "Since when the oldest of those campaigns could be sent; 0 for none.") {
      age(of: $0.since)
    }
  }

  private func age(of since: Int?) -> Double { since.map { Double(max(0, fleet.at - $0)) / 1000 } ?? 0 }
}
