import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Follows the states of the held campaigns, which operators and other workers pause, resume and cancel. When a state
/// changes, this worker stops sending or continues.
struct CampaignFollower: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let recorder: TargetRecorder
  let declined: DeclinedCampaigns
  let guards: GuardService
  let damage: DamageIsolator

  /// Time in ms between two reads of the states if no signal arrives.
  private static let interval = 1000

  /// Reads the states whenever the control epoch was raised, and regularly while the worker holds slices.
  ///
  /// - Parameter isIdle: returns whether the worker holds no slice and has no regular task.
  func run(isIdle: () -> Bool) async {
    while !life.isFinished {
      do {
        try await follow()
      } catch {
        log.report("could not read the states of campaigns", error)
        await damage.repair(error)
        await pause(milliseconds: 100)
        continue
      }
      await signals.follower.wait(milliseconds: isIdle() ? WakeRule.idleInterval : Self.interval, on: loop)
    }
  }

  /// Reads the states of the held campaigns in one call, applies them, and publishes the control epoch that this worker
  /// has applied.
  func follow() async throws {
    while true {
      let ids = Array(slices.campaigns.union(campaigns.contexts.keys).union(declined.declines.campaigns))
      let view = try await sharedStore.campaigns.syncControl(
        ids, worker: environment.configuration.name, applied: campaigns.epoch)
      record(view.lock)
      for ((id, state), round) in zip(zip(ids, view.states), view.rounds) { apply(id, state, round: round) }
      // If this worker claimed slices of further campaigns during the call, it reads the states again before it
      // publishes the epoch.
      guard slices.campaigns.isSubset(of: ids) else { continue }
      guard campaigns.sync(view.epoch) else { break }
    }
    wakeSlices()
  }

  private func apply(_ id: String, _ state: CampaignState?, round: Int) {
    // If the round (number of resumes) is higher, the campaign was paused and resumed between two reads.
    let held =
      slices.sessions.map(\.context).filter { $0.campaign.id == id } + [campaigns.contexts[id]].compactMap(\.self)
    for context in held where context.facts.round < round && !context.progress.isOutdated {
      guards.withdrawOutdated(context)
    }
    for session in slices.sessions where session.slice.campaign == id && session.intent != .lost {
      switch state {
      case .cancelled: recorder.stopSending(session, .cancel)
      // Without a record, Redis has lost the activation of the campaign, and a worker will activate it again.
      case .paused, .failed, nil: recorder.stopSending(session, .leave)
      default: break
      }
    }
    if let decline = declined.declines.declined[id], state != .active || decline.round < round {
      declined.remove(id, round: decline.round)
    }
    if campaigns.record(state, of: id, at: EventLoop.now), let state {
      log.write(.controlApplied(campaign: id, state: state))
    }
  }

  /// Records whether the store is locked. While the store is locked, no campaign may begin.
  private func record(_ lock: StoreLock) {
    guard lock != environment.storeLock else { return }
    let wasLocked = isStoreLocked
    environment.storeLock = lock
    if isStoreLocked != wasLocked { log.write(isStoreLocked ? .storeLocked : .storeUnlocked) }
    wakeClaims()
  }
}
