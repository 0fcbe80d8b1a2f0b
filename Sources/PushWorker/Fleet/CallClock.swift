import Synchronization

/// Since when a call is under way. Read from other threads than the worker's, also while that is stuck.
public final class CallClock: Sendable {
  /// 0 while no call is under way.
  private let began = Atomic<UInt64>(0)

  /// When the call began, in ns of `EventLoop.now`; `nil` while none is under way.
  public var since: UInt64? {
    let began = began.load(ordering: .relaxed)
    return began > 0 ? began : nil
  }

  /// A call begins.
  func begin(_ now: UInt64) { began.store(now, ordering: .relaxed) }

  /// The call has returned, with or without success.
  func end() { began.store(0, ordering: .relaxed) }
}
