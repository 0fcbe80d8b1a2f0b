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

  mutating func schedule(_ timer: UInt64, at deadline: UInt64, every interval: UInt64? = nil) {
    entries[timer]?.deadline = deadline
    entries[timer]?.interval = interval
    nearest = min(nearest, deadline)
  }

  mutating func remove(_ timer: UInt64) { entries[timer] = nil }

  /// The handlers of all that are due, in the order of their deadlines; who repeats is scheduled again.
  mutating func takeDue(_ now: UInt64) -> [@Sendable () -> Void] {
    var due: [(deadline: UInt64, handler: @Sendable () -> Void)] = []
    for (timer, entry) in entries where entry.deadline <= now {
      due.append((entry.deadline, entry.handler))
      if entry.isSpent {
        entries[timer] = nil
      } else {
        // From now on, and not from when it was due: what was missed is not made up for.
        entries[timer]?.deadline = entry.interval.map { now + $0 } ?? .max
      }
    }
    nearest = entries.values.reduce(.max) { min($0, $1.deadline) }
    return due.sorted { $0.deadline < $1.deadline }.map(\.handler)
  }
}
