import Glibc

/// Tells an ``EventLoop`` when a socket can be read or written, and closes it safely.
///
/// Confined to the loop. Level-triggered: a handler is called again for as long as its condition holds, so interest in
/// writing is to be switched on only while bytes wait.
public final class SocketWatcher {
  private let socket: Socket
  private let poll: SocketPoll
  private var id: UInt64 = 0
  /// What the poll was asked for.
  private var armed: SocketPoll.Interest = []
  private var isHandling = false
  private var isClosed = false
  private let onReadable: @Sendable () -> Void
  private let onWritable: @Sendable () -> Void

  /// Interest in readability; on from the start.
  public var wantsRead = true {
    didSet { arm() }
  }

  /// Interest in writability; off from the start.
  public var wantsWrite = false {
    didSet { arm() }
  }

  /// - Parameters:
  ///   - socket: kept alive, and closed by ``close()``.
  ///   - onReadable: called on the loop when a read would bring something: bytes, the end, an error.
  ///   - onWritable: called on the loop when a write would take some bytes, or fail.
  public init(
    _ socket: Socket, on loop: EventLoop, onReadable: @escaping @Sendable () -> Void,
    onWritable: @escaping @Sendable () -> Void
  ) {
    self.socket = socket
    self.onReadable = onReadable
    self.onWritable = onWritable
    poll = loop.poll
    let reference = WatcherReference(self)
    id = poll.add { ready in reference.watcher?.fired(ready) }
    arm()
  }

  /// Stops watching and closes the socket. Idempotent; no handler is called afterwards.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    poll.change(id, socket.descriptor, from: armed, to: [])
    poll.remove(id)
    socket.close()
  }

  deinit { close() }

  private func fired(_ ready: SocketPoll.Interest) {
    isHandling = true
    // What was of interest when it happened may be of none by now; and either handler may close.
    if ready.contains(.reading), wantsRead, !isClosed { onReadable() }
    if ready.contains(.writing), wantsWrite, !isClosed { onWritable() }
    isHandling = false
    arm()
  }

  /// Tells the poll what is of interest, unless it knows.
  private func arm() {
    guard !isClosed, !isHandling else { return }
    var interest: SocketPoll.Interest = []
    if wantsRead { interest.insert(.reading) }
    if wantsWrite { interest.insert(.writing) }
    poll.change(id, socket.descriptor, from: armed, to: interest)
    armed = interest
  }
}

/// Carries a watcher through the poll.
///
/// `@unchecked Sendable` is sound because the reference itself never changes, loading a weak reference is safe from any
/// thread, and what it refers to is used on the watcher's loop only.
private final class WatcherReference: @unchecked Sendable {
  private(set) weak var watcher: SocketWatcher?
  init(_ watcher: SocketWatcher) { self.watcher = watcher }
}
