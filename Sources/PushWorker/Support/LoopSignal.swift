import Dispatch
import EventLoop

/// A signal that one task waits for. Confined to the worker's loop.
///
/// A latched signal remembers a ring while nobody waits, and ends the next wait at once. A signal that is not latched forgets
/// such a ring: its task checks for work before it waits, without a suspension in between.
final class LoopSignal {
  private let isLatched: Bool
  private var waiter: CheckedContinuation<Void, Never>?
  private var isRung = false
  /// Ends a wait with a time limit; made when one begins for the first time.
  private var timer: LoopTimer?

  init(isLatched: Bool = false) {
    self.isLatched = isLatched
  }

  /// Forgets a ring that nobody has waited for. The caller is about to do what the ring asks for.
  func reset() { isRung = false }

  /// Suspends until ``ring()``.
  func wait() async {
    guard !takeRing() else { return }
    await withCheckedContinuation { waiter = $0 }
    isRung = false
  }

  /// Suspends for a number of milliseconds at most, or until ``ring()``. A pending wait does not keep the worker alive.
  func wait(milliseconds: Int, on loop: WorkerLoop) async {
    guard !takeRing() else { return }
    let timer = timer ?? loop.timer { [weak self] in self?.ring() }
    self.timer = timer
    timer.schedule(after: .milliseconds(milliseconds))
    await withCheckedContinuation { waiter = $0 }
    timer.disarm()
    isRung = false
  }

  /// Ends the wait of the task that waits.
  func ring() {
    guard let waiter else {
      isRung = isLatched
      return
    }
    self.waiter = nil
    EventLoop.resuming { waiter.resume() }
  }

  private func takeRing() -> Bool {
    defer { isRung = false }
    return isRung
  }
}
