import CampaignStore
import EventLoop

/// Takes slices from the lanes while the worker has room.
final class SliceFetcher: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let campaigns: CampaignTable
  private let abandoned: AbandonedSlices
  private let selection: SliceSelection
  private let reader: CampaignReader
  private let rates: RateService
  private let dispatcher: CreditDispatcher
  private let failover: FailoverService
  private let housekeeping: HousekeepingLease
  private let batches: SliceBatchRunner
  private let returns: SliceReturn
  /// Time in ms until the next start of a campaign that first waits for registration events. The latest dequeue has
  /// reported it; `nil` for no such campaign.
  private var eventWait: Int?

  init(
    _ environment: WorkerEnvironment, slices: SliceTable, campaigns: CampaignTable, abandoned: AbandonedSlices,
    selection: SliceSelection, reader: CampaignReader, rates: RateService, dispatcher: CreditDispatcher,
    failover: FailoverService, housekeeping: HousekeepingLease, batches: SliceBatchRunner, returns: SliceReturn
  ) {
    self.environment = environment
    self.slices = slices
    self.campaigns = campaigns
    self.abandoned = abandoned
    self.selection = selection
    self.reader = reader
    self.rates = rates
    self.dispatcher = dispatcher
    self.failover = failover
    self.housekeeping = housekeeping
    self.batches = batches
    self.returns = returns
  }

  /// Takes slices while there is room, then waits for a signal to try again. Returns when the worker stops and holds no
  /// slice.
  func run(_ group: inout DiscardingTaskGroup) async {
    while !life.isStopping {
      signals.claims.reset()
      eventWait = nil
      do {
        let taken = try await takeSlices()
        if !taken.isEmpty {
          // This worker still holds some of these slices: Redis lost their claims and needs a replay, or the worker is
          // just giving them back.
          let again = taken.filter(slices.taken.contains)
          let new = taken.filter { !slices.taken.contains($0) }
          slices.take(new)
          if housekeeping.recordBusy(EventLoop.now) { signals.maintenance.wake() }
          loop.start(in: &group) { await self.batches.work(on: new) }
          for slice in again { try await returns.postponeUntilReplayed(slice) }
          continue
        }
        if try await isDone() { signals.onCompletion() }
      } catch {
        log.report("could not claim a slice", error)
        await failover.recover(from: error)
        // Pauses even if a signal arrives, because Redis would refuse the same call again within the next few ms.
        await pause(milliseconds: 100)
      }
      await waitForClaim()
    }
    while !slices.taken.isEmpty { await waitForClaim() }
  }

  /// Returns whether this worker must end: it drains or its store is locked, and no work is left.
  private func isDone() async throws -> Bool {
    guard slices.taken.isEmpty else { return false }
    switch environment.storeLock {
    case .none: return environment.configuration.drains ? try await sharedStore.campaigns.isIdle() : false
    // While the store is locked, queued jobs stay in the queue.
    case .locked: return try await sharedStore.repartition.hasNoRunningCampaigns()
    case .outdated: return true
    }
  }

  private func takeSlices() async throws -> [SliceReference] {
    guard !failover.isInGrace, environment.storeLock != .outdated else { return [] }
    let now = EventLoop.now
    let entries = dispatcher.entries(now)
    let opening = selection.opening(entries, beginning: slices.beginning, window: environment.configuration.window)
    guard !opening.lanes.isEmpty else { return [] }
    let room = 2 * environment.configuration.window - entries.reduce(0) { $0 + $1.targets.ahead }
    let enough = campaigns.contexts.compactMapValues { rates.enough(of: $0) }
    let refused = reader.campaignsPassedOver(now)
    let taken = try await sharedStore.slices.dequeueSlices(
      worker: environment.configuration.name, lanes: opening.lanes, excluding: opening.excluded.union(refused),
      atMost: { id in
        guard let context = campaigns.contexts[id], context.progress.expansion.obstacle == nil else { return 1 }
        let most = enough[id].map { $0 - entries.reduce(0) { $0 + ($1.campaign == id ? $1.targets.ungranted : 0) } }
        return selection.batchSize(
          targets: context.progress.expansion.targetsPerSlice, unfinished: context.progress.expansion.unfinished,
          fleet: environment.fleet,
          room: min(room, most ?? room))
      }, beginning: reader.begin, report: report, while: { !life.isStopping })
    abandoned.removeTaken(taken)
    return taken.isEmpty ? try await abandoned.take(entries, excluding: refused) : taken
  }

  /// Records that a campaign waits for registration events, or logs that it has waited long enough.
  private func report(_ wait: EventWait) {
    switch wait {
    case .waits(_, let milliseconds): eventWait = min(eventWait ?? .max, milliseconds + 1)
    case .expired(let campaign, let events): log.write(.eventsNotApplied(campaign: campaign, events: events))
    }
  }

  /// Time in ms until the next dequeue if no signal arrives. Usually messages and heartbeats wake the worker. In these
  /// states, the worker polls:
  /// - it drains, or its store is locked;
  /// - it is in the grace period after a failover;
  /// - it has passed over a campaign that waits for registration events.
  private var claimInterval: Int {
    environment.configuration.drains || isStoreLocked || failover.isInGrace
      ? 200 : min(eventWait ?? .max, WakeRule.idleInterval)
  }

  private func waitForClaim() async {
    await signals.claims.wait(milliseconds: claimInterval, on: loop)
  }
}
