internal import CLinux
import Dispatch
import Glibc
import Synchronization

/// A serial queue for computations that take long. It has a thread of its own, so that Dispatch's pool keeps its threads.
///
/// The thread starts with the first computation and ends after ``idleTime`` without one.
public final class ComputeThread: Sendable {
  /// The share of a busy processor that the thread gets.
  public enum Priority: Sendable {
    /// As much as every other thread.
    case normal
    /// A tenth of what a thread of normal priority gets. On an idle processor this changes nothing.
    case low
  }

  private struct State {
    var bodies: [@Sendable () -> Void] = []
    var hasThread = false
  }

  /// Seconds without a computation after which the thread ends. Jobs that come one after the other find it running.
  private static let idleTime = 10.0

  private let priority: Priority
  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  public init(priority: Priority = .normal) {
    self.priority = priority
  }

  /// Runs a computation after those that were given earlier. Returns at once.
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
    // The thread owns the reference and gives it up when it ends: pthread_create(3) hands on the pointer as it is.
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

/// The processor time of a thread: what it has computed, without the time in which it waited or other threads ran.
public struct ThreadTime: Sendable {
  private let clock: clockid_t
  private let start: UInt64

  /// Starts with the present thread, at zero.
  ///
  /// - Returns: `nil` where the system has no such clock (pthread_getcpuclockid(3)).
  public static func ofPresentThread() -> ThreadTime? {
    var clock = clockid_t()
    guard pthread_getcpuclockid(pthread_self(), &clock) == 0, let start = read(clock) else { return nil }
    return ThreadTime(clock: clock, start: start)
  }

  /// Nanoseconds since the start, or `nil` once the thread has ended. May be read from every thread.
  public var nanoseconds: UInt64? { Self.read(clock).map { $0 - start } }

  private static func read(_ clock: clockid_t) -> UInt64? {
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
