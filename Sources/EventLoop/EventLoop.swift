import CLinux
public import Dispatch
import Glibc
import Synchronization

/// A serial Dispatch queue that is also an actor's executor, and waits for its own sockets and timers.
///
/// Everything that belongs to one connection (its socket, its C handles, its buffers) lives on one loop. An actor
/// declares `unownedExecutor` as ``asUnownedSerialExecutor()`` of its loop; a C callback, a socket's handler or a timer's
/// may then enter the actor with `assumeIsolated`, without a hop.
///
/// While there is something to do, the loop keeps the queue's thread and waits in epoll(7) on it, so that an event, a
/// timer or a job from elsewhere wakes one thread and no other. Dispatch's sources go by way of its manager thread, which
/// is woken twice for every event; one poller for all loops was still a wake-up too many for each. A loop that had nothing
/// to do for a while gives its thread back (``IdleLoops`` watches it), and so does at once whoever finds all seats taken:
/// Dispatch has 255 threads.
///
/// It is not the preference of tasks as well (SE-0417), though that too would spare a resumed continuation its way over
/// the global pool (``resuming(_:)`` does): a job cannot tell whether its task prefers the loop, and where the two disagree
/// the runtime enqueues the task anew at every `await`, also where an actor's code relies on not being interrupted.
///
/// Swift on Linux has no `DispatchSerialQueue`, so this is the executor that Apple's platforms ship.
public final class EventLoop: SerialExecutor {
  private enum Work {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
  }

  private enum Phase {
    /// On no thread.
    case away
    /// On the queue's thread, or about to be.
    case running
    /// On the queue's thread, waiting in epoll.
    case asleep
  }

  private struct State {
    var phase = Phase.away
    var work: [Work] = []
    var timers = TimerTable()
    /// For when the timer descriptor is set.
    var armed = UInt64.max
  }

  /// ms without anything to do after which a loop gives its thread back.
  private static let patience: Int32 = 100
  /// Loops that may wait on a thread at a time.
  private static let seats = 128
  private static let seated = Atomic<Int>(0)
  /// Events taken from the kernel at once.
  private static let capacity = 64

  /// Queues wander over threads: with glibc's eight heaps a core (mallopt(3), `M_ARENA_MAX`) what one thread freed would
  /// lie unused while another asks for more. Two do, and large blocks always go back to the system at once, which glibc
  /// otherwise stops when the first is freed (`M_MMAP_THRESHOLD`). A loop takes three descriptors and each connection one
  /// more: shells allow a thousand, though the system would allow many more. Once per process.
  private static let processLimits: Void = {
    carillon_limit_heaps()
    carillon_raise_descriptor_limit()
  }()

  /// Private to this loop, serial, on Dispatch's global pool.
  private let queue: DispatchQueue
  private let state = Mutex(State())
  let poll = SocketPoll()

  /// - Parameter label: shown by debuggers; no meaning to the program.
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

  /// Runs a job that the global executor was to have.
  func take(_ job: UnownedJob) { add(.job(job)) }

  /// Runs `body`, which resumes a continuation. Called on a loop, the task goes on on it, in its turn, and no thread is
  /// woken for that.
  public static func resuming(_ body: () -> Void) { ResumedJobs.resume(body) }

  /// Traps unless called on the loop; what makes `assumeIsolated` sound.
  public func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }

  /// Runs `body` on the loop, after everything already enqueued.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    add(.body(body))
  }

  /// Runs `body` on the loop after a while.
  public func execute(after delay: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) {
    let deadline = Self.deadline(after: delay)
    change { _ = $0.timers.add(deadline: deadline, body) }
  }

  private func add(_ work: Work) {
    change { $0.work.append(work) }
  }

  /// Changes what there is to do, from any thread, and sees to it that the loop notices.
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

  /// When a delay from now is over, in ns of ``now``; `.max` for one without an end.
  static func deadline(after delay: DispatchTimeInterval) -> UInt64 {
    let (deadline, isOver) = now.addingReportingOverflow(delay.inNanoseconds)
    return isOver ? .max : deadline
  }

  // MARK: Running

  /// Something has happened on the poll while the loop was away.
  func comeBack() {
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
    let hasSeat = Self.seated.add(1, ordering: .relaxed).newValue <= Self.seats
    defer { Self.seated.subtract(1, ordering: .relaxed) }
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
          if hasSeat { state.phase = .asleep }
          return true
        }
        let count = poll.wait(events, milliseconds: mayWait && hasSeat ? Self.patience : 0)
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
