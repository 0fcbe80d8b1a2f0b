import CampaignStore
import PushCore

/// Gives slices back that this worker does not go on with.
struct SliceReturn: WorkerPart {
  let environment: WorkerEnvironment
  /// ms for which a reference is postponed while Redis has yet to be told what it forgot of the slice.
  private static let replayPause = 200

  /// Gives a slice back to all workers. Its claim has ended.
  func requeue(_ session: SliceSession) async throws {
    let lane = Lane.allCases[session.context.facts.account.lane]
    try await sharedStore.slices.requeue(session.slice, lane: lane, worker: name)
    log.tell(.gaveBack(slice: session.slice))
  }

  /// Ends the claim of a slice and parks it for a while, or gives it back where that is not possible.
  func park(_ session: SliceSession, for milliseconds: Int) async throws {
    try await session.ledger.unclaim()
    if try await !park(session.slice, for: milliseconds) { try await requeue(session) }
  }

  /// Parks a slice that nobody has claimed.
  ///
  /// - Returns: false where that is not possible.
  func park(_ slice: SliceReference, for milliseconds: Int) async throws -> Bool {
    guard try await sharedStore.slices.park(slice, for: milliseconds, worker: name) else { return false }
    log.tell(.parked(slice: slice, milliseconds: milliseconds))
    return true
  }

  /// Postpones a reference to a slice that another worker has claimed.
  func postpone(_ slice: SliceReference, for milliseconds: Int? = nil) async throws {
    try await sharedStore.slices.postpone(slice, for: milliseconds ?? environment.configuration.lease, worker: name)
  }

  /// Postpones a reference until Redis knows again what this worker knows of the slice.
  func postponeUntilReplayed(_ slice: SliceReference) async throws {
    try await postpone(slice, for: Self.replayPause)
  }
}
