import CampaignStore
import EventLoop

/// Logs the events and errors of a worker. Repeated errors are logged at growing intervals. Confined to the worker's
/// loop.
final class WorkerEventLog {
  private let observer: @Sendable (WorkerEvent) -> Void
  /// For each kind of error, the decision when to log it again.
  private var kinds: [String: LogBackoff] = [:]
  /// Numbers of events and errors, including errors that were not logged.
  private(set) var counts = WorkerEventCounts()

  init(_ observer: @escaping @Sendable (WorkerEvent) -> Void) {
    self.observer = observer
  }

  func write(_ event: WorkerEvent) {
    counts.count(event)
    observer(event)
  }

  /// Logs an error whose operation is retried. While Redis is away, many slices fail at the same time and repeatedly.
  ///
  /// - Parameters:
  ///   - kind: Errors of the same kind are logged at growing intervals, see ``LogBackoff``.
  ///   - slice: The slice that failed.
  func report(_ kind: String, of slice: SliceReference? = nil, _ error: any Error) {
    report(kind, of: slice, "\(kind)\(slice.map { " \($0)" } ?? ""): \(error)")
  }

  func report(_ kind: String, of slice: SliceReference? = nil, _ message: String) {
    counts.retriedErrors += 1
    guard let suppressed = kinds[kind, default: LogBackoff()].count(EventLoop.now) else { return }
    observer(.error(message + (suppressed > 0 ? " (\(suppressed) similar messages suppressed)" : ""), slice: slice))
  }
}
