import CLinux
import Glibc

/// Jobs of continuations that are resumed on a loop: they are its own to run.
///
/// Whoever resumes a continuation hands the task to Swift's global executor, also where it goes on in an actor: a thread of
/// the pool is woken to hand it to the loop, which is woken in turn (`swift_continuation_init` in Swift's Task.cpp). Those
/// were two of five wake-ups of a busy worker, its Redis and the simulator, and cost 7 µs each instead of 0.6. The runtime
/// asks a hook before it wakes anybody. This one takes what a loop is resuming just now, and nothing else: what is meant
/// for the pool (`@concurrent`, new tasks) goes there.
enum ResumedJobs {
  /// Which loop the thread is, and which loop is resuming a continuation on it.
  private struct Keys {
    var current = pthread_key_t()
    var resuming = pthread_key_t()

    init() {
      // pthread_key_create(3) fails where a process has 1,024 of them.
      precondition(pthread_key_create(&current, nil) == 0 && pthread_key_create(&resuming, nil) == 0)
      carillon_divert_jobs { ResumedJobs.take($0) }
    }
  }

  private static let keys = Keys()

  /// Runs `body` on a thread that is the loop's meanwhile.
  static func run(on loop: EventLoop, _ body: () -> Void) {
    pthread_setspecific(keys.current, Unmanaged.passUnretained(loop).toOpaque())
    body()
    pthread_setspecific(keys.current, nil)
  }

  /// Runs `body`, which resumes a continuation; on a loop, the task goes on on it.
  static func resume(_ body: () -> Void) {
    pthread_setspecific(keys.resuming, pthread_getspecific(keys.current))
    body()
    pthread_setspecific(keys.resuming, nil)
  }

  private static func take(_ job: UnsafeMutableRawPointer?) -> Bool {
    guard let job, let loop = pthread_getspecific(keys.resuming) else { return false }
    // What the runtime hands over is a job, which `UnownedJob` is a pointer to.
    Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue().take(unsafeBitCast(job, to: UnownedJob.self))
    return true
  }
}
