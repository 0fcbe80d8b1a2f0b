import EventLoop

/// A client's connection and the corresponding connection to the target. Used only on the proxy's event loop.
final class ProxyConnection {
  /// One of the two sockets, with the bytes that it received.
  final class Side {
    let socket: Socket
    var watcher: SocketWatcher?
    /// Bytes received from this side.
    var pipe = ProxyPipe()
    /// Whether the socket is connected. Until then it must not be read, even if the kernel reports it as readable.
    var isConnected: Bool
    var isStalled = false

    init(_ socket: Socket, isConnected: Bool) {
      self.socket = socket
      self.isConnected = isConnected
    }

    func close(_ ending: ProxyEnding) {
      if ending == .reset { socket.resetOnClose() }
      watcher?.close()
      watcher = nil
    }
  }

  let client: Side
  /// `nil` after the fault ``ProxyFault/halfOpen``, and from the start if the client connected during such a fault.
  private(set) var target: Side?
  /// Whether bytes were dropped. Then later bytes would have no meaning for the receiver.
  var isTainted = false

  init(client: Socket, target: Socket?) {
    self.client = Side(client, isConnected: true)
    self.target = target.map { Side($0, isConnected: false) }
    isTainted = target == nil
  }

  func side(_ direction: ProxyDirection) -> Side? { direction == .requests ? client : target }
  func opposite(_ direction: ProxyDirection) -> Side? { direction == .requests ? target : client }

  /// Closes the target's side and keeps the client's side open.
  func loseTarget() {
    target?.close(.finish)
    target = nil
    isTainted = true
  }

  func close(_ ending: ProxyEnding) {
    client.close(ending)
    target?.close(ending)
  }

  /// Whether both directions have ended.
  var isFinished: Bool { client.pipe.hasForwardedEnd && (target?.pipe.hasForwardedEnd ?? true) }
}
