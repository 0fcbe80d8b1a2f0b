import CLinux
import Glibc
import Synchronization

/// Poll of one event loop. With epoll(7), it waits for the loop's sockets, its next timer, and wake-ups from other
/// threads.
final class SocketPoll: Sendable {
  /// Conditions of a descriptor. An error or a hang-up sets both conditions, and the next read or write returns the
  /// details.
  struct Interest: OptionSet, Sendable {
    let rawValue: UInt32
    static let reading = Interest(rawValue: EPOLLIN.rawValue)
    static let writing = Interest(rawValue: EPOLLOUT.rawValue)
    fileprivate static let trouble = Interest(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
  }

  typealias Handler = @Sendable (Interest) -> Void

  private struct State {
    var handlers: [UInt64: Handler] = [:]
    /// Id of the next registration. Smaller ids than the first are reserved for the poll itself, and have no handler.
    var nextID: UInt64 = 2
  }

  /// Descriptor of the poll itself, which another poll can watch.
  let descriptor: Int32
  private let wakeUp: Int32
  private let timer: Int32
  private let state = Mutex(State())

  init() {
    descriptor = Self.made(epoll_create1(Int32(EPOLL_CLOEXEC)), "epoll_create1")
    wakeUp = Self.made(eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)), "eventfd")
    timer = Self.made(timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK)), "timerfd_create")
    // Both descriptors are edge-triggered: epoll reports each change once, so the loop need not read from them.
    control(EPOLL_CTL_ADD, wakeUp, 0, EPOLLIN.rawValue | EPOLLET.rawValue)
    control(EPOLL_CTL_ADD, timer, 1, EPOLLIN.rawValue | EPOLLET.rawValue)
  }

  deinit {
    for descriptor in [timer, wakeUp, descriptor] { Glibc.close(descriptor) }
  }

  // MARK: Waiting

  /// Makes ``wait(_:milliseconds:)`` return; may be called from any thread.
  func wake() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  /// Sets the time at which the poll wakes its loop for the next timer.
  ///
  /// - Parameter deadline: in ns of ``EventLoop/now``; `.max` for never.
  func setTimer(_ deadline: UInt64) {
    var time = itimerspec()
    if deadline != .max {
      // A time of zero would disarm the timer.
      let deadline = max(deadline, 1)
      time.it_value = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    }
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &time, nil)
  }

  /// Waits for events, for a limited time.
  ///
  /// - Returns: the number of events.
  func wait(_ events: UnsafeMutableBufferPointer<epoll_event>, milliseconds: Int32) -> Int {
    max(0, Int(carillon_epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)))
  }

  /// Calls the handler of an event.
  func handle(_ event: epoll_event) {
    guard let handler = state.withLock({ $0.handlers[event.data.u64] }) else { return }
    let ready = Interest(rawValue: event.events)
    handler(ready.isDisjoint(with: .trouble) ? ready : [.reading, .writing])
  }

  // MARK: Sockets

  /// Adds a handler for a descriptor; ``change(_:_:from:to:)`` sets its conditions.
  ///
  /// - Returns: the id of the registration. Descriptor numbers are reused, so the id distinguishes a pending event of a
  ///   closed descriptor from events of its successor.
  func add(_ handler: @escaping Handler) -> UInt64 {
    state.withLock { state in
      defer { state.nextID += 1 }
      state.handlers[state.nextID] = handler
      return state.nextID
    }
  }

  /// Changes the conditions. An empty set removes the descriptor from epoll, because epoll reports a hang-up even of a
  /// descriptor that is watched for no condition.
  func change(_ id: UInt64, _ descriptor: Int32, from old: Interest, to new: Interest) {
    guard new != old else { return }
    control(old.isEmpty ? EPOLL_CTL_ADD : new.isEmpty ? EPOLL_CTL_DEL : EPOLL_CTL_MOD, descriptor, id, new.rawValue)
  }

  func remove(_ id: UInt64) {
    _ = state.withLock { $0.handlers.removeValue(forKey: id) }
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ id: UInt64, _ events: UInt32) {
    var event = epoll_event(events: events, data: epoll_data(u64: id))
    // The remaining causes of a failure (epoll_ctl(2)) are an invalid descriptor and a kernel without memory or
    // watches.
    let status = epoll_ctl(self.descriptor, operation, descriptor, &event)
    precondition(status == 0, "epoll_ctl: \(String(cString: strerror(errno)))")
  }

  private static func made(_ descriptor: Int32, _ call: String) -> Int32 {
    precondition(descriptor >= 0, "\(call): \(String(cString: strerror(errno)))")
    return descriptor
  }
}
