/// The signals that end the waits of a worker's loops, and the closures with which a part notifies parts that are
/// created after it. Confined to the worker's loop.
final class WorkerSignals {
  let intake = LoopSignal(isLatched: true)
  let largeJobs = LoopSignal(isLatched: true)
  let claims = LoopSignal(isLatched: true)
  let heartbeat = LoopSignal(isLatched: true)
  let follower = LoopSignal(isLatched: true)
  let maintenance = LoopSignal(isLatched: true)
  /// Called when credit, a rate or a guard may let slices continue.
  var onCredit: (_ takingMore: Bool) -> Void = { _ in }
  /// Called when a worker that drains has nothing left to do.
  var onCompletion: () -> Void = {}
  /// Called when the task that runs the worker is cancelled.
  var onCancellation: () -> Void = {}

  /// Wakes the loops that run while a worker stops, so that they end.
  func wakeAtEnd() {
    for signal in [heartbeat, follower, maintenance] { signal.wake() }
  }
}
