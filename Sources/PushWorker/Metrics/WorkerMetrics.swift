public import CampaignStore
public import PushCore
public import PushTransport

/// The state and the totals of a worker at one moment, for health checks and metrics.
public struct WorkerMetrics: Sendable {
  /// Pushes of an app to a push service in a lane.
  public struct App: Sendable {
    public var app: String
    /// Name of the push service, such as `fcm`.
    public var service: String
    public var lane: Lane
    /// Pushes passed to connections.
    public var submitted: Int
    /// Outcomes that are recorded, or are about to be.
    public var outcomes: [Outcome: Int]
    /// Answers other than acceptances, by the service's name for the reason.
    public var refusals: [String: Int]
    /// Pushes that ended without an answer.
    public var unanswered: Int
    /// Pushes to retry later.
    public var retries: Int
    public var prunes: Int
    public var quarantines: Int
  }

  /// The connections of a credential to an endpoint.
  public struct Pool: Sendable {
    /// The apps that share the pool, sorted.
    public var apps: [String]
    /// Name of the push service, such as `fcm`.
    public var service: String
    public var state: PoolState
  }

  /// A credential for a push service.
  public struct Credential: Sendable {
    /// Name of the push service, such as `fcm`.
    public var service: String
    public var state: WorkerReport.Credential
  }

  /// A quota of a push service, which apps can share.
  public struct Quota: Sendable {
    public var name: String
    /// Present limit of the fleet, in pushes per second.
    public var perSecond: Double
    /// Number of this worker's pushes that exceeded the quota.
    public var exceeded: Int
  }

  public var apps: [App]
  public var pools: [Pool]
  /// The credentials; each credential appears once.
  public var credentials: [Credential]
  /// The quotas that the worker has used since its start.
  public var quotas: [Quota]
  public var totals: WorkerTotals
  public var events: WorkerEventCounts
  /// Maximum number of targets in doubt. `windowUsed` is the number of targets that may be in doubt now.
  public var window: Int
  public var windowUsed: Int
  public var slicesInHand: Int
  /// Whether the worker takes nothing new.
  public var isStopping: Bool
  /// Whether the worker has started and is listed in the fleet.
  public var isListed: Bool
  /// Whether the store is being repartitioned.
  public var isStoreLocked: Bool
  /// Time in ns since the last heartbeat that Redis accepted; `nil` before the first.
  public var silence: UInt64?
  /// The error of the latest heartbeat, if Redis did not accept it.
  public var heartbeatError: String?
}

/// Numbers of logged events, by kind.
public struct WorkerEventCounts: Sendable, Equatable {
  public var activated = 0
  public var deadLettered = 0
  /// Statements of events that changed nothing, because Redis has newer statements about the same user or device.
  public var superseded = 0
  public var pausedCampaigns = 0
  public var declines = 0
  /// Slices of dead workers that were given back to all workers.
  public var requeuedSlices = 0
  /// Slices that were taken over with targets in doubt. `takenOverInDoubt` is the number of these targets.
  public var takeovers = 0
  public var takenOverInDoubt = 0
  public var lostSlices = 0
  public var poisonTargets = 0
  public var redisChanges = 0
  public var redisReconnects = 0
  /// Errors that were retried, whether logged or not.
  public var retriedErrors = 0

  mutating func count(_ event: WorkerEvent) {
    switch event {
    case .activated: activated += 1
    case .deadLettered: deadLettered += 1
    case .eventsRefused(_, let count, _): deadLettered += count
    case .eventsSuperseded(_, let count): superseded += count
    case .paused: pausedCampaigns += 1
    case .declined: declines += 1
    case .requeued(_, let slices): requeuedSlices += slices
    case .takenOver(_, let inDoubt):
      takeovers += 1
      takenOverInDoubt += inDoubt
    case .lost: lostSlices += 1
    case .poison: poisonTargets += 1
    case .serverChanged: redisChanges += 1
    case .reconnected: redisReconnects += 1
    default: break
    }
  }
}
