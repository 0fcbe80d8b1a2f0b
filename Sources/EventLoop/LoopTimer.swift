public import Dispatch

/// A timer on an ``EventLoop``, armed and re-armed from that loop only.
///
/// Its handler runs on the loop. Letting the last reference go cancels it.
public final class LoopTimer {
  private let source: any DispatchSourceTimer

  /// - Parameter handler: called on the loop each time the timer fires.
  public init(on loop: EventLoop, handler: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: loop.queue)
    source.setEventHandler(handler: handler)
    source.activate()
  }

  /// Fires once after `delay`, replacing any earlier schedule.
  public func schedule(after delay: DispatchTimeInterval) {
    source.schedule(deadline: .now() + delay, leeway: .milliseconds(0))
  }

  /// Fires every `interval`, first after one interval, replacing any earlier schedule.
  public func schedule(every interval: DispatchTimeInterval) {
    source.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(1))
  }

  /// Forgets the schedule; the timer can be armed again.
  public func disarm() {
    source.schedule(deadline: .distantFuture)
  }

  deinit { source.cancel() }
}
