import CampaignStore
import PushCore

/// Pauses campaigns on this worker's word.
struct CampaignPauses: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let recorder: TargetRecorder

  /// Pauses a campaign because every further push would fail the same way, whoever sent it.
  ///
  /// From now on nothing more of it is sent here, whenever Redis hears of the pause; should it not hear of it, the next
  /// push that is refused says so again.
  ///
  /// - Parameter round: in which it was found. Once resumed the campaign goes on: it may have been mended meanwhile.
  func pause(_ id: String, round: Int, _ reason: String) {
    guard campaigns.beginPause(id) else { return }
    let context = campaigns.contexts[id].flatMap { $0.facts.round == round ? $0 : nil }
    context?.progress.isPaused = true
    for session in slices.sessions where session.context === context {
      recorder.takeBackBacklog(of: session)
    }
    loop.start { await self.pause(id, context, round: round, reason) }
  }

  private func pause(_ id: String, _ context: CampaignContext?, round: Int, _ reason: String) async {
    do {
      if try await sharedStore.campaigns.control(id, .pause, reason: reason, round: round) == .paused {
        log.tell(.paused(campaign: id, reason: reason))
      } else {
        context?.progress.isPaused = false
      }
    } catch {
      context?.progress.isPaused = false
      log.report("could not pause campaign \(id)", error)
    }
    campaigns.endPause(id)
    wakeSlices()
  }
}
