import Dispatch
import EventLoop

/// A signal for one waiting task. Confined to the worker's loop.
///
/// A latched signal stores a notification that arrives while no task waits; the next wait then ends immediately. A
/// signal that is not latched drops such a notification. The task that waits for such a signal must check for work
/// directly before the wait, without a suspension in between.
final class LoopSignal {
  private let isLatched: Bool
  private var waiter: CheckedContinuation<Void, Never>?
  private var isPending = false
  /// Ends a wait with a time limit. Created with the first such wait.
  private var timer: LoopTimer?

  init(isLatched: Bool = false) {
    self.isLatched = isLatched
  }

  /// Clears a stored notification. The caller is about to do the work that the notification requests.
  func reset() { isPending = false }

  /// Suspends until ``wake()``.
  func wait() async {
    guard !takePending() else { return }
    await withCheckedContinuation { waiter = $0 }
    isPending = false
  }

  /// Suspends for at most a number of milliseconds, or until ``wake()``. The timer has no strong reference to the
  /// signal.
  func wait(milliseconds: Int, on loop: WorkerLoop) async {
    guard !takePending() else { return }
    let timer = timer ?? loop.timer { [weak self] in self?.wake() }
    self.timer = timer
    timer.schedule(after: .milliseconds(milliseconds))
    await withCheckedContinuation { waiter = $0 }
    timer.disarm()
    isPending = false
  }

  /// Ends the wait of the waiting task.
  func wake() {
    guard let waiter else {
      isPending = isLatched
      return
    }
    self.waiter = nil
    EventLoop.resuming { waiter.resume() }
  }

  private func takePending() -> Bool {
    defer { isPending = false }
    return isPending
  }
}
