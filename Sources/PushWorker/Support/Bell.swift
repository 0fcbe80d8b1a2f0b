import EventLoop

/// What the task of one slice, or of a bunch of them, waits for. Confined to the worker's loop.
///
/// A ring while nobody waits is forgotten: who is about to wait has looked whether there is anything to do, without
/// suspending in between.
final class Bell {
  private var waiter: CheckedContinuation<Void, Never>?

  /// Suspends until ``ring()``.
  func wait(isolation: isolated (any Actor)? = #isolation) async {
    await withCheckedContinuation { waiter = $0 }
  }

  func ring() {
    guard let waiter else { return }
    self.waiter = nil
    EventLoop.resuming { waiter.resume() }
  }
}
