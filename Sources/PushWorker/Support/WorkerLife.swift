/// The phases of a worker between its start and its end. Pure.
struct WorkerLife {
  private enum Phase: Int, Comparable {
    case working
    /// The worker takes nothing new, and finishes the pushes in flight.
    case stopping
    /// The worker has released all its slices.
    case finished
    /// The worker's run is about to return.
    case ended

    static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  private var phase = Phase.working
  /// Whether the deadline of the stop has passed.
  private(set) var isAbandoning = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  var isStopping: Bool { phase >= .stopping }
  var isFinished: Bool { phase >= .finished }
  var hasEnded: Bool { phase == .ended }

  /// Begins the stop of the worker.
  ///
  /// - Returns: `false` if the worker is stopping already.
  mutating func stop() -> Bool {
    guard phase == .working else { return false }
    phase = .stopping
    return true
  }

  /// Returns the additional time to wait for answers after the deadline of a stop.
  ///
  /// A process that was stopped (SIGSTOP, a suspended or starved machine) finds its deadline passed before it has read
  /// the answers that arrived. Without time to read them, it would leave these pushes in doubt, and they would be sent
  /// twice.
  ///
  /// - Parameters:
  ///   - waited: The time that the caller has waited.
  ///   - deadline: The time that the caller was allowed to wait.
  static func grace(after waited: Duration, of deadline: Duration) -> Duration {
    waited - deadline > standstill ? readingTime : .zero
  }

  /// If a timer is late by at least this time, the process was stopped. On a busy machine, timers are only about 10 ms
  /// late.
  private static let standstill = Duration.milliseconds(500)
  /// Time to read and record the answers. This takes some ms, and more on the machine that delayed the timer.
  private static let readingTime = Duration.seconds(1)

  /// Ends all waiting, because the deadline has passed.
  mutating func abandon() { isAbandoning = true }

  mutating func finish() { phase = max(phase, .finished) }

  /// Adds a caller that waits for the end.
  mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }

  mutating func end() {
    phase = .ended
    for waiter in waiters { waiter.resume() }
    waiters = []
  }
}
