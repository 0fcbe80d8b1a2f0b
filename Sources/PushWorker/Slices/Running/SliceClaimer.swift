import CampaignStore
import EventLoop
import PushCore

/// Claims slices and creates their sessions.
struct SliceClaimer: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let reader: CampaignReader
  let rates: RateService
  let declined: DeclinedCampaigns
  let recorder: TargetRecorder
  let closer: SliceCloser
  let returns: SliceReturn
  let failover: FailoverService
  let dispatcher: CreditDispatcher
  /// Time in ms for which a slice is parked (released, and available again after this time) while its pool can't send.
  /// The time is short, because no event reports that the pool can send again. It is longer than the time that a worker
  /// needs to park all slices of a campaign.
  private static let stuckPause = 5000

  /// Claims a slice. Ends the slice immediately if no target is left or its campaign was cancelled.
  func claim(_ reference: SliceReference) async throws -> SliceSession? {
    guard !failover.mustReplay(of: reference) else {
      try await returns.postponeUntilReplayed(reference)
      return nil
    }
    guard let (context, state) = try await reader.context(of: reference) else { return nil }
    // The slices that the worker already holds are enough to find out when the pool can send again.
    if state == .active, context.facts.route.isStuck,
      slices.sessions.contains(where: { $0.context.facts.route === context.facts.route }),
      try await returns.park(reference, for: Self.stuckPause)
    {
      return nil
    }
    let ledger = SliceLedger(
      store: store, slice: reference, lease: environment.configuration.lease, app: context.campaign.app,
      service: context.facts.channel.service, rules: context.facts.rules, parts: context.facts.expansion.parts)
    // The expansion uses only the present connection. This worker therefore can't seal the targets after a failover in
    // which Redis has lost the claim.
    let expanding = store.pinned()
    if state == .active, try await rates.leaves(reference, context) { return nil }
    let progress: SliceProgress
    let claimedAt = EventLoop.now
    switch try await ledger.claim(worker: environment.configuration.name, gracePeriod: failover.takeoverGrace) {
    case .held(let milliseconds):
      try await returns.postpone(reference, for: milliseconds)
      return nil
    case .finished:
      _ = try await closer.end(ledger, context, .finish)
      return nil
    case .claimed(let claimed): progress = claimed
    }
    if state == .cancelled {
      crashPoint(.claimed)
      log.write(.claimed(slice: reference, targets: progress.isSealed ? progress.count : nil))
      _ = try await closer.end(ledger, context, .cancel)
      return nil
    }
    return createSession(ledger, context, progress, at: claimedAt, expanding: expanding, isActive: state == .active)
  }

  /// Creates the session of a claimed slice.
  ///
  /// - Parameter claimedAt: Monotonic time in ns of the request for the claim. The lease begins at or after this time.
  func createSession(
    _ ledger: SliceLedger, _ context: CampaignContext, _ progress: SliceProgress, at claimedAt: UInt64,
    expanding: CampaignStore, isActive: Bool = true
  ) -> SliceSession {
    let id = ledger.slice.campaign
    crashPoint(.claimed)
    log.write(.claimed(slice: ledger.slice, targets: progress.isSealed ? progress.count : nil))
    if !slices.has(id) {
      context.progress.startServing(
        at: Scheduler.start(of: context.facts.account, among: dispatcher.entries(EventLoop.now)))
    }
    let session = SliceSession(tag: slices.nextTag(), ledger: ledger, context: context, expanding: expanding)
    session.claim.graceEnd = failover.claimsResume
    slices.add(session)
    dispatcher.startTicking()
    session.adopt(progress, at: claimedAt, lease: lease)
    recordDoubt(progress, session)
    let isDeclined = declined.declines.applies(to: id, round: context.facts.round)
    if life.isStopping || !isActive || context.guard.tripReason != nil || isDeclined {
      recorder.stopSending(session, .leave)
    }
    return session
  }

  /// Records the targets that an earlier owner left in doubt.
  private func recordDoubt(_ progress: SliceProgress, _ session: SliceSession) {
    guard progress.isSealed, progress.inDoubt > 0 else { return }
    log.write(.takenOver(slice: session.slice, inDoubt: progress.inDoubt))
    session.doubt.isInherited = true
    session.claim.mustReconcile = true
    if progress.deaths >= Bisection.threshold, session.context.campaign.delivery.ambiguity == .resend {
      session.doubt.deaths = (progress.deaths, progress.bisected)
    }
  }
}
