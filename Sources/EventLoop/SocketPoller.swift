import CLinux
import Dispatch
import Glibc
import Synchronization

/// The one thread that waits for sockets to become ready, and tells the loops.
///
/// Instead of Dispatch's sources: on Linux these re-arm a descriptor by way of Dispatch's manager thread, which is woken
/// twice for every event, and that was a quarter of a busy worker's CPU time. Here an event is one wake-up of this thread
/// and one of the loop, and the loop re-arms the descriptor itself (epoll(7), `EPOLLONESHOT`).
final class SocketPoller: Sendable {
  static let shared = SocketPoller()

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
    var nextID: UInt64 = 0
  }

  /// Events taken from the kernel at once.
  private static let capacity = 64

  private let epoll: Int32
  private let state = Mutex(State())

  private init() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(epoll >= 0, "epoll_create1: \(String(cString: strerror(errno)))")
    // On a thread of its own, for good: a queue that blocks keeps none of the others waiting.
    DispatchQueue(label: "sockets").async { self.run() }
  }

  /// Begins to watch a descriptor; it is armed by ``arm(_:_:for:)``.
  ///
  /// - Parameter handler: called on the poller's thread, once each time the descriptor was armed; must not block.
  /// - Returns: names the registration. Descriptors are used again, and an event that was on its way when one was closed
  ///   must not be taken for its successor's.
  func add(_ descriptor: Int32, handler: @escaping Handler) -> UInt64 {
    let id = state.withLock { state in
      state.nextID += 1
      state.handlers[state.nextID] = handler
      return state.nextID
    }
    control(EPOLL_CTL_ADD, descriptor, id, [])
    return id
  }

  /// Has the handler called once when the descriptor is ready; instead of what was asked for before.
  func arm(_ id: UInt64, _ descriptor: Int32, for interest: Interest) {
    control(EPOLL_CTL_MOD, descriptor, id, interest)
  }

  /// Ends the watch; call before the descriptor is closed. An event on its way may still be told.
  func remove(_ id: UInt64, _ descriptor: Int32) {
    control(EPOLL_CTL_DEL, descriptor, id, [])
    _ = state.withLock { $0.handlers.removeValue(forKey: id) }
  }

  private func control(_ operation: Int32, _ descriptor: Int32, _ id: UInt64, _ interest: Interest) {
    var event = epoll_event(events: interest.rawValue | EPOLLONESHOT.rawValue, data: epoll_data(u64: id))
    // What remains (epoll_ctl(2)) are a descriptor that isn't one, and a kernel without memory or watches.
    let status = epoll_ctl(epoll, operation, descriptor, &event)
    precondition(status == 0, "epoll_ctl: \(String(cString: strerror(errno)))")
  }

  private func run() {
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.capacity) { events in
      while true {
        let count = Int(epoll_wait(epoll, events.baseAddress, Int32(Self.capacity), -1))
        for event in events.prefix(max(0, count)) {
          guard let handler = state.withLock({ $0.handlers[event.data.u64] }) else { continue }
          let ready = Interest(rawValue: event.events)
          handler(ready.isDisjoint(with: .trouble) ? ready : [.reading, .writing])
        }
      }
    }
  }
}
