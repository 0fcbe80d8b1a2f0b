import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// What people, and other workers, make of the campaigns in hand: paused, resumed, cancelled.
extension PushWorker {
  /// ms between looks at the states of the campaigns in hand that nothing has told of.
  private static let controlInterval = 1000

  /// Looks whenever somebody has raised the control epoch, and now and then while there is something in hand.
  func controlLoop() async {
    while !life.isFinished {
      do {
        try await followControl()
      } catch {
        log.report("could not read the states of campaigns", error)
        await mend(error)
        await pause(milliseconds: 100)
        continue
      }
      await alarms.control.sleep(milliseconds: isIdle ? Self.idleInterval : Self.controlInterval) { [weak self] in
        self?.assumeIsolated { $0.alarms.control.ring() }
      }
    }
  }

  /// Reads the states of the campaigns in hand, in one call, follows them, and says so.
  func followControl() async throws {
    while true {
      let ids = Array(slices.campaigns.union(campaigns.contexts.keys).union(campaigns.objections.campaigns))
      let view = try await control.campaigns.syncControl(ids, worker: configuration.name, applied: campaigns.epoch)
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
    for context in held where context.round < round && !context.isOutdated { withdrawOutdated(context) }
    for session in slices.sessions where session.slice.campaign == id && session.intent != .lost {
      switch state {
      case .cancelled: withdraw(session, .cancel)
      // Gone: Redis has forgotten that it was ever taken in, and somebody will take it in once more.
      case .paused, .failed, nil: withdraw(session, .leave)
      default: break
      }
    }
    if let objection = campaigns.objections.raised[id], state != .active || objection.round < round {
      withdrawObjection(to: id, round: objection.round)
    }
    if campaigns.note(state, of: id, at: EventLoop.now), let state { log.tell(.followed(campaign: id, state: state)) }
  }

  /// Stops sending for a slice: what no connection has taken is settled, what is under way is waited for.
  func withdraw(_ session: SliceSession, _ intent: SliceSituation.Intent) {
    guard session.withdraw(intent) else { return }
    takeBack(session, session.context.route.pool.cancelBacklog(where: session.tag.matches))
    session.wake()
  }

  /// Pauses a campaign because every further push would fail the same way, whoever sent it.
  ///
  /// From now on nothing more of it is sent here, whenever Redis hears of the pause; should it not hear of it, the next
  /// push that is refused says so again.
  ///
  /// - Parameter round: in which it was found. Once resumed the campaign goes on: it may have been mended meanwhile.
  func pauseCampaign(_ id: String, round: Int, _ reason: String) {
    guard campaigns.beginPause(id) else { return }
    let context = campaigns.contexts[id].flatMap { $0.round == round ? $0 : nil }
    context?.isPaused = true
    for session in slices.sessions where session.context === context {
      takeBack(session, session.context.route.pool.cancelBacklog(where: session.tag.matches))
    }
    // One task a campaign that is paused, not one a push.
    Task {
      do {
        if try await control.campaigns.control(id, .pause, reason: reason, round: round) == .paused {
          log.tell(.paused(campaign: id, reason: reason))
        } else {
          context?.isPaused = false
        }
      } catch {
        context?.isPaused = false
        log.report("could not pause campaign \(id)", error)
      }
      campaigns.endPause(id)
      wakeSlices()
    }
  }
}
