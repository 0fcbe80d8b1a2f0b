import CLinux
public import Dispatch
import Glibc
import Synchronization

/// Event loop: a serial Dispatch queue that is also an actor's executor, and waits for its own sockets and timers.
///
/// Everything that belongs to one connection (its socket, its C handles, its buffers) lives on one loop. An actor
/// declares `unownedExecutor` as ``asUnownedSerialExecutor()`` of its loop. A C callback or the handler of a socket or
/// timer can then enter the actor with `assumeIsolated`, without a change of threads.
///
/// A busy loop keeps the queue's thread and waits in epoll(7) on it. An event, a timer or a job from another thread
/// therefore wakes one thread only. Dispatch's sources would use a manager thread, which is woken twice for every
/// event. One poller for all loops would still need one more wake-up for each event. A loop that is idle for 100 ms
/// gives its thread back, and ``IdleLoops`` watches its sockets. If ``threadSlots`` loops already wait on a thread, a
/// loop gives its thread back immediately, because Dispatch has only 255 threads.
///
/// The loop is not used as the executor preference of tasks (SE-0417). With a preference, a resumed continuation would
/// not use the global pool of threads. ``resuming(_:)`` has the same effect. A preference also has a disadvantage: a
/// job of an actor on this loop can't find out whether its task prefers this loop. If the task prefers another
/// executor, the runtime enqueues the task again at every `await`. This interrupts the actor's code in places where the
/// code relies on running without an interruption.
///
/// Swift on Linux has no `DispatchSerialQueue`, which is an executor on Apple's platforms. This class replaces it.
public final class EventLoop: SerialExecutor {
  private enum Work {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
  }

  private enum Phase {
    /// The loop has no thread.
    case away
    /// The loop is on the queue's thread, or will be soon.
    case running
    /// The loop is on the queue's thread and waits in epoll.
    case asleep
  }

  private struct State {
    var phase = Phase.away
    var work: [Work] = []
    var timers = TimerTable()
    /// Deadline for which the timer of the poll is set, in ns of ``now``; `.max` for none.
    var armed = UInt64.max
  }

  /// Time in ms without work after which a loop gives its thread back.
  private static let idleTimeout: Int32 = 100
  /// Maximum number of loops that wait on a thread at the same time.
  private static let threadSlots = 128
  private static let usedThreadSlots = Atomic<Int>(0)
  /// Maximum number of events that are read from the kernel in one call.
  private static let capacity = 64

  /// Limits of the process, set once.
  ///
  /// - Heaps: queues move between threads. With glibc's eight heaps per core (mallopt(3), `M_ARENA_MAX`), memory that
  ///   one thread freed would stay unused while another thread asks for more. Two heaps are sufficient. Large blocks
  ///   always go back to the system immediately. By default, glibc stops doing this when the first large block is freed
  ///   (`M_MMAP_THRESHOLD`).
  /// - Descriptors: a loop needs three and each connection needs one. Shells set a limit of about a thousand, although
  ///   the system allows many more.
  private static let processLimits: Void = {
    carillon_limit_heaps()
    carillon_raise_descriptor_limit()
  }()

  /// Private, serial queue of this loop, on Dispatch's global pool.
  private let queue: DispatchQueue
  private let state = Mutex(State())
  let poll = SocketPoll()

  /// - Parameter label: shown by debuggers; it has no effect on the program.
  public init(label: String) {
    Self.processLimits
    queue = DispatchQueue(label: label)
    IdleLoops.shared.add(self)
  }

  deinit {
    IdleLoops.shared.remove(poll)
  }

  // MARK: Executor

  /// Runs an actor's job on the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// Runs a job that would otherwise go to the global executor.
  func take(_ job: UnownedJob) { add(.job(job)) }

  /// Runs `body`, which resumes a continuation. If the caller runs on a loop, the task is enqueued on that loop, and no
  /// thread is woken for it.
  public static func resuming(_ body: () -> Void) { ResumedJobs.resume(body) }

  /// Stops the program if the caller does not run on the loop. This check makes `assumeIsolated` safe.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  /// Runs `body` on the loop, after all work that is already enqueued.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    add(.body(body))
  }

  /// Runs `body` on the loop after a delay.
  public func execute(after delay: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
    let deadline = Self.deadline(after: delay)
    change { _ = $0.timers.add(deadline: deadline, body) }
  }

  private func add(_ work: Work) {
    change { $0.work.append(work) }
  }

  /// Changes the work of the loop from any thread, and wakes the loop if necessary.
  private func change(_ body: (inout State) -> Void) {
    let phase = state.withLock { state in
      body(&state)
      defer { state.phase = .running }
      return state.phase
    }
    switch phase {
    case .running: break
    case .asleep: poll.wake()
    case .away: queue.async { self.runOnThread() }
    }
  }

  // MARK: Timers

  func addTimer(_ handler: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { $0.timers.add(handler) }
  }

  func schedule(_ timer: UInt64, at deadline: UInt64, every interval: UInt64? = nil) {
    change { $0.timers.schedule(timer, at: deadline, every: interval) }
  }

  func removeTimer(_ timer: UInt64) {
    state.withLock { $0.timers.remove(timer) }
  }

  /// Returns the end of a delay from now, in ns of ``now``; `.max` for an endless delay.
  static func deadline(after delay: DispatchTimeInterval) -> UInt64 {
    let (deadline, isOver) = now.addingReportingOverflow(delay.inNanoseconds)
    return isOver ? .max : deadline
  }

  // MARK: Running

  /// Runs the loop again, because an event occurred on its poll while it had no thread.
  func runAgain() {
    let isAway = state.withLock { state in
      defer { if state.phase == .away { state.phase = .running } }
      return state.phase == .away
    }
    if isAway { queue.async { self.runOnThread() } }
  }

  private func runOnThread() {
    ResumedJobs.run(on: self) { run() }
  }

  private func run() {
    let hasThreadSlot = Self.usedThreadSlots.add(1, ordering: .relaxed).newValue <= Self.threadSlots
    defer { Self.usedThreadSlots.subtract(1, ordering: .relaxed) }
    let executor = asUnownedSerialExecutor()
    var work: [Work] = []
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.capacity) { events in
      while true {
        let mayWait = state.withLock { state in
          if state.timers.nearest != state.armed {
            state.armed = state.timers.nearest
            poll.setTimer(state.armed)
          }
          guard state.work.isEmpty else { return false }
          if hasThreadSlot { state.phase = .asleep }
          return true
        }
        let count = poll.wait(events, milliseconds: mayWait && hasThreadSlot ? Self.idleTimeout : 0)
        let now = Self.now
        let isIdle = state.withLock { state in
          swap(&work, &state.work)
          let isIdle =
            count == 0 && mayWait && work.isEmpty && state.timers.nearest == state.armed && state.armed > now
          state.phase = isIdle ? .away : .running
          return isIdle
        }
        guard !isIdle else { return IdleLoops.shared.watch(self) }
        for event in events.prefix(count) { poll.handle(event) }
        while let handler = state.withLock({ $0.timers.takeDue(now) }) { handler() }
        for item in work {
          switch item {
          case .job(let job): job.runSynchronously(on: executor)
          case .body(let body): body()
          }
        }
        work.removeAll(keepingCapacity: true)
      }
    }
  }

  // MARK: Clocks

  /// Monotonic time in nanoseconds; only differences are meaningful.
  public static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Wall clock of this machine in ms since the epoch.
  public static var wallClock: Int {
    var time = timespec()
    // clock_gettime(2): CLOCK_REALTIME always exists, so no error is possible.
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
