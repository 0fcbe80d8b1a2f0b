import CampaignStore
import EventLoop
import PushCore

/// Slices are expanded only where Redis has room for what is left of their campaign: memory must not run out in the middle
/// of it. What is sealed goes on, however full Redis is.
extension PushWorker {
  /// ms for which a slice is set aside for which there is no room.
  private static let roomPause = 5000
  /// ns for which no slice of such a campaign is taken.
  private static let roomPatience: UInt64 = 1_000_000_000

  /// Whether Redis has room for what is left of a campaign. Where it has not, the campaign waits and says so.
  func hasRoom(for context: CampaignContext) async throws -> Bool {
    if memory.isDue(EventLoop.now) { memory.note(try await control.memory(), at: EventLoop.now) }
    guard let use = memory.use, use.room != nil else {
      context.shortage = nil
      return true
    }
    let slices = max(1, context.unfinished)
    if context.targetsPerSlice == nil, context.estimatedTargetsPerSlice == nil {
      context.estimatedTargetsPerSlice = try await control.estimate(of: context.campaign).targets / slices
    }
    let targets = context.targetsPerSlice ?? context.estimatedTargetsPerSlice ?? 0
    let bytes = CampaignSize.bytes(slices: slices, targetsPerSlice: targets, results: context.campaign.results)
    let reason = use.shortage(of: "what is left of the campaign", taking: bytes)
    let now = EventLoop.now
    context.shortage = reason.map { .init(reason: $0, since: context.shortage?.since ?? now, seenAt: now) }
    return reason == nil
  }

  /// Gives a slice back for which there is no room.
  func waitForRoom(_ session: SliceSession) async throws {
    try await session.ledger.unclaim()
    if try await control.park(session.slice, for: Self.roomPause, worker: configuration.name) {
      log.tell(.parked(slice: session.slice, milliseconds: Self.roomPause))
    } else {
      try await requeue(session)
    }
  }

  /// Campaigns of which nothing is taken just now, as there is no room for them.
  func campaignsWithoutRoom(_ now: UInt64) -> [String] {
    campaigns.contexts.values.filter { $0.shortage.map { now - $0.seenAt < Self.roomPatience } ?? false }
      .map(\.campaign.id)
  }

  /// Looks whether there is room again for campaigns that wait for it.
  func lookForRoom() async throws {
    for context in campaigns.contexts.values where context.shortage != nil {
      if try await hasRoom(for: context) { wakeClaims() }
    }
  }
}
