import Glibc

/// Watcher that notifies an ``EventLoop`` when a socket can be read or written, and closes the socket safely.
///
/// Confined to the loop. Level-triggered: a handler is called repeatedly while its condition is true. Therefore set
/// ``wantsWrite`` only while bytes wait.
public final class SocketWatcher {
  private let socket: Socket
  private let poll: SocketPoll
  private var id: UInt64 = 0
  /// Conditions that the poll watches at present.
  private var armed: SocketPoll.Interest = []
  private var isHandling = false
  private var isClosed = false
  private let onReadable: @Sendable () -> Void
  private let onWritable: @Sendable () -> Void

  /// Whether to call the handler for readability; `true` by default.
  public var wantsRead = true {
    didSet { arm() }
  }

  /// Whether to call the handler for writability; `false` by default.
  public var wantsWrite = false {
    didSet { arm() }
  }

  /// - Parameters:
  ///   - socket: the socket. The watcher keeps it alive, and ``close()`` closes it.
  ///   - onReadable: called on the loop when a read would return bytes, the end of the stream, or an error.
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
    // Checked again for each handler: the conditions may have changed since the event, and the first handler may have
    // closed the watcher.
    if ready.contains(.reading), wantsRead, !isClosed { onReadable() }
    if ready.contains(.writing), wantsWrite, !isClosed { onWritable() }
    isHandling = false
    arm()
  }

  /// Passes the conditions to the poll if they have changed.
  private func arm() {
    guard !isClosed, !isHandling else { return }
    var interest: SocketPoll.Interest = []
    if wantsRead { interest.insert(.reading) }
    if wantsWrite { interest.insert(.writing) }
    poll.change(id, socket.descriptor, from: armed, to: interest)
    armed = interest
  }
}

/// Weak reference that carries a watcher through the poll.
///
/// `@unchecked Sendable` is sound because the reference itself never changes, and loading a weak reference is safe on
/// any thread. The object is used only on the watcher's loop.
private final class WatcherReference: @unchecked Sendable {
  private(set) weak var watcher: SocketWatcher?
  init(_ watcher: SocketWatcher) { self.watcher = watcher }
}
