import CampaignStore
import EventLoop
import PushCore

/// Checks what a campaign needs before its slices are expanded: the campaigns that its audience refers to have ended, the segments
/// that it names exist, and Redis has room for what is left of it, as memory must not run out in the middle. A slice that is sealed
/// goes on, whatever happens. A campaign that waits publishes the reason.
final class ExpansionPreconditions: WorkerPart {
  let environment: WorkerEnvironment
  private let campaigns: CampaignTable
  private let pauses: CampaignPauses
  private var memory = MemoryMonitor()

  init(_ environment: WorkerEnvironment, campaigns: CampaignTable, pauses: CampaignPauses) {
    self.environment = environment
    self.campaigns = campaigns
    self.pauses = pauses
  }

  /// ns for which no slice of such a campaign is taken.
  private static let patience: UInt64 = 1_000_000_000
  /// ns for which it is known of earlier campaigns that they have ended and are still there, and of segments that they exist.
  private static let earlierMemory: UInt64 = 10_000_000_000

  /// Whether slices of a campaign can be expanded now. Where not, the campaign waits and says so.
  func canExpand(_ context: CampaignContext) async throws -> Bool {
    var reason = try await unfinishedEarlier(of: context)
    if reason == nil { reason = try await missingSegment(of: context) }
    if reason == nil { reason = try await shortage(for: context) }
    let now = EventLoop.now
    context.progress.expansion.obstacle = reason.map {
      .init(reason: $0, since: context.progress.expansion.obstacle?.since ?? now, seenAt: now)
    }
    return reason == nil
  }

  /// Fixes the partitions of a campaign that begins to expand, unless something keeps it from being expanded.
  ///
  /// - Returns: whether slices of it can be taken now.
  func begin(_ context: CampaignContext) async throws -> Bool {
    guard try await canExpand(context) else { return false }
    do {
      guard let definitions = try await sharedStore.audiences.narrow(context.campaign) else { return false }
      context.narrow(definitions)
      return true
    } catch let error as StoreError where error.code == .invalid {
      pauses.pause(context.campaign.id, round: context.facts.round, "audience: \(error.message): \(error.hint)")
      return false
    }
  }

  /// Whether it is known how many users a slice takes: of a campaign with a limit its users are counted first, and then
  /// all slices wait until the last has been.
  func knowsQuotas(of session: SliceSession) async throws -> Bool {
    let context = session.context
    guard context.campaign.recipients.limit != nil, context.progress.expansion.quotas == nil else { return true }
    context.progress.expansion.quotas = try await session.expanding.expansion.quotas(
      for: session.slice, of: context.campaign, filter: context.facts.filter)
    return context.progress.expansion.quotas != nil
  }

  /// Campaigns of which nothing is taken just now, as it could not be expanded.
  func obstructedCampaigns(_ now: UInt64) -> [String] {
    campaigns.contexts.values.filter { $0.progress.expansion.obstacle.map { now - $0.seenAt < Self.patience } ?? false }
      .map(
        \.campaign.id)
  }

  /// Looks whether campaigns can go on that could not be expanded.
  func lookAtObstacles() async throws {
    for context in campaigns.contexts.values where context.progress.expansion.obstacle != nil {
      if try await canExpand(context) { wakeClaims() }
    }
  }

  /// Why Redis has no room for what is left of a campaign; `nil` when it has.
  private func shortage(for context: CampaignContext) async throws -> String? {
    if memory.isDue(EventLoop.now) { memory.note(try await sharedStore.limits.memory(), at: EventLoop.now) }
    guard let use = memory.use, use.room != nil else { return nil }
    let slices = max(1, context.progress.expansion.unfinished)
    if context.progress.expansion.targetsPerSlice == nil, context.progress.expansion.estimatedTargetsPerSlice == nil {
      context.progress.expansion.estimatedTargetsPerSlice =
        try await sharedStore.limits.estimate(of: context.campaign).targets / slices
    }
    let targets = context.progress.expansion.targetsPerSlice ?? context.progress.expansion.estimatedTargetsPerSlice ?? 0
    let bytes = CampaignSize.bytes(slices: slices, targetsPerSlice: targets, of: context.campaign)
    return use.shortage(of: "what is left of the campaign", taking: bytes)
  }

  /// Pauses a campaign that names or excludes a segment which does not exist: an exclusion would exclude nobody. `nil` when
  /// all segments exist.
  private func missingSegment(of context: CampaignContext) async throws -> String? {
    let now = EventLoop.now
    if let seenAt = context.progress.expansion.segmentsSeenAt, now - seenAt < Self.earlierMemory { return nil }
    guard let name = try await sharedStore.audiences.missingSegment(of: context.campaign) else {
      context.progress.expansion.segmentsSeenAt = now
      return nil
    }
    let reason = "audience: the segment \(Excerpt.quoted(name)), which it names, does not exist"
    pauses.pause(
      context.campaign.id, round: context.facts.round,
      "\(reason) any more: import it and resume the campaign, or cancel the campaign")
    return reason
  }

  /// That a campaign has not ended which a campaign's audience refers to; `nil` when all have. Where one is gone nobody knows
  /// any more whom the campaign goes to: it is paused.
  private func unfinishedEarlier(of context: CampaignContext) async throws -> String? {
    guard !context.campaign.earlier.isEmpty else { return nil }
    let now = EventLoop.now
    if let endedAt = context.progress.expansion.earlierEndedAt, now - endedAt < Self.earlierMemory { return nil }
    do {
      if let id = try await sharedStore.audiences.unfinishedEarlier(of: context.campaign) {
        return "audience: campaign \(id), which it refers to, has not ended"
      }
      context.refer(to: try await sharedStore.audiences.withEarlierParts(context.campaign))
      context.progress.expansion.earlierEndedAt = now
      return nil
    } catch let error as StoreError where error.code == .invalid {
      pauses.pause(
        context.campaign.id, round: context.facts.round,
        "\(error.message): cancel it, and submit it with another audience")
      return "audience: \(error.message)"
    }
  }
}
