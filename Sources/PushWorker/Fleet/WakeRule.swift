/// Selects the workers that try to take available slices. They are few, so that not all workers request the same slice,
/// and enough that at least one almost always tries. The next signal of the maintenance leader reports slices that no
/// worker has taken. The rule also selects the workers that wait for jobs.
public enum WakeRule {
  /// Time in ms after which a worker tries to take slices without a signal, in case messages were lost. Usually a
  /// worker that makes slices available publishes a message, and the answer to each heartbeat has the same information.
  static let idleInterval = 60_000
  /// Average number of workers that try to take each slice.
  private static let attemptsPerSlice = 4

  /// Returns whether a worker tries to take one of the available slices.
  ///
  /// - Parameter roll: A random number from 0 up to the number of workers, exclusive.
  public static func triesToTake(_ slices: Int, roll: Int) -> Bool {
    roll < slices.multipliedCapped(by: attemptsPerSlice)
  }

  /// Returns whether this worker tries to take slices. The choice is random.
  static func triesToTake(_ slices: Int, fleet: Int) -> Bool { triesToTake(slices, roll: .random(in: 0..<fleet)) }

  /// Average number of workers that wait for jobs. In one of 10⁷ turns no worker waits, which delays a job by one turn.
  private static let waiters = 16

  /// Returns whether a worker waits for jobs in its present turn. Each waiting worker costs Redis a call every few
  /// seconds.
  ///
  /// - Parameter roll: A random number from 0 up to the number of workers, exclusive.
  static func waitsForJobs(roll: Int) -> Bool { roll < waiters }
}

extension Int {
  fileprivate func multipliedCapped(by factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
