import Synchronization

/// The start time of a call in flight. Other threads can read it, even while the worker's thread is blocked.
public final class CallClock: Sendable {
  /// 0 while no call is in flight.
  private let began = Atomic<UInt64>(0)

  /// The start of the call, in ns of `EventLoop.now`; `nil` while no call is in flight.
  public var since: UInt64? {
    let began = began.load(ordering: .relaxed)
    return began > 0 ? began : nil
  }

  /// Records the start of a call.
  func begin(_ now: UInt64) { began.store(now, ordering: .relaxed) }

  /// Records that the call has returned, with or without success.
  func end() { began.store(0, ordering: .relaxed) }
}
