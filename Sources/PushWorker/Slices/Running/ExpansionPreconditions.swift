import CampaignStore
import EventLoop
import PushCore

/// Checks the preconditions for the expansion of a campaign's slices:
/// - The earlier campaigns in the audience have ended.
/// - All segments that the campaign names exist.
/// - The campaign is approved, if the number of its pushes requires approval.
/// - Redis has enough memory for the rest of the campaign.
///
/// The preconditions do not apply to slices whose targets are sealed. The worker publishes the reason why a campaign is
/// blocked.
final class ExpansionPreconditions: WorkerPart {
  let environment: WorkerEnvironment
  private let campaigns: CampaignTable
  private let pauses: CampaignPauses
  private var memory = MemoryMonitor()
  /// The campaigns whose targets this worker counts now.
  private var counted: Set<String> = []

  init(_ environment: WorkerEnvironment, campaigns: CampaignTable, pauses: CampaignPauses) {
    self.environment = environment
    self.campaigns = campaigns
    self.pauses = pauses
  }

  /// Time in ns during which the worker takes no further slice of a blocked campaign.
  private static let blockedPause: UInt64 = 1_000_000_000
  /// Time in ns for which three positive results stay valid: all earlier campaigns have ended and still exist; all
  /// named segments exist; the campaign needs no approval.
  private static let resultMemory: UInt64 = 10_000_000_000

  /// Returns whether slices of a campaign can be expanded now. If not, records the reason, which the worker publishes.
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

  /// Stores the partitions in which a campaign has slices, when its expansion begins. Stores nothing if a precondition
  /// fails.
  ///
  /// - Returns: Whether slices of the campaign can be taken now.
  func begin(_ context: CampaignContext) async throws -> Bool {
    guard try await canExpand(context), isApproved(context) else { return false }
    do {
      guard let definitions = try await sharedStore.audiences.fixPartitions(of: context.campaign) else { return false }
      context.fixPartitions(definitions)
      return true
    } catch let error as StoreError where error.code == .invalid {
      pauses.pause(
        context.campaign.id, everyLeg: true, round: context.facts.round, "audience: \(error.message): \(error.hint)")
      return false
    }
  }

  /// Returns whether a campaign needs no approval before it is expanded.
  ///
  /// A count of the audience may take seconds. It runs outside the worker's loop, and the worker passes the campaign
  /// over in the meantime.
  private func isApproved(_ context: CampaignContext) -> Bool {
    let (id, now) = (context.campaign.id, EventLoop.now)
    guard environment.configuration.apps[context.campaign.app]?.approvalAbove != nil,
      ApprovalCheck.mayHaveGrown(context.campaign, createdAt: context.facts.createdAt, now: Int(self.now))
    else { return true }
    if let approvedAt = context.progress.expansion.approvedAt, now - approvedAt < Self.resultMemory { return true }
    context.progress.expansion.obstacle = .init(
      reason: "approval: a worker counts its targets", since: context.progress.expansion.obstacle?.since ?? now,
      seenAt: now)
    guard counted.insert(id).inserted else { return false }
    loop.start { await self.count(id, context) }
    return false
  }

  private func count(_ id: String, _ context: CampaignContext) async {
    let check = ApprovalCheck(
      store: sharedStore, apps: environment.configuration.jobApps, channels: environment.configuration.apps,
      largeAudience: environment.configuration.largeAudience)
    do {
      if let need = try await check.reasonBeforeExpansion(of: id) {
        try await sharedStore.campaigns.record(need.reached, of: id)
        pauses.pause(id, everyLeg: true, needsApproval: true, round: context.facts.round, need.reason)
      } else {
        context.progress.expansion.approvedAt = EventLoop.now
        context.progress.expansion.obstacle = nil
      }
    } catch {
      // The worker counts again when it next tries to expand the campaign. If the worker is stopping, the stop has
      // interrupted the count, so the error is not logged.
      if !life.isStopping { log.report("could not count the targets of campaign \(id)", error) }
    }
    counted.remove(id)
    wakeClaims()
  }

  /// Returns whether the quota of each slice is known: the maximum number of users that the slice may select. Only a
  /// campaign with a limit has quotas. Workers first count the users of all its slices. Until then, no slice of the
  /// campaign is expanded.
  func knowsQuotas(of session: SliceSession) async throws -> Bool {
    let context = session.context
    guard context.campaign.recipients.limit != nil, context.progress.expansion.quotas == nil else { return true }
    context.progress.expansion.quotas = try await session.expanding.expansion.quotas(
      for: session.slice, of: context.campaign, filter: context.facts.expansion.filter)
    return context.progress.expansion.quotas != nil
  }

  /// Returns the campaigns of which the worker takes no slice now, because a precondition failed within the last
  /// second.
  func obstructedCampaigns(_ now: UInt64) -> [String] {
    let obstructed = campaigns.contexts.values.filter {
      $0.progress.expansion.obstacle.map { now - $0.seenAt < Self.blockedPause } ?? false
    }
    return obstructed.map(\.campaign.id)
  }

  /// Checks the preconditions of blocked campaigns again.
  func checkObstacles() async throws {
    for context in campaigns.contexts.values where context.progress.expansion.obstacle != nil {
      if try await canExpand(context) { wakeClaims() }
    }
  }

  /// Returns the reason why Redis has no room for the rest of a campaign; `nil` if it has room.
  private func shortage(for context: CampaignContext) async throws -> String? {
    if memory.isDue(EventLoop.now) { memory.record(try await sharedStore.limits.memory(), at: EventLoop.now) }
    guard let use = memory.use, use.room != nil else { return nil }
    let slices = max(1, context.progress.expansion.unfinished)
    if context.progress.expansion.targetsPerSlice == nil, context.progress.expansion.estimatedTargetsPerSlice == nil {
      context.progress.expansion.estimatedTargetsPerSlice =
        try await sharedStore.limits.estimate(of: context.campaign).targets / slices
    }
    let targets = context.progress.expansion.targetsPerSlice ?? context.progress.expansion.estimatedTargetsPerSlice ?? 0
    let bytes = CampaignSize.bytes(slices: slices, targetsPerSlice: targets, of: context.campaign)
    return use.shortage(of: "the rest of the campaign", taking: bytes)
  }

  /// Returns the reason if a campaign names or excludes a segment that does not exist; `nil` if all segments exist. If
  /// a segment is missing, also pauses the campaign, because a missing segment under `exclude` would exclude no user.
  private func missingSegment(of context: CampaignContext) async throws -> String? {
    let now = EventLoop.now
    if let seenAt = context.progress.expansion.segmentsSeenAt, now - seenAt < Self.resultMemory { return nil }
    guard let name = try await sharedStore.audiences.missingSegment(of: context.campaign) else {
      context.progress.expansion.segmentsSeenAt = now
      return nil
    }
    let reason = "audience: its segment \(Excerpt.quoted(name)) does not exist"
    pauses.pause(
      context.campaign.id, everyLeg: true, round: context.facts.round,
      "\(reason) any more: import it and resume the campaign, or cancel the campaign")
    return reason
  }

  /// Returns the reason if the audience refers to an earlier campaign that has not ended; `nil` if there is none. If an
  /// earlier campaign no longer exists, the audience can't be determined, so the worker pauses the campaign of this
  /// audience.
  private func unfinishedEarlier(of context: CampaignContext) async throws -> String? {
    guard !context.campaign.earlier.isEmpty else { return nil }
    let now = EventLoop.now
    if let endedAt = context.progress.expansion.earlierEndedAt, now - endedAt < Self.resultMemory { return nil }
    do {
      if let id = try await sharedStore.audiences.unfinishedEarlier(of: context.campaign) {
        return "audience: campaign \(id), which it refers to, has not ended"
      }
      context.refer(to: try await sharedStore.audiences.withEarlierParts(context.campaign))
      context.progress.expansion.earlierEndedAt = now
      return nil
    } catch let error as StoreError where error.code == .invalid {
      pauses.pause(
        context.campaign.id, everyLeg: true, round: context.facts.round,
        "\(error.message): cancel it, and submit it with another audience")
      return "audience: \(error.message)"
    }
  }
}
