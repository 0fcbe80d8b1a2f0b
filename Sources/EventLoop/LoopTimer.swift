public import Dispatch

/// A timer on an ``EventLoop``. Its handler runs on the loop. Letting the last reference go cancels it.
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

  /// Fires every `interval`, first after one interval, replacing any earlier schedule.
  public func schedule(every interval: DispatchTimeInterval) {
    let deadline = EventLoop.deadline(after: interval)
    let now = EventLoop.now
    loop.schedule(timer, at: deadline, every: deadline - min(now, deadline))
  }

  /// Forgets the schedule; the timer can be armed again.
  public func disarm() {
    loop.schedule(timer, at: .max)
  }

  deinit { loop.removeTimer(timer) }
}
