import EventLoop

/// Redis' clock, which the whole fleet uses, calculated from the last time that Redis returned.
struct StoreClock {
  /// Redis' clock minus this machine's clock, in ms.
  private(set) var offset = 0
  /// The start of the worker, in ms since the epoch.
  var startedAt = 0

  /// The present time, in ms since the epoch.
  var now: UInt64 { UInt64(max(0, EventLoop.wallClock + offset)) }

  /// Sets the clock to a time that Redis returned just now.
  ///
  /// - Parameter clock: the present time by Redis' clock, in ms since the epoch.
  mutating func set(_ clock: Int) { offset = clock - EventLoop.wallClock }
}
