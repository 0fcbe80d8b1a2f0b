import CLinux
import Glibc

/// Lets an event loop run the jobs of the continuations that it resumes, without waking a thread of the global pool.
///
/// The runtime hands the task of a resumed continuation to Swift's global executor, even if the task continues in an
/// actor. A thread of the pool then wakes to pass the task to the loop, and the loop wakes too
/// (`swift_continuation_init` in Swift's Task.cpp). In a measurement of a busy worker with Redis and the simulator,
/// these were two of five wake-ups. Each of them cost 7 µs. If the loop runs such a job itself, the resumption costs
/// 0.6 µs.
///
/// The runtime calls a hook before it wakes a thread. The hook of this type takes only the jobs that a loop is resuming
/// at that moment. Jobs for the pool (`@concurrent`, new tasks) still go to the pool.
enum ResumedJobs {
  /// Keys of thread-local values: the loop that runs on the thread, and the loop that is resuming a continuation on the
  /// thread.
  private struct Keys {
    var current = pthread_key_t()
    var resuming = pthread_key_t()

    init() {
      // pthread_key_create(3) fails if the process already has 1,024 keys.
      precondition(pthread_key_create(&current, nil) == 0 && pthread_key_create(&resuming, nil) == 0)
      carillon_divert_jobs { ResumedJobs.take($0) }
    }
  }

  private static let keys = Keys()

  /// Runs `body` on a thread that belongs to the loop during this call.
  static func run(on loop: EventLoop, _ body: () -> Void) {
    pthread_setspecific(keys.current, Unmanaged.passUnretained(loop).toOpaque())
    body()
    pthread_setspecific(keys.current, nil)
  }

  /// Runs `body`, which resumes a continuation. On a loop, the task continues on that loop.
  static func resume(_ body: () -> Void) {
    pthread_setspecific(keys.resuming, pthread_getspecific(keys.current))
    body()
    pthread_setspecific(keys.resuming, nil)
  }

  private static func take(_ job: UnsafeMutableRawPointer?) -> Bool {
    guard let job, let loop = pthread_getspecific(keys.resuming) else { return false }
    // The runtime passes a pointer to a job, and `UnownedJob` is such a pointer.
    Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue().take(unsafeBitCast(job, to: UnownedJob.self))
    return true
  }
}
