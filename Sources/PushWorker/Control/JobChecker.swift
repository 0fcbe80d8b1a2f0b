import Dispatch
import Synchronization

/// Runs checks of jobs one after the other on a thread of its own, each with a time limit. Whoever sends pushes never waits
/// for a check.
///
/// Swift can't stop code from outside. A check that exceeds the limit goes on alone, and the next check gets another thread.
final class JobChecker: Sendable {
  /// A check took longer than the limit.
  struct TooExpensive: Error {
    let limit: Duration
  }

  /// The worker stops, and waits for no check.
  struct Stopped: Error {}

  private struct State {
    var queue: DispatchQueue
    /// Checks for which nobody waits any more, and that still run.
    var abandoned = 0
    var isStopped = false
    /// Ends the wait for the present check with ``Stopped``.
    var interrupt: (@Sendable () -> Void)?
  }

  /// Checks that may go on alone at a time: each keeps a core busy. Further checks wait until one of them ends.
  private static let mostAbandoned = 2

  private let label: String
  private let limit: Duration
  private let state: Mutex<State>

  init(label: String, limit: Duration) {
    self.label = label
    self.limit = limit
    state = Mutex(State(queue: DispatchQueue(label: label)))
  }

  /// Ends the wait for the present check. No other is begun.
  func stop() {
    let interrupt = state.withLock { state in
      state.isStopped = true
      return state.interrupt
    }
    interrupt?()
  }

  /// Runs a check. The time that it waits for its turn does not count. One caller at a time.
  ///
  /// - Throws: ``TooExpensive``, ``Stopped``, or what the check throws.
  func run<Answer: Sendable>(_ check: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    let queue = state.withLock(\.queue)
    defer { state.withLock { $0.interrupt = nil } }
    return try await withCheckedThrowingContinuation { continuation in
      let waiting = Waiting(continuation)
      let isStopped = state.withLock { state in
        state.interrupt = { [self] in
          guard let continuation = waiting.take() else { return }
          abandon(queue)
          continuation.resume(throwing: Stopped())
        }
        return state.isStopped
      }
      guard !isStopped else { return waiting.take()?.resume(throwing: Stopped()) ?? () }
      queue.async {
        let alarm = DispatchWorkItem { [self] in
          guard let continuation = waiting.take() else { return }
          abandon(queue)
          continuation.resume(throwing: TooExpensive(limit: limit))
        }
        let (seconds, attoseconds) = self.limit.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: alarm)
        let result = Result { try check() }
        alarm.cancel()
        if let continuation = waiting.take() {
          continuation.resume(with: result)
        } else {
          self.state.withLock { $0.abandoned -= 1 }
        }
      }
    }
  }

  private func abandon(_ queue: DispatchQueue) {
    state.withLock {
      $0.abandoned += 1
      guard $0.queue === queue, $0.abandoned <= Self.mostAbandoned else { return }
      $0.queue = DispatchQueue(label: label)
    }
  }

  /// The caller of a check, who is answered once: by the check or by the alarm.
  private final class Waiting<Answer: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Answer, any Error>?>

    init(_ continuation: CheckedContinuation<Answer, any Error>) { self.continuation = Mutex(continuation) }

    func take() -> CheckedContinuation<Answer, any Error>? {
      continuation.withLock { continuation in
        defer { continuation = nil }
        return continuation
      }
    }
  }
}
