import Dispatch
import EventLoop
import Synchronization

/// Runs checks of jobs one after the other on a separate thread, each with a limit on its processor time. Pushes never
/// wait for a check.
///
/// Swift can't stop running code from outside. A check that exceeds the limit therefore continues on its thread, and
/// the next check gets a new thread. Only the end of the process ends an endless check, so the process reports when
/// there are too many (``OverdueChecks``).
///
/// The limit counts processor time, not elapsed time, because a busy machine delays checks of any job.
final class JobChecker: Sendable {
  /// The error of a check that took longer than the limit.
  struct TooExpensive: Error {
    let limit: Duration
  }

  /// The error of a check that the stopping worker does not wait for.
  struct Stopped: Error {}

  private struct State {
    var thread: ComputeThread
    var isStopped = false
    /// Ends the wait for the present check with ``Stopped``.
    var interrupt: (@Sendable () -> Void)?
  }

  /// Minimum time in ns between two measurements of a check near its limit.
  private static let shortestWait: UInt64 = 50_000_000

  private let priority: ComputeThread.Priority
  private let limit: Duration
  private let state: Mutex<State>

  /// - Parameter limit: Maximum processor time of one check.
  init(priority: ComputeThread.Priority, limit: Duration) {
    self.priority = priority
    self.limit = limit
    state = Mutex(State(thread: ComputeThread(priority: priority)))
  }

  /// Ends the wait for the present check. No further check begins.
  func stop() {
    let interrupt = state.withLock { state in
      state.isStopped = true
      return state.interrupt
    }
    interrupt?()
  }

  /// Throws ``Stopped`` if the checker is stopped.
  func checkStopped() throws(Stopped) {
    if state.withLock(\.isStopped) { throw Stopped() }
  }

  /// Runs a check. The time before the check starts does not count. Only one caller at a time may call this function.
  ///
  /// - Throws: ``TooExpensive``, ``Stopped``, or the error of the check.
  func run<Answer: Sendable>(_ check: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    let thread = state.withLock(\.thread)
    defer { state.withLock { $0.interrupt = nil } }
    return try await withCheckedThrowingContinuation { continuation in
      let waiting = Waiting(continuation)
      let isStopped = state.withLock { state in
        state.interrupt = { [self] in
          guard let continuation = waiting.take() else { return }
          abandon(thread)
          continuation.resume(throwing: Stopped())
        }
        return state.isStopped
      }
      guard !isStopped else { return waiting.take()?.resume(throwing: Stopped()) ?? () }
      thread.async {
        self.watch(waiting, on: thread, ThreadTime.ofPresentThread())
        let result = Result { try check() }
        if let continuation = waiting.take() {
          continuation.resume(with: result)
        } else {
          OverdueChecks.remove()
        }
      }
    }
  }

  /// Ends the wait with ``TooExpensive`` when the thread has used more processor time than the limit.
  private func watch<Answer: Sendable>(
    _ waiting: Waiting<Answer>, on thread: ComputeThread, _ time: ThreadTime?, used: UInt64 = 0
  ) {
    let wait = max(Self.shortestWait, limitNanoseconds - min(used, limitNanoseconds))
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(wait))) { [self] in
      guard waiting.isWaiting else { return }
      let used = time?.nanoseconds ?? limitNanoseconds
      guard used >= limitNanoseconds else { return watch(waiting, on: thread, time, used: used) }
      guard let continuation = waiting.take() else { return }
      abandon(thread)
      continuation.resume(throwing: TooExpensive(limit: limit))
    }
  }

  private var limitNanoseconds: UInt64 {
    let (seconds, attoseconds) = limit.components
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }

  private func abandon(_ thread: ComputeThread) {
    OverdueChecks.add()
    state.withLock {
      guard $0.thread === thread else { return }
      $0.thread = ComputeThread(priority: priority)
    }
  }

  /// A caller that waits for a check. The caller continues exactly one time: when the check ends, when it exceeds the
  /// limit, or when the worker stops.
  private final class Waiting<Answer: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Answer, any Error>?>

    init(_ continuation: CheckedContinuation<Answer, any Error>) { self.continuation = Mutex(continuation) }

    var isWaiting: Bool { continuation.withLock { $0 != nil } }

    func take() -> CheckedContinuation<Answer, any Error>? {
      continuation.withLock { continuation in
        defer { continuation = nil }
        return continuation
      }
    }
  }
}
