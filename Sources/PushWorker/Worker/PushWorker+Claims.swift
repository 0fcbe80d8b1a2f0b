import CampaignStore
import EventLoop

/// Slices are taken off the lanes while there is room for them.
extension PushWorker {
  /// Takes slices while there is room, then waits for a reason to look again.
  func claimLoop(_ group: inout DiscardingTaskGroup) async {
    while !life.isStopping {
      claimAlarm.reset()
      do {
        let taken = try await takeSlices()
        if !taken.isEmpty {
          slices.take(taken)
          group.addTask { await self.work(on: taken) }
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
    case .none: return configuration.drains ? try await control.isIdle() : false
    // Jobs that wait in the queue are for later.
    case .held: return try await control.standsStill()
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
    return try await control.dequeueSlices(
      worker: configuration.name, lanes: opening.lanes,
      excluding: opening.excluded.union(campaigns.objections.campaigns).union(obstructedCampaigns(now))
        .union(campaignsWithoutPlace()),
      atMost: { [campaigns, scheduler] id in
        guard let context = campaigns.contexts[id], context.obstacle == nil else { return 1 }
        let most = enough[id].map { $0 - entries.reduce(0) { $0 + ($1.campaign == id ? $1.ungranted : 0) } }
        return scheduler.bunch(
          targets: context.targetsPerSlice, unfinished: context.unfinished, room: min(room, most ?? room))
      }, while: { !life.isStopping })
  }

  /// ms until the next look at the lanes when nothing says that there is something new. Only a worker that is to end
  /// when nothing is left, or that waits for Redis to be told what it forgot, looks by itself; else messages and heartbeats
  /// tell.
  private var claimInterval: Int { configuration.drains || isHeld || isInGrace ? 200 : Self.idleInterval }

  func waitForClaim() async {
    await claimAlarm.sleep(milliseconds: claimInterval) { [weak self] in
      self?.assumeIsolated { $0.claimAlarm.ring() }
    }
  }

  /// Says that there may be something new.
  func wakeClaims() { claimAlarm.ring() }
}
