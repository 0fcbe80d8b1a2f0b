/// The timers of a loop, by number. Pure: time is an argument, in ns of ``EventLoop/now``.
struct TimerTable {
  private struct Entry {
    var deadline = UInt64.max
    /// ns between two times it fires; `nil` for once.
    var interval: UInt64?
    /// Whether it goes when it has fired.
    var isSpent = false
    let handler: @Sendable () -> Void
  }

  private var entries: [UInt64: Entry] = [:]
  private var last: UInt64 = 0
  /// When the next one is due; `.max` for never. It may be too early, never too late.
  private(set) var nearest = UInt64.max

  /// - Parameter deadline: for one that fires once and goes; without it the timer waits for a schedule.
  mutating func add(deadline: UInt64? = nil, _ handler: @escaping @Sendable () -> Void) -> UInt64 {
    last += 1
    entries[last] = Entry(deadline: deadline ?? .max, isSpent: deadline != nil, handler: handler)
    nearest = min(nearest, deadline ?? .max)
    return last
  }

  /// - Parameter interval: one of 0 counts as 1: a timer that is due again as soon as it fired would keep the loop from
  ///   everything else.
  mutating func schedule(_ timer: UInt64, at deadline: UInt64, every interval: UInt64? = nil) {
    entries[timer]?.deadline = deadline
    entries[timer]?.interval = interval.map { max($0, 1) }
    nearest = min(nearest, deadline)
  }

  mutating func remove(_ timer: UInt64) { entries[timer] = nil }

  /// Takes the timer that has been due for longest; who repeats is scheduled again. One at a time, so that what its handler
  /// puts off, disarms or removes does not fire after it.
  ///
  /// - Returns: its handler; `nil` when none is due.
  mutating func takeDue(_ now: UInt64) -> (@Sendable () -> Void)? {
    guard nearest <= now else { return nil }
    guard let (timer, entry) = entries.min(by: { $0.value.deadline < $1.value.deadline }), entry.deadline <= now else {
      nearest = entries.values.reduce(.max) { min($0, $1.deadline) }
      return nil
    }
    if entry.isSpent {
      entries[timer] = nil
    } else {
      // From now on, and not from when it was due: what was missed is not made up for.
      entries[timer]?.deadline = entry.interval.map { UInt64.max - now > $0 ? now + $0 : .max } ?? .max
    }
    return entry.handler
  }
}
