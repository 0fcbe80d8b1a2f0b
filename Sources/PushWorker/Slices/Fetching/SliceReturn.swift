import CampaignStore
import PushCore

/// Gives back slices when this worker ends its work on them. A slice goes back to all workers immediately, or is
/// *parked*: available again after a time.
struct SliceReturn: WorkerPart {
  let environment: WorkerEnvironment
  /// Time in ms after which a reference is available again if its slice waits for a replay.
  private static let replayPause = 200

  /// Gives a slice back to all workers. The caller has already released the claim.
  func requeue(_ session: SliceSession) async throws {
    let lane = Lane.allCases[session.context.facts.account.lane]
    try await sharedStore.slices.requeue(session.slice, lane: lane, worker: name)
    log.write(.released(slice: session.slice))
  }

  /// Releases the claim of a slice and parks the slice for a while. Gives the slice back if it can't be parked.
  func park(_ session: SliceSession, for milliseconds: Int) async throws {
    try await session.ledger.unclaim()
    if try await !park(session.slice, for: milliseconds) { try await requeue(session) }
  }

  /// Parks a slice that this worker could not seal, for ``sealedPause``. The expansion of another leg may have sealed
  /// the slice, so that it can be sent now. Does nothing for a campaign with one leg, because in this case another
  /// worker has the slice.
  func parkSealed(_ session: SliceSession) async throws {
    guard !session.context.facts.expansion.parts.isEmpty else { return }
    try await park(session, for: Self.sealedPause)
  }

  /// Time in ms for which the worker parks a slice that it could not seal.
  private static let sealedPause = 1

  /// Parks a slice without a claim.
  ///
  /// - Returns: `false` if the slice can't be parked.
  func park(_ slice: SliceReference, for milliseconds: Int) async throws -> Bool {
    guard try await sharedStore.slices.park(slice, for: milliseconds, worker: name) else { return false }
    log.write(.parked(slice: slice, milliseconds: milliseconds))
    return true
  }

  /// Makes a reference available again later, because another worker has claimed its slice.
  func postpone(_ slice: SliceReference, for milliseconds: Int? = nil) async throws {
    try await sharedStore.slices.postpone(slice, for: milliseconds ?? environment.configuration.lease, worker: name)
  }

  /// Makes a reference available again later, because this worker must first replay the slice to Redis.
  func postponeUntilReplayed(_ slice: SliceReference) async throws {
    try await postpone(slice, for: Self.replayPause)
  }
}
