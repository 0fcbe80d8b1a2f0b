public import PushCore

/// The whole of a system at a look: workers, queues, campaigns that run, what waits for somebody, Redis.
///
/// It is read by ``Fleet/snapshot(lease:)``, for everybody who shows or judges it: `carillon status`, metrics, the
/// API, alarms. Reading writes nothing and is bounded, whatever there is: what was not looked at is counted (`unseen…`).
/// Its parts are not of one moment. All times are ms since the epoch by Redis' clock.
public struct FleetSnapshot: Sendable {
  /// A worker that is listed.
  public struct Worker: Sendable {
    /// Its name.
    public var name: String
    /// When it was heard last.
    public var heardAt: Int
    /// Whether that is less than a lease ago.
    public var isAlive: Bool
    /// What it said of itself then; `nil` where it has said nothing yet.
    public var report: WorkerReport?
  }

  /// A list on which something waits.
  public struct Backlog: Sendable, Equatable {
    /// How much.
    public var count = 0
    /// Since when that waits which is next, as far as anybody knows; `nil` when nobody does, or nothing waits.
    public var since: Int?

    /// Memberwise.
    public init(count: Int = 0, since: Int? = nil) {
      self.count = count
      self.since = since
    }
  }

  /// A lane.
  public struct LaneBacklog: Sendable, Equatable {
    public var lane: Lane
    /// Campaigns on it, which have slices that wait for a worker.
    public var campaigns = 0
    /// Those slices, of the campaigns that were looked at.
    public var slices = 0
    /// Since when the oldest of those campaigns could be sent: its creation, or its time.
    public var since: Int?

    /// Memberwise.
    public init(lane: Lane, campaigns: Int = 0, slices: Int = 0, since: Int? = nil) {
      self.lane = lane
      self.campaigns = campaigns
      self.slices = slices
      self.since = since
    }
  }

  /// Something that has a time.
  public struct Agenda: Sendable, Equatable {
    /// How much there is.
    public var count = 0
    /// The time of the first, which may have passed.
    public var next: Int?

    /// How long the first is overdue, in ms.
    public func lag(at now: Int) -> Int { next.map { max(0, now - $0) } ?? 0 }
  }

  /// A campaign that has begun and not ended.
  public struct RunningCampaign: Sendable {
    /// By the totals of its finished slices; with why it waits, if workers say so.
    public var record: CampaignRecord
    /// Slices that wait for a worker.
    public var openSlices: Int
  }

  /// When it was looked.
  public var at = 0
  /// The store's namespace.
  public var namespace = ""
  /// How many partitions the store has; `nil` where there is no store.
  public var partitions: Int?
  /// How many it is being given; `nil` when it stays as it is.
  public var nextPartitions: Int?

  /// Workers by name, the live ones first; of more than ``mostWorkers`` those that were heard last.
  public var workers: [Worker] = []
  /// Workers that live.
  public var liveWorkers = 0
  /// Workers that are listed and were not looked at.
  public var unseenWorkers = 0
  /// The worker that keeps house; `nil` when none does.
  public var housekeeper: String?

  /// Jobs that no worker has taken in.
  public var intake = Backlog()
  /// Events that nobody has applied, by their list.
  public var events: [EventList: Int] = [:]
  /// What events said and changed nothing, because something newer stands: by the workers there are, since they started.
  public var superseded: Int { workers.reduce(0) { $0 + ($1.report?.superseded ?? 0) } }
  /// Highest first.
  public var lanes: [LaneBacklog] = []
  /// Campaigns whose time has not come, or which nobody has begun.
  public var scheduled = Agenda()
  /// Slices that wait for a retry or for their push service.
  public var parked = Agenda()

  /// Campaigns that have begun and not ended, those on lanes first; ``mostCampaigns`` at most.
  public var campaigns: [RunningCampaign] = []
  /// Such campaigns that were not looked at.
  public var unseenCampaigns = 0
  /// Campaigns that wait for approval beside those looked at.
  public var unseenAwaiting = 0

  /// Jobs and events that could not be run, and what was taken out.
  public var dead = 0
  /// Devices in quarantine.
  public var quarantined = 0
  /// Pruned tokens that the feedback list has for the backend.
  public var feedback = 0

  /// How apps' own backends are, of those that are looked at, by the apps' names.
  public var backends: [BackendStanding] = []

  /// How far webhooks have been told, by their names.
  public var webhooks: [WebhookStanding] = []

  /// The Redis servers that have the store's keys.
  public var nodes: [FleetNode] = []

  /// Parts that could not be read: what is wrong there. The others are as they are.
  public var problems: [StoreError] = []

  /// Workers that are looked at.
  public static let mostWorkers = 1000
  /// Campaigns that are looked at.
  public static let mostCampaigns = 250
  /// Campaigns that wait for approval and are looked at, the ones that begin first: more need the same person.
  public static let mostAwaiting = 100

  /// Webhooks that are looked at.
  static let mostWebhooks = 64

  /// Of nothing.
  public init() {}

  /// Campaigns among those that were looked at which are in this state.
  public func campaigns(_ state: CampaignState) -> [RunningCampaign] { campaigns.filter { $0.record.state == state } }

  /// Campaigns among those that were looked at which could be sent, and are not.
  public var waiting: [RunningCampaign] { campaigns.filter { $0.record.waiting != nil } }

  /// Campaigns that wait for approval, one for a campaign with its parts.
  public var awaitingApproval: [RunningCampaign] { campaigns.filter { $0.record.waitsForApproval } }

  /// The versions of live workers, in order.
  public var versions: [String] {
    Set(workers.lazy.filter(\.isAlive).compactMap { $0.report?.version }.filter { !$0.isEmpty }).sorted()
  }

  /// Outcomes that live workers recorded a second lately, all together.
  public var perSecond: Int { workers.reduce(0) { $0 + ($1.isAlive ? $1.report?.perSecond ?? 0 : 0) } }
}
