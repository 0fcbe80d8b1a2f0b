/// Who of a fleet looks when there is something to take: few enough that not all ask at once for one slice, and enough that
/// nearly always one does. The rest is told with the next beat. It also says who waits for jobs. Pure.
public enum WakeRule {
  /// ms between looks that nothing should need: a worker that makes something available publishes it, and the answer to each
  /// heartbeat repeats it.
  static let idleInterval = 60_000
  /// Workers that look for each slice, on average.
  private static let looks = 4

  /// - Parameter roll: 0 up to the number of workers, exclusive.
  public static func looks(for slices: Int, roll: Int) -> Bool { roll < slices.multipliedCapped(by: looks) }

  /// Whether this worker is one of those that look, by chance.
  static func looks(for slices: Int, fleet: Int) -> Bool { looks(for: slices, roll: .random(in: 0..<fleet)) }

  /// Workers that wait for jobs at a time, on average: that nobody does happens once in 10⁷ turns, and lasts for one.
  private static let waiters = 16

  /// Whether a worker's turn is one in which it waits for jobs: each waiting one costs Redis a call every few seconds.
  ///
  /// - Parameter roll: 0 up to the number of workers, exclusive.
  static func waitsForJobs(roll: Int) -> Bool { roll < waiters }
}

extension Int {
  fileprivate func multipliedCapped(by factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
