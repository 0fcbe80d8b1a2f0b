public import Dispatch

/// Timer on an ``EventLoop``. Its handler runs on the loop. Releasing the last reference cancels the timer.
public final class LoopTimer {
  private let loop: EventLoop
  private let timer: UInt64

  /// - Parameter handler: called on the loop each time the timer fires.
  public init(on loop: EventLoop, handler: @escaping @Sendable () -> Void) {
    self.loop = loop
    timer = loop.addTimer(handler)
  }

  /// Fires once after `delay`, replacing any earlier schedule.
  public func schedule(after delay: DispatchTimeInterval) {
    loop.schedule(timer, at: EventLoop.deadline(after: delay))
  }

  /// Fires every `interval`, for the first time after one interval. Replaces any earlier schedule.
  public func schedule(every interval: DispatchTimeInterval) {
    loop.schedule(timer, at: EventLoop.deadline(after: interval), every: interval.inNanoseconds)
  }

  /// Removes the schedule; the timer can be scheduled again.
  public func disarm() {
    loop.schedule(timer, at: .max)
  }

  deinit { loop.removeTimer(timer) }
}

extension DispatchTimeInterval {
  /// Length in ns; 0 for a negative interval, `.max` for an endless one.
  var inNanoseconds: UInt64 {
    let (count, unit): (Int, UInt64) =
      switch self {
      case .seconds(let count): (count, 1_000_000_000)
      case .milliseconds(let count): (count, 1_000_000)
      case .microseconds(let count): (count, 1000)
      case .nanoseconds(let count): (count, 1)
      case .never: (.max, .max)
      @unknown default: (.max, .max)
      }
    let (length, isOver) = UInt64(max(count, 0)).multipliedReportingOverflow(by: unit)
    return isOver ? .max : length
  }
}
