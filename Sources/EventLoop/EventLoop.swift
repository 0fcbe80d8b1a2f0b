import CLinux
public import Dispatch
import Glibc

/// A serial Dispatch queue that is also an actor's executor.
///
/// Everything that belongs to one connection (its socket, its C handles, its buffers) lives on one loop. An actor
/// declares `unownedExecutor` as ``asUnownedSerialExecutor()`` of its loop; a C callback or a Dispatch source that fires
/// on ``queue`` may then enter the actor with `assumeIsolated`, without a hop.
///
/// It is not the preference of tasks as well (SE-0417), though that would spare a resumed continuation its way over the
/// global pool: a job cannot tell whether its task prefers the loop, and where the two disagree the runtime enqueues the
/// task anew at every `await`, also where an actor's code relies on not being interrupted.
///
/// Swift on Linux has no `DispatchSerialQueue`, so this is the executor that Apple's platforms ship.
public final class EventLoop: SerialExecutor {
  /// The queue itself: private to this loop, serial, on Dispatch's global pool.
  public let queue: DispatchQueue

  /// Queues wander over threads: with glibc's eight heaps a core (mallopt(3), `M_ARENA_MAX`) what one thread freed would
  /// lie unused while another asks for more. Two do, and large blocks always go back to the system at once, which glibc
  /// otherwise stops when the first is freed (`M_MMAP_THRESHOLD`). Once per process.
  private static let heapLimits: Void = carillon_limit_heaps()

  /// - Parameter label: shown by debuggers; no meaning to the program.
  public init(label: String) {
    Self.heapLimits
    queue = DispatchQueue(label: label)
  }

  /// Runs an actor's job on the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Traps unless called on ``queue``; what makes `assumeIsolated` sound.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  /// Runs `body` on the queue, after everything already enqueued.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    queue.async(execute: body)
  }

  /// Monotonic time in nanoseconds; only differences mean anything.
  public static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// This machine's idea of the time, in ms since the epoch.
  public static var wallClock: Int {
    var time = timespec()
    // clock_gettime(2): CLOCK_REALTIME always exists, so there is no error to look at.
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
