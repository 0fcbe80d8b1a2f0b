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
        if configuration.drains, slices.taken.isEmpty, try await control.isIdle() { beginStop() }
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

  private func takeSlices() async throws -> [SliceReference] {
    guard !isInGrace else { return [] }
    let now = EventLoop.now
    let entries = entries(now)
    let opening = scheduler.opening(entries, beginning: slices.beginning, window: configuration.window)
    guard !opening.lanes.isEmpty else { return [] }
    let room = 2 * configuration.window - entries.reduce(0) { $0 + $1.ungranted }
    return try await control.dequeueSlices(
      worker: configuration.name, lanes: opening.lanes,
      excluding: opening.excluded.union(campaigns.objections.campaigns).union(campaignsWithoutRoom(now)),
      atMost: { [campaigns, scheduler] id in
        guard let context = campaigns.contexts[id], context.shortage == nil else { return 1 }
        return scheduler.bunch(targets: context.targetsPerSlice, unfinished: context.unfinished, room: room)
      }, while: { !life.isStopping })
  }

  /// ms until the next look at the lanes when nothing says that there is something new. Only a worker that drains, or that
  /// waits for Redis to be told what it forgot, looks by itself; else messages and heartbeats tell.
  private var claimInterval: Int { configuration.drains || isInGrace ? 200 : Self.idleInterval }

  func waitForClaim() async {
    await claimAlarm.sleep(milliseconds: claimInterval) { [weak self] in
      self?.assumeIsolated { $0.claimAlarm.ring() }
    }
  }

  /// Says that there may be something new.
  func wakeClaims() { claimAlarm.ring() }
}
