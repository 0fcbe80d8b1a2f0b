import CLinux
import Dispatch
import Glibc
import Synchronization

/// Thread that waits for events of all idle event loops. It watches the poll of each loop, which watches the loop's
/// sockets and timer (``SocketPoll``).
final class IdleLoops: Sendable {
  static let shared = IdleLoops()

  private final class Reference: Sendable {
    weak let loop: EventLoop?
    init(_ loop: EventLoop) { self.loop = loop }
  }

  private static let capacity = 64

  private let descriptor: Int32
  private let loops = Mutex<[Int32: Reference]>([:])

  private init() {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(descriptor >= 0, "epoll_create1: \(String(cString: strerror(errno)))")
    // `run()` occupies a thread of this queue permanently. A blocked queue does not delay other queues.
    DispatchQueue(label: "idle loops").async { self.run() }
  }

  /// Watches a loop that has not run yet. The loop's poll must stay open until ``remove(_:)``.
  func add(_ loop: EventLoop) {
    loops.withLock { $0[loop.poll.descriptor] = Reference(loop) }
    control(EPOLL_CTL_ADD, loop.poll.descriptor, EPOLLIN.rawValue)
  }

  /// Watches a loop until the next event on its poll, which makes the loop run again.
  func watch(_ loop: EventLoop) {
    control(EPOLL_CTL_MOD, loop.poll.descriptor, EPOLLIN.rawValue)
  }

  /// Ends the watch of a loop.
  ///
  /// - Parameter poll: the loop's poll. Its descriptor may be reused for another loop only after this call.
  func remove(_ poll: SocketPoll) {
    control(EPOLL_CTL_DEL, poll.descriptor, 0)
    _ = loops.withLock { $0.removeValue(forKey: poll.descriptor) }
  }

  private func control(_ operation: Int32, _ poll: Int32, _ events: UInt32) {
    var event = epoll_event(
      events: events | EPOLLONESHOT.rawValue, data: epoll_data(u64: UInt64(poll)))
    let status = epoll_ctl(descriptor, operation, poll, &event)
    precondition(status == 0, "epoll_ctl: \(String(cString: strerror(errno)))")
  }

  private func run() {
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.capacity) { events in
      while true {
        let count = Int(carillon_epoll_wait(descriptor, events.baseAddress, Int32(Self.capacity), -1))
        for event in events.prefix(max(0, count)) {
          loops.withLock { $0[Int32(event.data.u64)] }?.loop?.runAgain()
        }
      }
    }
  }
}
