import Synchronization

@testable import FCM

/// Clocks and timers that a test moves.
final class ManualClock: Sendable {
  private struct State {
    /// Time of the timers, in ms.
    var now = 1_000_000
    /// UNIX seconds at the start.
    var wall: Int64 = 1_800_000_000
    var timers: [(at: Int, body: @Sendable () -> Void)] = []
    var scheduled = 0
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  /// UNIX seconds.
  var wall: Int64 { state.withLock { $0.wall + Int64($0.now - 1_000_000) / 1000 } }

  /// Time in ms until the last timer.
  var untilLastTimer: Int { state.withLock { ($0.timers.last?.at ?? $0.now) - $0.now } }

  var clock: AccessTokenClock {
    AccessTokenClock(
      now: { self.state.withLock { $0.now } }, wall: { self.wall },
      schedule: { milliseconds, body in
        let waiting = self.state.withLock { state in
          state.timers.append((state.now + milliseconds, body))
          state.scheduled += 1
          let scheduled = state.scheduled
          let ready = state.waiting.filter { $0.count <= scheduled }
          state.waiting.removeAll { $0.count <= scheduled }
          return ready
        }
        for waiter in waiting { waiter.continuation.resume() }
      })
  }

  /// Waits until this number of timers was scheduled since the start.
  func timers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.scheduled >= count { return true }
        state.waiting.append((count, continuation))
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  /// Moves the clock by a number of milliseconds, and calls the timers that are due.
  func advance(_ milliseconds: Int) {
    let due = state.withLock { state in
      state.now += milliseconds
      let now = state.now
      let due = state.timers.filter { $0.at <= now }
      state.timers.removeAll { $0.at <= now }
      return due
    }
    for timer in due { timer.body() }
  }
}
