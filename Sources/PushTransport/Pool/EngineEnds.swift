internal import Dispatch
internal import Synchronization

/// Waits for engines to end, and no longer than it is allowed to.
final class EngineEnds: Sendable {
  private struct State {
    var missing: Int
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?

    /// Whoever waits, once there is nothing left to wait for.
    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      guard isOver || missing == 0 else { return nil }
      defer { waiter = nil }
      return waiter
    }
  }

  private let state: Mutex<State>

  /// - Parameter count: engines that are to end.
  init(count: Int) { state = Mutex(State(missing: count)) }

  /// One of them has ended.
  func note() {
    let waiter = state.withLock { state in
      state.missing -= 1
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Returns when all have ended, or after `limit` nanoseconds. To be called once.
  ///
  /// - Returns: how many have not ended.
  func wait(atMost limit: UInt64) async -> Int {
    // Not on a loop of ours: any of them may be the one that hangs.
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
