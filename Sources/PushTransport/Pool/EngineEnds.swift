internal import Dispatch
internal import Synchronization

/// Lets one task wait until all engines of a pool have ended, with a time limit.
final class EngineEnds: Sendable {
  private struct State {
    var missing: Int
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?

    /// Returns the waiting task if all engines have ended, or the time is over.
    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      guard isOver || missing == 0 else { return nil }
      defer { waiter = nil }
      return waiter
    }
  }

  private let state: Mutex<State>

  /// - Parameter count: number of engines that must end.
  init(count: Int) { state = Mutex(State(missing: count)) }

  /// Records that an engine has ended.
  func recordEnd() {
    let waiter = state.withLock { state in
      state.missing -= 1
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Waits until all engines have ended, or for `limit` nanoseconds. Must be called once.
  ///
  /// - Returns: the number of engines that have not ended.
  func wait(atMost limit: UInt64) async -> Int {
    // The timer does not run on one of Carillon's event loops, because any of them may hang.
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { [self] in end() }
    timer.schedule(deadline: .now() + .nanoseconds(Int(clamping: limit)))
    timer.resume()
    defer { timer.cancel() }
    await withCheckedContinuation { continuation in
      let waiter = state.withLock { state in
        state.waiter = continuation
        return state.takeWaiter()
      }
      waiter?.resume()
    }
    return state.withLock { $0.missing }
  }

  private func end() {
    let waiter = state.withLock { state in
      state.isOver = true
      return state.takeWaiter()
    }
    waiter?.resume()
  }
}
