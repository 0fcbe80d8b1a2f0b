public import CampaignStore
public import PushCore
public import PushTransport

/// What a worker is doing and has done, copied at one moment: for health checks and metrics.
public struct WorkerMetrics: Sendable {
  /// Pushes of an app in a lane.
  public struct App: Sendable {
    public var app: String
    public var lane: Lane
    /// Handed to connections.
    public var submitted: Int
    /// Recorded, or about to be.
    public var outcomes: [Outcome: Int]
    /// Answers that were no acceptance, by the service's word for the reason.
    public var refusals: [String: Int]
    /// Ended without an answer.
    public var unanswered: Int
    /// To be tried again later.
    public var retries: Int
    public var prunes: Int
    public var quarantines: Int
  }

  /// The connections of a credential to an endpoint.
  public struct Pool: Sendable {
    /// Who shares it, in order.
    public var apps: [String]
    public var state: PoolState
  }

  public var apps: [App]
  public var pools: [Pool]
  /// What it is let in for, each credential once.
  public var credentials: [WorkerReport.Credential]
  public var totals: WorkerTotals
  public var events: WorkerEventCounts
  /// Targets in doubt at most, and those that may be.
  public var window: Int
  public var windowUsed: Int
  public var slicesInHand: Int
  /// Workers that live, as Redis said last.
  public var fleet: Int
  /// Whether it takes nothing new.
  public var isStopping: Bool
  /// Whether it was begun and listed.
  public var isListed: Bool
  /// Whether the store is being given other partitions.
  public var isStoreLocked: Bool
  /// Nanoseconds since Redis took its last sign of life; `nil` before the first.
  public var silence: UInt64?
  /// Why it did not take the latest.
  public var heartbeatError: String?
}

/// How often things happened that are worth a line in the log.
public struct WorkerEventCounts: Sendable, Equatable {
  public var activated = 0
  public var deadLettered = 0
  /// What events said and changed nothing, because something newer stands.
  public var superseded = 0
  public var pausedCampaigns = 0
  public var objections = 0
  /// Slices of dead workers that were given back to everybody.
  public var requeuedSlices = 0
  /// Slices that were taken over with targets in doubt, and those.
  public var takeovers = 0
  public var takenOverInDoubt = 0
  public var lostSlices = 0
  public var poisonTargets = 0
  public var redisChanges = 0
  public var redisReconnects = 0
  /// Failures that were tried again, told of or not.
  public var troubles = 0

  mutating func note(_ event: WorkerEvent) {
    switch event {
    case .activated: activated += 1
    case .deadLettered: deadLettered += 1
    case .eventsRefused(_, let count, _): deadLettered += count
    case .eventsSuperseded(_, let count): superseded += count
    case .paused: pausedCampaigns += 1
    case .objected: objections += 1
    case .requeued(_, let slices): requeuedSlices += slices
    case .tookOver(_, let inDoubt):
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
