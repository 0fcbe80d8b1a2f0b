public import PushCore

/// A snapshot of the whole system: workers, queues, running campaigns, waiting work, Redis.
///
/// ``Fleet/snapshot(lease:)`` reads it for all commands and services: `carillon status`, metrics, the API, alarms. The
/// function writes nothing. Its cost is bounded for any size of the system, and the `unseen…` numbers count the items
/// that were not read. The parts may be from slightly different times. All times are ms since the epoch by Redis'
/// clock.
public struct FleetSnapshot: Sendable {
  /// A listed worker.
  public struct Worker: Sendable {
    /// The worker's name.
    public var name: String
    /// Time of the last heartbeat.
    public var heartbeatAt: Int
    /// Whether the last heartbeat is less than a lease ago.
    public var isAlive: Bool
    /// The worker's last report; `nil` if it has sent none yet.
    public var report: WorkerReport?
  }

  /// A list of waiting work.
  public struct Backlog: Sendable, Equatable {
    /// Number of entries.
    public var count = 0
    /// Time since which the next entry waits; `nil` if unknown or if the list is empty.
    public var since: Int?

    /// Creates a backlog.
    public init(count: Int = 0, since: Int? = nil) {
      self.count = count
      self.since = since
    }
  }

  /// The waiting work of a lane.
  public struct LaneBacklog: Sendable, Equatable {
    public var lane: Lane
    /// Number of campaigns on the lane. Slices of these campaigns wait for a worker.
    public var campaigns = 0
    /// Number of slices that wait for a worker, of those campaigns on the lane that are in the snapshot.
    public var slices = 0
    /// Time since which the oldest of these campaigns could be sent: its creation or its start time.
    public var since: Int?

    /// Creates the backlog of a lane.
    public init(lane: Lane, campaigns: Int = 0, slices: Int = 0, since: Int? = nil) {
      self.lane = lane
      self.campaigns = campaigns
      self.slices = slices
      self.since = since
    }
  }

  /// A list of work with due times.
  public struct ScheduledWork: Sendable, Equatable {
    /// Number of entries.
    public var count = 0
    /// Due time of the first entry, which may have passed.
    public var next: Int?

    /// Returns for how long the first entry has been due, in ms; 0 if it is not due.
    public func lag(at now: Int) -> Int { next.map { max(0, now - $0) } ?? 0 }
  }

  /// A campaign that has begun and not ended.
  public struct RunningCampaign: Sendable {
    /// The record with the totals of its finished slices, and the reason for waiting if workers report one.
    public var record: CampaignRecord
    /// Slices that wait for a worker.
    public var openSlices: Int
  }

  /// The namespace and the number of partitions of the store.
  public struct Store: Sendable {
    /// The namespace of the keys.
    public var namespace = ""
    /// Number of partitions of the store; `nil` if the store does not exist.
    public var partitions: Int?
    /// Next number of partitions during a repartition; else `nil`.
    public var nextPartitions: Int?
  }

  /// The workers.
  public struct Presence: Sendable {
    /// Workers by name, live ones first. If there are more than ``maximumWorkers``, only the workers with the latest
    /// heartbeats.
    public var workers: [Worker] = []
    /// Number of live workers.
    public var live = 0
    /// Number of listed workers that were not read.
    public var unseen = 0
    /// The worker that is the maintenance leader; `nil` if there is none.
    public var housekeeper: String?
  }

  /// The work that waits for workers.
  public struct Queues: Sendable {
    /// Jobs that no worker has taken in.
    public var intake = Backlog()
    /// Number of events that are not applied yet, for each list of events.
    public var events: [EventList: Int] = [:]
    /// The lanes, highest first.
    public var lanes: [LaneBacklog] = []
    /// Scheduled campaigns that have not begun, including those whose start time has passed.
    public var scheduled = ScheduledWork()
    /// Slices that wait for a retry or for their push service.
    public var parked = ScheduledWork()
  }

  /// Campaigns that have begun and not ended.
  public struct Running: Sendable {
    /// The campaigns, those on lanes first; at most ``maximumCampaigns``.
    public var campaigns: [RunningCampaign] = []
    /// Number of such campaigns that were not read.
    public var unseen = 0
    /// Number of campaigns that wait for approval and were not read.
    public var unseenAwaiting = 0
  }

  /// Entries that wait for an operator or for the backend.
  public struct PendingEntries: Sendable {
    /// Jobs and events on the dead list, and isolated data.
    public var dead = 0
    /// Quarantined devices.
    public var quarantined = 0
    /// Pruned tokens on the feedback list.
    public var feedback = 0
  }

  /// Time of the snapshot.
  public var at = 0
  public var store = Store()
  public var presence = Presence()
  public var queues = Queues()
  public var running = Running()
  public var pendingEntries = PendingEntries()

  /// Number of events that had no effect because a newer event exists. The present workers have counted them since
  /// their start.
  public var superseded: Int { presence.workers.reduce(0) { $0 + ($1.report?.superseded ?? 0) } }

  /// The health of the apps' backends that were checked recently, by app.
  public var backends: [BackendStatus] = []

  /// The delivery status of webhooks, by name.
  public var webhooks: [WebhookStatus] = []

  /// The Redis servers with keys of the store.
  public var nodes: [FleetNode] = []

  /// Errors of parts that could not be read. The other parts are valid.
  public var problems: [StoreError] = []

  /// Largest number of workers that are read.
  public static let maximumWorkers = 1000
  /// Largest number of campaigns that are read.
  public static let maximumCampaigns = 250
  /// Largest number of campaigns waiting for approval that are read: the campaigns that begin first.
  public static let maximumAwaiting = 100

  /// Largest number of webhooks that are read.
  static let maximumWebhooks = 64

  /// Creates an empty snapshot.
  public init() {}

  /// Returns the campaigns of the snapshot in this state.
  public func campaigns(_ state: CampaignState) -> [RunningCampaign] {
    running.campaigns.filter { $0.record.state == state }
  }

  /// Campaigns of the snapshot that are active but not being sent.
  public var waiting: [RunningCampaign] { running.campaigns.filter { $0.record.waiting != nil } }

  /// Campaigns that wait for approval; a campaign with parts counts once.
  public var awaitingApproval: [RunningCampaign] { running.campaigns.filter { $0.record.waitsForApproval } }

  /// The versions of live workers, in order.
  public var versions: [String] {
    Set(presence.workers.lazy.filter(\.isAlive).compactMap { $0.report?.version }.filter { !$0.isEmpty }).sorted()
  }

  /// Outcomes and retries that all live workers together have recently recorded per second.
  public var perSecond: Int { presence.workers.reduce(0) { $0 + ($1.isAlive ? $1.report?.perSecond ?? 0 : 0) } }
}
