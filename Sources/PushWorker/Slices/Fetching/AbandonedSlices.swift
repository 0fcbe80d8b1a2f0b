import CampaignStore
import EventLoop

/// Takes up the slices that dead workers have left, though there is enough in hand.
final class AbandonedSlices: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let selection: SliceSelection
  private var left = LeftSlices()

  init(_ environment: WorkerEnvironment, slices: SliceTable, selection: SliceSelection) {
    self.environment = environment
    self.slices = slices
    self.selection = selection
  }

  /// Whether there may be any.
  var isEmpty: Bool { left.isEmpty(EventLoop.now) }

  /// Notes a slice that was left.
  func note(_ slice: SliceReference) { left.note(slice, at: EventLoop.now) }

  /// Notes slices that this worker has taken.
  func noteTaken(_ taken: [SliceReference]) { left.noteTaken(taken) }

  /// Takes a slice that a dead worker left.
  ///
  /// - Parameter refused: campaigns of which nothing is to be taken.
  func take(_ entries: [Scheduler.Entry], excluding refused: Set<String>) async throws -> [SliceReference] {
    guard !life.isStopping, selection.mayPrepare(entries, beginning: slices.beginning) else { return [] }
    let sought = left.next(EventLoop.now) { id in
      // Where the pool can't send, or a rate says what is enough, nobody is helped by it.
      refused.contains(id) || entries.contains { $0.campaign == id && ($0.isStuck || $0.enough != nil) }
    }
    guard !sought.isEmpty else { return [] }
    let found = try await sharedStore.slices.dequeueFirst(of: sought, worker: name)
    left.note(sought, found: found)
    // There may be slices of another campaign.
    if found == nil { wakeClaims() }
    return found.map { [$0] } ?? []
  }
}
