import CLinux
import Glibc
import Synchronization

/// What one loop waits for in epoll(7): its sockets, its next timer, and being woken.
final class SocketPoll: Sendable {
  /// What a descriptor is ready for. An error or a hang-up is both: whoever reads or writes learns what it is.
  struct Interest: OptionSet, Sendable {
    let rawValue: UInt32
    static let reading = Interest(rawValue: EPOLLIN.rawValue)
    static let writing = Interest(rawValue: EPOLLOUT.rawValue)
    fileprivate static let trouble = Interest(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
  }

  typealias Handler = @Sendable (Interest) -> Void

  private struct State {
    var handlers: [UInt64: Handler] = [:]
    /// Smaller numbers are the poll's own: nobody handles them.
    var nextID: UInt64 = 2
  }

  /// The poll itself, which another may wait for.
  let descriptor: Int32
  private let wakeUp: Int32
  private let timer: Int32
  private let state = Mutex(State())

  init() {
    descriptor = Self.made(epoll_create1(Int32(EPOLL_CLOEXEC)), "epoll_create1")
    wakeUp = Self.made(eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)), "eventfd")
    timer = Self.made(timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK)), "timerfd_create")
    // Edge-triggered, so that neither has to be read.
    control(EPOLL_CTL_ADD, wakeUp, 0, EPOLLIN.rawValue | EPOLLET.rawValue)
    control(EPOLL_CTL_ADD, timer, 1, EPOLLIN.rawValue | EPOLLET.rawValue)
  }

  deinit {
    for descriptor in [timer, wakeUp, descriptor] { Glibc.close(descriptor) }
  }

  // MARK: Waiting

  /// Has ``wait(_:milliseconds:)`` return; from any thread.
  func wake() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  /// - Parameter deadline: of ``EventLoop/now``; `.max` for never.
  func setTimer(_ deadline: UInt64) {
    var time = itimerspec()
    if deadline != .max {
      // Zero would disarm it.
      let deadline = max(deadline, 1)
      time.it_value = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    }
    timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &time, nil)
  }

  /// - Returns: how many events there are.
  func wait(_ events: UnsafeMutableBufferPointer<epoll_event>, milliseconds: Int32) -> Int {
    max(0, Int(carillon_epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)))
  }

  /// Tells whoever waits for it of an event.
  func handle(_ event: epoll_event) {
    guard let handler = state.withLock({ $0.handlers[event.data.u64] }) else { return }
    let ready = Interest(rawValue: event.events)
    handler(ready.isDisjoint(with: .trouble) ? ready : [.reading, .writing])
  }

  // MARK: Sockets

  /// Names somebody who wants to know of a descriptor; ``change(_:_:from:to:)`` says of what.
  ///
  /// - Returns: names the registration. Descriptors are used again, and an event that was on its way when one was closed
  ///   must not be taken for its successor's.
  func add(_ handler: @escaping Handler) -> UInt64 {
    state.withLock { state in
      defer { state.nextID += 1 }
      state.handlers[state.nextID] = handler
      return state.nextID
    }
  }

  /// Changes what is of interest. Of nothing is not the same as being watched for nothing: epoll tells of a hang-up
  /// whether it was asked to or not.
  func change(_ id: UInt64, _ descriptor: Int32, from old: Interest, to new: Interest) {
    guard new != old else { return }
    control(old.isEmpty ? EPOLL_CTL_ADD : new.isEmpty ? EPOLL_CTL_DEL : EPOLL_CTL_MOD, descriptor, id, new.rawValue)
  }

  func remove(_ id: UInt64) {
    _ = state.withLock { $0.handlers.removeValue(forKey: id) }
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ id: UInt64, _ events: UInt32) {
    var event = epoll_event(events: events, data: epoll_data(u64: id))
    // What remains (epoll_ctl(2)) are a descriptor that isn't one, and a kernel without memory or watches.
    let status = epoll_ctl(self.descriptor, operation, descriptor, &event)
    precondition(status == 0, "epoll_ctl: \(String(cString: strerror(errno)))")
  }

  private static func made(_ descriptor: Int32, _ call: String) -> Int32 {
    precondition(descriptor >= 0, "\(call): \(String(cString: strerror(errno)))")
    return descriptor
  }
}
