public import PushTransport
public import CampaignStore

/// Something worth a line in the log. Never a token, a payload or a secret.
public enum WorkerEvent: Sendable {
  case started(name: String)
  /// - Parameter isTransactional: it goes to users on its app's suppression lists too.
  case activated(campaign: String, isTransactional: Bool)
  /// The time of a scheduled campaign has come.
  case begun(campaign: String)
  /// Events went to the dead list; the reason is that of the first.
  case eventsRefused(list: EventList, count: Int, reason: String)
  /// Statements of events changed nothing, because something newer stands.
  case eventsSuperseded(list: EventList, count: Int)
  /// Devices have time zones that this machine does not know: they go by the campaign's default zone.
  case zonesUnknown(campaign: String, zones: [String], instead: String)
  /// A campaign has waited for registration events long enough, and begins before so many of them are applied.
  case overtook(campaign: String, events: Int)
  /// A job went to the dead list, under this key; it may give no id.
  case deadLettered(key: String, campaign: String?, reason: String)
  case ended(campaign: String, state: CampaignState)
  /// A campaign completed without a target. One worker of the fleet logs it.
  case reachedNobody(campaign: String, reason: String)
  /// The worker paused a campaign because every further push would fail the same way, whoever sent it.
  case paused(campaign: String, reason: String)
  /// The worker leaves a campaign to others, as every push of it would fail here.
  case objected(campaign: String, reason: String)
  /// A campaign that it was sending was paused or cancelled, by a person or by another worker.
  case followed(campaign: String, state: CampaignState)
  /// It sends a campaign that was resumed.
  case resumed(campaign: String)
  /// A gate has chosen the variant that the later stages of a campaign get.
  case decided(campaign: String, variant: String)
  /// The next stage of a campaign begins.
  case opened(campaign: String, stage: String)
  /// A slice or a campaign was taken out because what Redis has of it can't be right, and put on the dead list.
  case takenOut(String, reason: String)
  /// This worker does from now on what one does for all.
  case becameHousekeeper
  /// Slices of a silent worker were given back to everybody.
  case requeued(from: String, slices: Int)
  /// A slice was taken over with targets in doubt.
  case tookOver(slice: SliceReference, inDoubt: Int)
  /// The lease of a slice was lost to somebody else.
  case lost(slice: SliceReference)
  /// A slice has killed its workers this many times in a row: the target that does it is being looked for.
  case bisecting(slice: SliceReference, deaths: Int)
  /// It has been found, and put on the dead list.
  case poison(slice: SliceReference, index: Int)
  /// Redis is another server than before, or has lost its memory: what it may have forgotten is told again.
  case serverChanged
  /// The way to Redis broke, and there is a new connection to the server that was there before.
  case reconnected
  /// A push service answers nearly everything with 503: nothing is sent there but a push now and then, until one is taken.
  case breakerOpened(endpoint: String)
  /// It does not any more: sending goes on.
  case breakerClosed(endpoint: String)
  /// An app's own backend is slow or failing: its campaigns go slower, at this share of their rate and less.
  case slowed(app: String, share: Double, reason: String)
  /// It is well again, and they go as fast as before.
  case quickened(app: String)
  /// How the connections to a push service are, now and then.
  case connections(endpoint: String, PoolState)
  // What becomes of slices: for who looks for a fault.
  /// A slice was claimed; the number of its targets, if it is sealed.
  case claimed(slice: SliceReference, targets: Int?)
  /// The targets of a slice are fixed.
  case sealed(slice: SliceReference, targets: Int)
  /// A slice waits for its next retry, or for its push service.
  case parked(slice: SliceReference, milliseconds: Int)
  /// A slice was given back, to be taken up by any worker.
  case gaveBack(slice: SliceReference)
  /// A slice has ended with so many targets.
  case closed(slice: SliceReference, targets: Int)
  /// Something failed and is tried again; with the slice that it concerns, where it does one.
  case trouble(String, slice: SliceReference?)
  /// The store is being given other partitions: nothing begins until that is done.
  case storeLocked
  /// It is not any more.
  case storeUnlocked
  case draining
  case stopped(WorkerTotals)
}

/// What a worker has done since its start.
public struct WorkerTotals: Sendable, Equatable {
  /// Pushes handed to connections.
  public var submitted = 0
  /// Outcomes and retries recorded.
  public var recorded = 0
  /// Commits that Redis answered.
  public var commits = 0
  /// Accepted by the push service.
  public var accepted = 0
  /// Slices finished.
  public var slices = 0
  /// Targets in doubt that were sent again.
  public var resent = 0

  /// All zero.
  public init() {}

  /// What both have done together.
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
