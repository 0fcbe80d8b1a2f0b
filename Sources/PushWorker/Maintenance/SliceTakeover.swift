import CampaignStore

/// Gives back the slices of a dead worker, or of an earlier process with this worker's name.
struct SliceTakeover: WorkerPart {
  let environment: WorkerEnvironment

  /// Gives back the slices that a worker holds.
  ///
  /// - Parameters:
  ///   - leftovers: the references to give back; `nil` for all.
  ///   - isGone: whether the worker's process has ended, so that its leases end too.
  func takeOver(from worker: String, only leftovers: Set<SliceReference>? = nil, isGone: Bool = false) async throws {
    let requeued = try await sharedStore.slices.takeOver(from: worker, only: leftovers, isGone: isGone)
    guard !requeued.isEmpty else { return }
    log.write(.requeued(from: worker, slices: requeued.count))
    wakeClaims()
    // The waiting reasons that the dead worker published are no longer valid.
    for id in Set(requeued.map(\.campaign)) where worker != name {
      try await sharedStore.campaigns.clearWaiting(id, worker: worker)
    }
  }
}
