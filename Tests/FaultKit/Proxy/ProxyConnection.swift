import EventLoop

/// A client's connection and the corresponding one to the target. Confined to the proxy's loop.
final class ProxyConnection {
  /// One of the two sockets, with the bytes that it received.
  final class Side {
    let socket: Socket
    var watcher: SocketWatcher?
    /// Bytes received from this side.
    var pipe = ProxyPipe()
    /// A socket that is still connecting is not readable, even if the kernel reports it.
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
  /// `nil` after a half-open fault, or from the start during one.
  private(set) var target: Side?
  /// Whether bytes were dropped. Later bytes would be meaningless.
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
