public import PushTransport
public import CampaignStore

/// An event for the log. It never contains a token, a payload or a secret.
public enum WorkerEvent: Sendable {
  case started(name: String)
  /// A job became a campaign.
  ///
  /// - Parameter isTransactional: Whether the campaign also goes to users on its app's suppression lists.
  case activated(campaign: String, isTransactional: Bool)
  /// The start time of a scheduled campaign has come.
  case campaignStarted(campaign: String)
  /// Events went to the dead list. `reason` is the reason for the first of them.
  case eventsRefused(list: EventList, count: Int, reason: String)
  /// Some statements of events changed nothing, because Redis has newer statements about the same user or device.
  case eventsSuperseded(list: EventList, count: Int)
  /// Devices have time zones that this machine does not know. They use the campaign's default zone.
  case zonesUnknown(campaign: String, zones: [String], instead: String)
  /// A campaign has waited long enough for registration events. It begins although this many events are not applied
  /// yet.
  case eventsNotApplied(campaign: String, events: Int)
  /// A job went to the dead list. `key` identifies the entry there. `campaign` is the id of the job; `nil` if the job
  /// has none.
  case deadLettered(key: String, campaign: String?, reason: String)
  case ended(campaign: String, state: CampaignState)
  /// A campaign completed without a target. One worker of the fleet logs it.
  case reachedNoUser(campaign: String, reason: String)
  /// The worker paused a campaign, because every further push would fail in the same way on every worker.
  case paused(campaign: String, reason: String)
  /// The worker declined a campaign, because every push of it would fail here.
  case declined(campaign: String, reason: String)
  /// A campaign that the worker was sending was paused or cancelled, by an operator or by another worker.
  case controlApplied(campaign: String, state: CampaignState)
  /// The worker sends a campaign that was resumed.
  case resumed(campaign: String)
  /// A gate has chosen the variant for the later stages of a campaign.
  case decided(campaign: String, variant: String)
  /// The next stage of a campaign begins.
  case opened(campaign: String, stage: String)
  /// A slice or a campaign was moved to the dead list, because its data in Redis is damaged.
  case isolated(String, reason: String)
  /// This worker became the maintenance leader.
  case becameHousekeeper
  /// Slices of a dead worker were given back to all workers.
  case requeued(from: String, slices: Int)
  /// A slice was taken over with targets in doubt.
  case takenOver(slice: SliceReference, inDoubt: Int)
  /// The lease of a slice was lost to another worker.
  case lost(slice: SliceReference)
  /// Workers died this many times in a row while they held this slice. This worker searches for the poison target: the
  /// target that kills every worker that sends it.
  case bisecting(slice: SliceReference, deaths: Int)
  /// The poison target was found and put on the dead list.
  case poison(slice: SliceReference, index: Int)
  /// Another Redis server has taken over, or Redis has lost data. The worker replays writes that may be lost.
  case serverChanged
  /// The connection to Redis broke. There is a new connection to the same server.
  case reconnected
  /// The circuit breaker opened: a push service answers nearly everything with server errors. Only trial pushes are
  /// sent until one is accepted.
  case breakerOpened(service: String, endpoint: String)
  /// The circuit breaker closed: sending continues.
  case breakerClosed(service: String, endpoint: String)
  /// An app's own backend is slow or failing. The app's campaigns are limited to this share of ``AppBackend/rate``.
  case throttled(app: String, share: Double, reason: String)
  /// The backend is healthy again, and no longer limits the app's campaigns.
  case throttleEnded(app: String)
  /// A push service refuses pushes, because a quota is used up. The fleet sends at this rate until the quota permits
  /// more.
  case quotaExceeded(quota: String, perSecond: Double)
  /// The state of the connections to a push service, logged from time to time.
  case connections(service: String, endpoint: String, PoolState)
  // Events of slices, for debugging.
  /// A slice was claimed. `targets` is the number of its targets; `nil` if the slice is not sealed yet.
  case claimed(slice: SliceReference, targets: Int?)
  /// The targets of a slice are fixed.
  case sealed(slice: SliceReference, targets: Int)
  /// A slice was released until its next retry is due, or until its push service can be tried again.
  case parked(slice: SliceReference, milliseconds: Int)
  /// A slice was given back for any worker.
  case released(slice: SliceReference)
  /// A slice has ended with this number of targets.
  case closed(slice: SliceReference, targets: Int)
  /// An operation failed and is retried. `slice` is the slice that the error concerns, if any.
  case error(String, slice: SliceReference?)
  /// The store is being repartitioned: no campaign begins until the repartitioning is done.
  case storeLocked
  /// The repartitioning is done.
  case storeUnlocked
  case draining
  case stopped(WorkerTotals)
}

/// Totals of a worker since its start.
public struct WorkerTotals: Sendable, Equatable {
  /// Pushes passed to connections.
  public var submitted = 0
  /// Outcomes and retries recorded.
  public var recorded = 0
  /// Commits that Redis answered. A commit is one write for a slice: it records outcomes and grants further pushes.
  public var commits = 0
  /// Pushes that the push service accepted.
  public var accepted = 0
  /// Slices that this worker has finished.
  public var slices = 0
  /// Targets in doubt that were sent again.
  public var resent = 0

  /// Creates totals that are all zero.
  public init() {}

  /// Returns the sum of two totals.
  public static func + (left: WorkerTotals, right: WorkerTotals) -> WorkerTotals {
    var sum = left
    sum.submitted += right.submitted
    sum.recorded += right.recorded
    sum.commits += right.commits
    sum.accepted += right.accepted
    sum.slices += right.slices
    sum.resent += right.resent
    return sum
  }
}
