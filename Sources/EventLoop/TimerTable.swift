/// Table of the timers of an event loop. Each timer has a number. Time is an argument, in ns of ``EventLoop/now``.
struct TimerTable {
  private struct Entry {
    var deadline = UInt64.max
    /// Interval of a repeating timer in ns; `nil` for a timer that fires once.
    var interval: UInt64?
    /// Whether the timer is removed after it has fired.
    var isSpent = false
    let handler: @Sendable () -> Void
  }

  private var entries: [UInt64: Entry] = [:]
  private var last: UInt64 = 0
  /// Deadline of the next timer; `.max` for none. After a timer was changed or removed, the value may be earlier than
  /// the real deadline, but never later.
  private(set) var nearest = UInt64.max

  /// Adds a timer, and returns its number.
  ///
  /// - Parameter deadline: deadline of a timer that fires once and is then removed; `nil` for a timer that
  ///   ``schedule(_:at:every:)`` starts.
  mutating func add(deadline: UInt64? = nil, _ handler: @escaping @Sendable () -> Void) -> UInt64 {
    last += 1
    entries[last] = Entry(deadline: deadline ?? .max, isSpent: deadline != nil, handler: handler)
    nearest = min(nearest, deadline ?? .max)
    return last
  }

  /// Sets the next deadline of a timer and, for a repeating timer, its interval.
  ///
  /// - Parameter interval: 0 counts as 1. A timer that is due immediately after it fired would block all other work of
  ///   the loop.
  mutating func schedule(_ timer: UInt64, at deadline: UInt64, every interval: UInt64? = nil) {
    entries[timer]?.deadline = deadline
    entries[timer]?.interval = interval.map { max($0, 1) }
    nearest = min(nearest, deadline)
  }

  mutating func remove(_ timer: UInt64) { entries[timer] = nil }

  /// Takes the timer that has been due for the longest time, and schedules a repeating timer again. The function
  /// returns one timer at a time, so that a handler can reschedule, disarm or remove other timers before they fire.
  ///
  /// - Returns: the handler of the timer; `nil` if no timer is due.
  mutating func takeDue(_ now: UInt64) -> (@Sendable () -> Void)? {
    guard nearest <= now else { return nil }
    guard let (timer, entry) = entries.min(by: { $0.value.deadline < $1.value.deadline }), entry.deadline <= now else {
      nearest = entries.values.reduce(.max) { min($0, $1.deadline) }
      return nil
    }
    if entry.isSpent {
      entries[timer] = nil
    } else {
      // The next interval begins now and not at the deadline, so that a late loop does not repeat missed times.
      entries[timer]?.deadline = entry.interval.map { UInt64.max - now > $0 ? now + $0 : .max } ?? .max
    }
    return entry.handler
  }
}
