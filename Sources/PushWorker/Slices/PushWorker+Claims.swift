import CampaignStore
import EventLoop

/// Slices are taken off the lanes while there is room for them.
extension PushWorker {
  /// Takes slices while there is room, then waits for a reason to look again.
  func claimLoop(_ group: inout DiscardingTaskGroup) async {
    while !life.isStopping {
      alarms.claims.reset()
      eventWait = nil
      do {
        let taken = try await takeSlices()
        if !taken.isEmpty {
          // In hand already: Redis forgot that, and is told it, or they are just being given back.
          let again = taken.filter(slices.taken.contains)
          let new = taken.filter { !slices.taken.contains($0) }
          slices.take(new)
          if housekeeping.noteBusy(EventLoop.now) { alarms.housekeeping.ring() }
          group.addTask { await self.work(on: new) }
          for slice in again { try await postponeUntilTold(slice) }
          continue
        }
        if try await isDone() { beginStop() }
      } catch {
        log.report("could not take a slice", error)
        await mend(error)
        await checkServer()
        // Whatever wakes this loop in between: what Redis refuses now it refuses in a few ms too.
        await pause(milliseconds: 100)
      }
      await waitForClaim()
    }
  }

  /// Whether there is nothing left to do for a worker that is not to wait for more.
  private func isDone() async throws -> Bool {
    guard slices.taken.isEmpty else { return false }
    switch hold {
    case .none: return configuration.drains ? try await control.campaigns.isIdle() : false
    // Jobs that wait in the queue are for later.
    case .held: return try await control.repartition.standsStill()
    case .outdated: return true
    }
  }

  private func takeSlices() async throws -> [SliceReference] {
    guard !isInGrace, hold != .outdated else { return [] }
    let now = EventLoop.now
    let entries = entries(now)
    let opening = scheduler.opening(entries, beginning: slices.beginning, window: configuration.window)
    guard !opening.lanes.isEmpty else { return [] }
    let room = 2 * configuration.window - entries.reduce(0) { $0 + $1.ahead }
    let enough = campaigns.contexts.compactMapValues { self.enough(of: $0) }
    let refused = campaigns.objections.campaigns.union(obstructedCampaigns(now)).union(campaignsWithoutPlace())
      .union(readings.large)
    let taken = try await control.slices.dequeueSlices(
      worker: configuration.name, lanes: opening.lanes, excluding: opening.excluded.union(refused),
      atMost: { [campaigns, scheduler] id in
        guard let context = campaigns.contexts[id], context.prospect.obstacle == nil else { return 1 }
        let most = enough[id].map { $0 - entries.reduce(0) { $0 + ($1.campaign == id ? $1.ungranted : 0) } }
        return scheduler.bunch(
          targets: context.prospect.targetsPerSlice, unfinished: context.prospect.unfinished,
          room: min(room, most ?? room))
      }, beginning: { try await self.begin($0) }, report: note, while: { !life.isStopping })
    left.noteTaken(taken)
    return taken.isEmpty ? try await takeLeft(entries, excluding: refused) : taken
  }

  /// Takes note of a campaign that waits for registration events, or has waited long enough.
  private func note(_ wait: EventWait) {
    switch wait {
    case .waits(_, let milliseconds): eventWait = min(eventWait ?? .max, milliseconds + 1)
    case .overtakes(let campaign, let events): log.tell(.overtook(campaign: campaign, events: events))
    }
  }

  /// Takes a slice that a dead worker left, whatever is in hand.
  private func takeLeft(
    _ entries: [Scheduler.Entry], excluding refused: Set<String>
  ) async throws -> [SliceReference] {
    guard !life.isStopping, scheduler.mayPrepare(entries, beginning: slices.beginning) else { return [] }
    let sought = left.next(EventLoop.now) { id in
      // Where the pool can't send, or a rate says what is enough, nobody is helped by it.
      refused.contains(id) || entries.contains { $0.campaign == id && ($0.isStuck || $0.enough != nil) }
    }
    guard !sought.isEmpty else { return [] }
    let found = try await control.slices.dequeueFirst(of: sought, worker: configuration.name)
    left.note(sought, found: found)
    // Of another campaign there may be some yet.
    if found == nil { wakeClaims() }
    return found.map { [$0] } ?? []
  }

  /// ms until the next look at the lanes when nothing says that there is something new. Three kinds of workers look by
  /// themselves: one that is to end when nothing is left, one that waits for Redis to be told what it forgot, and one that
  /// passed over a campaign which waits for registration events. Messages and heartbeats wake all others.
  private var claimInterval: Int {
    configuration.drains || isHeld || isInGrace ? 200 : min(eventWait ?? .max, Self.idleInterval)
  }

  func waitForClaim() async {
    await alarms.claims.sleep(milliseconds: claimInterval) { [weak self] in
      self?.assumeIsolated { $0.alarms.claims.ring() }
    }
  }

  /// Says that there may be something new.
  func wakeClaims() { alarms.claims.ring() }
}
