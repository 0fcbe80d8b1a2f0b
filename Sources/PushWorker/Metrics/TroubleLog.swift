import CampaignStore
import EventLoop

/// What a worker says of itself. Trouble that goes on is told of ever less often. Confined to the worker's loop.
final class TroubleLog {
  private let observer: @Sendable (WorkerEvent) -> Void
  /// When each kind of trouble was last told of.
  private var kinds: [String: LogBackoff] = [:]
  /// How often what was told of, and trouble that was not.
  private(set) var counts = WorkerEventCounts()

  init(_ observer: @escaping @Sendable (WorkerEvent) -> Void) {
    self.observer = observer
  }

  func tell(_ event: WorkerEvent) {
    counts.note(event)
    observer(event)
  }

  /// Tells of a failure that is tried again: many slices fail at once, and for as long as Redis is away.
  ///
  /// - Parameters:
  ///   - kind: failures of a kind are told of ever less often, see ``LogBackoff``.
  ///   - slice: which one failed.
  func report(_ kind: String, of slice: SliceReference? = nil, _ error: any Error) {
    report(kind, of: slice, "\(kind)\(slice.map { " \($0)" } ?? ""): \(error)")
  }

  func report(_ kind: String, of slice: SliceReference? = nil, _ message: String) {
    counts.troubles += 1
    guard let unsaid = kinds[kind, default: LogBackoff()].note(EventLoop.now) else { return }
    observer(.trouble(message + (unsaid > 0 ? " (\(unsaid) more like it unsaid)" : ""), slice: slice))
  }
}
