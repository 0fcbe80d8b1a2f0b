import CampaignStore
import PushCore

/// Pauses campaigns when this worker decides that they can't continue.
struct CampaignPauses: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let recorder: TargetRecorder

  /// Pauses a campaign because every further push would fail in the same way on every worker.
  ///
  /// From now on, this worker sends nothing more of the campaign, even before Redis records the pause. If Redis does
  /// not record the pause, the next refused push pauses the campaign again.
  ///
  /// A pause of a leg affects only the legs of the same push service.
  ///
  /// - Parameters:
  ///   - everyLeg: Whether the cause concerns the whole campaign, so that all its legs are paused.
  ///   - needsApproval: Whether only an approval resumes the campaign.
  ///   - round: The round (number of resumes) in which the cause was found. In a later round the campaign continues,
  ///     because the cause may be fixed.
  func pause(_ id: String, everyLeg: Bool = false, needsApproval: Bool = false, round: Int, _ reason: String) {
    guard campaigns.beginPause(id) else { return }
    let context = campaigns.contexts[id].flatMap { $0.facts.round == round ? $0 : nil }
    context?.progress.isPaused = true
    for session in slices.sessions where session.context === context {
      recorder.returnBacklog(of: session)
    }
    loop.start { await self.pause(id, context, everyLeg: everyLeg, needsApproval: needsApproval, round: round, reason) }
  }

  private func pause(
    _ id: String, _ context: CampaignContext?, everyLeg: Bool, needsApproval: Bool, round: Int, _ reason: String
  ) async {
    do {
      let campaigns = sharedStore.campaigns
      let state = try await campaigns.control(
        id, .pause, reason: reason, round: round, needsApproval: needsApproval, everyLeg: everyLeg)
      if state == .paused {
        log.write(.paused(campaign: id, reason: reason))
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
