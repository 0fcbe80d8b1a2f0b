import CampaignStore
import EventLoop
import PushCore

/// Prepares a held slice: expands it, or reads the targets that an earlier owner left in doubt.
struct SlicePreparation: WorkerPart {
  let environment: WorkerEnvironment
  let preconditions: ExpansionPreconditions
  let committer: SliceCommitter
  let returns: SliceReturn
  /// Time in ms for which a slice that can't be expanded is parked (released, and available again after this time).
  private static let obstaclePause = 5000
  /// Time in ms for which a slice of a campaign with a limit is parked after its users were counted. The pause ends
  /// earlier when the last slice of the campaign is counted.
  private static let rankingPause = 2000

  /// Expands a slice that is not sealed, or reads the targets that an earlier owner left in doubt.
  ///
  /// - Returns: `false` if the claim was lost, or the slice was parked because a precondition failed.
  func prepare(_ session: SliceSession) async throws -> Bool {
    if session.claim.mustReconcile {
      try await committer.reconcile(session)
      if let deaths = session.doubt.beginBisection() {
        log.write(.bisecting(slice: session.slice, deaths: deaths))
      }
    } else if !session.isReady {
      guard try await preconditions.canExpand(session.context) else {
        try await returns.park(session, for: Self.obstaclePause)
        return false
      }
      guard try await preconditions.knowsQuotas(of: session) else {
        try await returns.park(session, for: Self.rankingPause)
        return false
      }
      let (campaign, expansion) = (session.context.campaign, session.context.facts.expansion)
      let quota = session.context.progress.expansion.quotas.map { $0[session.slice.partition] }
      guard
        let targets = try await session.expanding.expansion.expand(
          session.ledger, of: campaign, filter: expansion.filter, quota: quota, now: Int(now),
          departures: session.claim.departures)
      else {
        log.write(.lost(slice: session.slice))
        try await returns.parkSealed(session)
        return false
      }
      recordSeal(targets, of: session)
    }
    return true
  }

  /// Records that the targets of a slice are fixed.
  func recordSeal(_ targets: SealedTargets, of session: SliceSession) {
    crashPoint(.sealed)
    session.journal.record(targets, at: EventLoop.now)
    let times = targets.times.map(session.context.times)
    session.seal(
      session.ledger.claim, count: targets.count, later: times?.later(of: targets.count, now: Int(now)) ?? 0,
      times: times)
    session.context.progress.expansion.addExpanded(targets: targets.count)
    let unknown = session.context.newUnknownZones(targets.unknownZones)
    if !unknown.isEmpty {
      log.write(
        .zonesUnknown(
          campaign: session.context.campaign.id.description, zones: unknown,
          instead: session.context.campaign.delivery.timing.defaultZone))
    }
    log.write(.sealed(slice: session.slice, targets: targets.count))
  }
}
