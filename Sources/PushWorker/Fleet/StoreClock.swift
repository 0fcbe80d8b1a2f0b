import EventLoop

/// Redis' clock, which is the fleet's, by what it said last.
struct StoreClock {
  /// Redis' clock less this machine's, in ms.
  private(set) var offset = 0
  /// When the worker began to run, in ms since the epoch.
  var startedAt = 0

  /// ms since the epoch.
  var now: UInt64 { UInt64(max(0, EventLoop.wallClock + offset)) }

  /// - Parameter clock: what Redis' clock said just now, in ms since the epoch.
  mutating func set(_ clock: Int) { offset = clock - EventLoop.wallClock }
}
