import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Follows the states of the campaigns in hand, which people and other workers pause, resume and cancel.
struct CampaignFollower: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let recorder: TargetRecorder
  let declined: DeclinedCampaigns
  let guards: GuardService
  let damage: DamageIsolator

  /// ms between looks at the states of the campaigns in hand that nothing has told of.
  private static let interval = 1000

  /// Looks whenever somebody has raised the control epoch, and now and then while there is something in hand.
  ///
  /// - Parameter isIdle: whether the worker has nothing in hand.
  func run(isIdle: () -> Bool) async {
    while !life.isFinished {
      do {
        try await follow()
      } catch {
        log.report("could not read the states of campaigns", error)
        await damage.mend(error)
        await pause(milliseconds: 100)
        continue
      }
      await signals.follower.wait(milliseconds: isIdle() ? WakeRule.idleInterval : Self.interval, on: loop)
    }
  }

  /// Reads the states of the campaigns in hand, in one call, follows them, and says so.
  func follow() async throws {
    while true {
      let ids = Array(slices.campaigns.union(campaigns.contexts.keys).union(declined.objections.campaigns))
      let view = try await sharedStore.campaigns.syncControl(
        ids, worker: environment.configuration.name, applied: campaigns.epoch)
      note(view.hold)
      for ((id, state), round) in zip(zip(ids, view.states), view.rounds) { apply(id, state, round: round) }
      // What came into our hands meanwhile is looked at before we say that we have followed.
      guard slices.campaigns.isSubset(of: ids) else { continue }
      guard campaigns.sync(view.epoch) else { break }
    }
    wakeSlices()
  }

  private func apply(_ id: String, _ state: CampaignState?, round: Int) {
    // Paused and resumed between two looks.
    let held =
      slices.sessions.map(\.context).filter { $0.campaign.id == id } + [campaigns.contexts[id]].compactMap(\.self)
    for context in held where context.facts.round < round && !context.progress.isOutdated {
      guards.withdrawOutdated(context)
    }
    for session in slices.sessions where session.slice.campaign == id && session.intent != .lost {
      switch state {
      case .cancelled: recorder.withdraw(session, .cancel)
      // Gone: Redis has forgotten that it was ever taken in, and somebody will take it in once more.
      case .paused, .failed, nil: recorder.withdraw(session, .leave)
      default: break
      }
    }
    if let objection = declined.objections.raised[id], state != .active || objection.round < round {
      declined.withdrawObjection(to: id, round: objection.round)
    }
    if campaigns.note(state, of: id, at: EventLoop.now), let state { log.tell(.followed(campaign: id, state: state)) }
  }

  /// Notes whether campaigns may begin.
  private func note(_ hold: StoreHold) {
    guard hold != environment.storeLock else { return }
    let wasLocked = isStoreLocked
    environment.storeLock = hold
    if isStoreLocked != wasLocked { log.tell(isStoreLocked ? .storeLocked : .storeUnlocked) }
    wakeClaims()
  }
}
