/// How far a worker has come between its start and its end. Pure.
struct WorkerLife {
  private enum Phase: Int, Comparable {
    case working
    /// Nothing new is taken; what is in flight is finished.
    case stopping
    /// Nothing is in hand any more.
    case finished
    /// The worker's run is about to return.
    case ended

    static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  private var phase = Phase.working
  /// The deadline of the stop has passed.
  private(set) var isAbandoning = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  var isStopping: Bool { phase >= .stopping }
  var isFinished: Bool { phase >= .finished }
  var hasEnded: Bool { phase == .ended }

  /// - Returns: false when it stops already.
  mutating func stop() -> Bool {
    guard phase == .working else { return false }
    phase = .stopping
    return true
  }

  /// How much longer to wait for answers when the deadline of a stop has passed.
  ///
  /// A process that stood still (SIGSTOP, a suspended or starved machine) finds its deadline passed before it has read the
  /// answers that came meanwhile. Without a moment to read them it would call those pushes in doubt, and they would be sent
  /// twice.
  ///
  /// - Parameters:
  ///   - waited: how long it has waited.
  ///   - deadline: how long it was to wait.
  static func grace(after waited: Duration, of deadline: Duration) -> Duration {
    waited - deadline > standstill ? readingTime : .zero
  }

  /// A timer that fires so late means that the process stood still: on a busy machine they are late by some 10 ms.
  private static let standstill = Duration.milliseconds(500)
  /// Reading what has come and recording it takes some ms; on the machine that made the timer late, more.
  private static let readingTime = Duration.seconds(1)

  /// Nothing more is waited for.
  mutating func abandon() { isAbandoning = true }

  mutating func finish() { phase = max(phase, .finished) }

  /// Keeps who waits for the end.
  mutating func add(_ waiter: CheckedContinuation<Void, Never>) { waiters.append(waiter) }

  mutating func end() {
    phase = .ended
    for waiter in waiters { waiter.resume() }
    waiters = []
  }
}
