internal import CLinux
import Dispatch
import Glibc
import Synchronization

/// Serial queue for long computations. It has its own thread, so that a computation does not occupy a thread of
/// Dispatch's pool.
///
/// The thread starts with the first computation and ends after ``idleTime`` without one.
public final class ComputeThread: Sendable {
  /// Priority of the thread on a busy processor.
  public enum Priority: Sendable {
    /// The same share as every other thread.
    case normal
    /// A tenth of the share of a thread with normal priority. The priority has no effect on an idle processor.
    case low
  }

  private struct State {
    var bodies: [@Sendable () -> Void] = []
    var hasThread = false
  }

  /// Seconds without a computation after which the thread ends. A computation that arrives earlier uses the running
  /// thread.
  private static let idleTime = 10.0

  private let priority: Priority
  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  public init(priority: Priority = .normal) {
    self.priority = priority
  }

  /// Adds a computation, which runs after all earlier ones. Returns immediately.
  public func async(_ body: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.bodies.append(body)
      defer { state.hasThread = true }
      return !state.hasThread
    }
    arrivals.signal()
    if needsThread { startThread() }
  }

  private func startThread() {
    var thread = pthread_t()
    // The thread owns the reference and releases it when it ends; pthread_create(3) passes the pointer unchanged.
    let owned = Unmanaged.passRetained(self).toOpaque()
    let status = pthread_create(
      &thread, nil,
      { owned in
        if let owned { Unmanaged<ComputeThread>.fromOpaque(owned).takeRetainedValue().run() }
        return nil
      }, owned)
    precondition(status == 0, "pthread_create: \(String(cString: strerror(status)))")
    pthread_detach(thread)
  }

  private func run() {
    if priority == .low { carillon_lower_priority() }
    while true {
      let isIdle = arrivals.wait(timeout: .now() + Self.idleTime) == .timedOut
      let body = state.withLock { state -> (@Sendable () -> Void)? in
        if state.bodies.isEmpty {
          state.hasThread = !isIdle
          return nil
        }
        return state.bodies.removeFirst()
      }
      if let body {
        body()
      } else if isIdle {
        return
      }
    }
  }
}

/// Processor time of a thread: the time of its computations, without the time in which it waited or other threads ran.
public struct ThreadTime: Sendable {
  private let clock: clockid_t
  private let start: UInt64

  /// Starts the measurement of the present thread at zero.
  ///
  /// - Returns: `nil` if the system does not have such a clock (pthread_getcpuclockid(3)).
  public static func ofPresentThread() -> ThreadTime? {
    var clock = clockid_t()
    guard pthread_getcpuclockid(pthread_self(), &clock) == 0, let start = read(clock) else { return nil }
    return ThreadTime(clock: clock, start: start)
  }

  /// Nanoseconds since the start; `nil` after the thread has ended. May be read from any thread.
  public var nanoseconds: UInt64? { Self.read(clock).map { $0 - start } }

  private static func read(_ clock: clockid_t) -> UInt64? {
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
