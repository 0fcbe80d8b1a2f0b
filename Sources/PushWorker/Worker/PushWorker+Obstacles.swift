import CampaignStore
import EventLoop
import PushCore

/// Slices of a campaign are expanded only when nothing is in their way: its first part has ended well, the campaigns that its audience refers to have ended,
/// the segments that it names exist, and Redis has room for what is left of it, as memory must not run out in the middle. What is sealed goes on, whatever
/// happens. A campaign that waits says why.
extension PushWorker {
  /// ms for which a slice is set aside that can't be expanded.
  static let pause = 5000
  /// ns for which no slice of such a campaign is taken.
  private static let patience: UInt64 = 1_000_000_000
  /// ns for which it is known of earlier campaigns that they have ended and are still there, and of segments that they exist.
  private static let earlierMemory: UInt64 = 10_000_000_000

  /// Whether slices of a campaign can be expanded now. Where not, the campaign waits and says so.
  func canExpand(_ context: CampaignContext) async throws -> Bool {
    var reason = try await canaryObstacle(of: context)
    if reason == nil { reason = try await unfinishedEarlier(of: context) }
    if reason == nil { reason = try await missingSegment(of: context) }
    if reason == nil { reason = try await shortage(for: context) }
    let now = EventLoop.now
    context.prospect.obstacle = reason.map {
      .init(reason: $0, since: context.prospect.obstacle?.since ?? now, seenAt: now)
    }
    return reason == nil
  }

  /// ms for which a slice of a campaign with a limit is set aside, unless the last one is counted sooner.
  static let rankingPause = 2000

  /// Whether it is known how many users a slice takes: of a campaign with a limit its users are counted first, and then
  /// all slices wait until the last has been.
  func knowsQuotas(of session: SliceSession) async throws -> Bool {
    let context = session.context
    guard context.campaign.limit != nil, context.prospect.quotas == nil else { return true }
    context.prospect.quotas = try await session.expanding.quotas(
      for: session.slice, of: context.campaign, filter: context.filter)
    return context.prospect.quotas != nil
  }

  /// Whether all but the first wave of a campaign still wait: for their time, or for the best variant.
  func isHeldBack(_ context: CampaignContext) -> Bool {
    context.awaitsWinner || context.gate.map { Int(now) < $0 } ?? false
  }

  /// ms for which a slice is set aside at most that waits for its campaign's gate: whoever opens that sooner opens what is
  /// parked, but not what is parked a moment later.
  private static let longestHold = 60_000

  /// ms until the gate of a campaign is looked at again.
  func untilGate(of context: CampaignContext) -> Int {
    max(200, min((context.gate ?? 0) - Int(now), Self.longestHold))
  }

  /// Finds out how many targets of a slice belong to the first wave, while the others wait.
  func holdBack(_ session: SliceSession) async throws {
    if session.context.awaitsWinner { try await lookForWinner(of: session.context) }
    guard isHeldBack(session.context) else { return }
    // Where nobody says how many these are, nobody is.
    session.firstWave = try await session.ledger.parts().first ?? 0
  }

  /// Learns which variant those get who wait, or finds it out once it is time. Where it is unclear, the campaign is paused.
  private func lookForWinner(of context: CampaignContext) async throws {
    let id = context.campaign.id
    guard Int(now) >= context.gate ?? 0 else {
      // A person may have said so.
      context.decision = try await control.decision(of: id)
      return
    }
    switch try await control.findWinner(of: context.campaign, round: context.round) {
    case .decided(let decision):
      context.decision = decision
      let name = context.campaign.variants?.name(of: decision.winner, winner: nil)
      log.tell(.decided(campaign: id, variant: name ?? ""))
    case .unclear(let reason): pauseCampaign(id, round: context.round, reason)
    case .gone: break
    }
  }

  /// Gives a slice back that can't be expanded.
  func setAside(_ session: SliceSession, for milliseconds: Int = PushWorker.pause) async throws {
    try await session.ledger.unclaim()
    if try await control.park(session.slice, for: milliseconds, worker: configuration.name) {
      log.tell(.parked(slice: session.slice, milliseconds: milliseconds))
    } else {
      try await requeue(session)
    }
  }

  /// Campaigns of which nothing is taken just now, as it could not be expanded.
  func obstructedCampaigns(_ now: UInt64) -> [String] {
    campaigns.contexts.values.filter { $0.prospect.obstacle.map { now - $0.seenAt < Self.patience } ?? false }.map(
      \.campaign.id)
  }

  /// Looks whether campaigns can go on that could not be expanded.
  func lookAtObstacles() async throws {
    for context in campaigns.contexts.values where context.prospect.obstacle != nil {
      if try await canExpand(context) { wakeClaims() }
    }
  }

  /// ms for which the rest of a campaign waits for its first part to become one.
  private static let beginning = 60_000

  /// What keeps the rest of a campaign from being sent whose canary has not ended well; `nil` for nothing.
  private func canaryObstacle(of context: CampaignContext) async throws -> String? {
    guard let canary = context.campaign.canary, let first = canary.first, !context.prospect.isCanaryOver else {
      return nil
    }
    let id = context.campaign.id
    guard let record = try await control.campaign(first) else {
      if Int(now) - context.createdAt < Self.beginning {
        return "canary: campaign \(first), its first part, has not begun"
      }
      let reason = "canary: there is no campaign \(first) any more, so nobody knows what became of it"
      // Whoever resumed it knows that.
      if context.round > 0 { return nil }
      pauseCampaign(id, round: context.round, reason + "; resume or cancel the rest")
      return reason
    }
    let opened = try await canary.leastOpened == nil ? 0 : control.receipts(of: record)[.opened] ?? 0
    let finding = Canary.Finding(
      outcomes: record.counters.outcomes, opened: opened, finishedAt: record.finishedAt,
      isCancelled: record.state == .cancelled)
    switch canary.verdict(finding, isResumed: context.round > 0, now: Int(now)) {
    case .goOn:
      context.prospect.isCanaryOver = true
      return nil
    case .wait(let reason): return reason
    case .pause(let reason):
      pauseCampaign(id, round: context.round, reason)
      return reason
    case .cancel:
      let reason = "canary: campaign \(first), its first part, was cancelled"
      try await control.control(id, .cancel, reason: reason)
      return reason
    }
  }

  /// Why Redis has no room for what is left of a campaign; `nil` when it has.
  private func shortage(for context: CampaignContext) async throws -> String? {
    if memory.isDue(EventLoop.now) { memory.note(try await control.memory(), at: EventLoop.now) }
    guard let use = memory.use, use.room != nil else { return nil }
    let slices = max(1, context.prospect.unfinished)
    if context.prospect.targetsPerSlice == nil, context.prospect.estimatedTargetsPerSlice == nil {
      context.prospect.estimatedTargetsPerSlice = try await control.estimate(of: context.campaign).targets / slices
    }
    let targets = context.prospect.targetsPerSlice ?? context.prospect.estimatedTargetsPerSlice ?? 0
    let bytes = CampaignSize.bytes(slices: slices, targetsPerSlice: targets, of: context.campaign)
    return use.shortage(of: "what is left of the campaign", taking: bytes)
  }

  /// Pauses a campaign that names or excludes a segment which does not exist: an exclusion would exclude nobody. `nil` when
  /// all segments exist.
  private func missingSegment(of context: CampaignContext) async throws -> String? {
    let now = EventLoop.now
    if let seenAt = context.prospect.segmentsSeenAt, now - seenAt < Self.earlierMemory { return nil }
    guard let name = try await control.missingSegment(of: context.campaign) else {
      context.prospect.segmentsSeenAt = now
      return nil
    }
    let reason = "audience: the segment \(Excerpt.quoted(name)), which it names, does not exist"
    pauseCampaign(
      context.campaign.id, round: context.round,
      "\(reason) any more: import it and resume the campaign, or cancel the campaign")
    return reason
  }

  /// That a campaign has not ended which a campaign's audience refers to; `nil` when all have. Where one is gone nobody knows
  /// any more whom the campaign goes to: it is paused.
  private func unfinishedEarlier(of context: CampaignContext) async throws -> String? {
    guard !context.campaign.earlier.isEmpty else { return nil }
    let now = EventLoop.now
    if let endedAt = context.prospect.earlierEndedAt, now - endedAt < Self.earlierMemory { return nil }
    do {
      if let id = try await control.unfinishedEarlier(of: context.campaign) {
        return "audience: campaign \(id), which it refers to, has not ended"
      }
      context.prospect.earlierEndedAt = now
      return nil
    } catch let error as StoreError where error.code == .invalid {
      pauseCampaign(
        context.campaign.id, round: context.round, "\(error.message): cancel it, and submit it with another audience")
      return "audience: \(error.message)"
    }
  }
}
