import CampaignStore
import EventLoop

/// Takes slices that dead workers abandoned, even if this worker holds enough slices.
final class AbandonedSlices: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let selection: SliceSelection
  private var left = AbandonedSliceList()

  init(_ environment: WorkerEnvironment, slices: SliceTable, selection: SliceSelection) {
    self.environment = environment
    self.slices = slices
    self.selection = selection
  }

  /// Whether no abandoned slice can be taken.
  var isEmpty: Bool { left.isEmpty(EventLoop.now) }

  /// Records an abandoned slice.
  func add(_ slice: SliceReference) { left.add(slice, at: EventLoop.now) }

  /// Removes slices from the list of abandoned slices that this worker has taken.
  func removeTaken(_ taken: [SliceReference]) { left.removeTaken(taken) }

  /// Takes one slice that a dead worker abandoned.
  ///
  /// - Parameter refused: Campaigns of which the worker takes no slice.
  func take(_ entries: [Scheduler.Entry], excluding refused: Set<String>) async throws -> [SliceReference] {
    guard !life.isStopping, selection.mayPrepare(entries, beginning: slices.beginning) else { return [] }
    let sought = left.next(EventLoop.now) { id in
      // If the pool can't send, or a rate limits the targets to hold, another slice does not help.
      refused.contains(id)
        || entries.contains { $0.campaign == id && ($0.condition.isStuck || $0.targets.enough != nil) }
    }
    guard !sought.isEmpty else { return [] }
    let found = try await sharedStore.slices.dequeueFirst(of: sought, worker: name)
    left.recordSearch(sought, found: found)
    // Slices of another campaign may be left.
    if found == nil { wakeClaims() }
    return found.map { [$0] } ?? []
  }
}
