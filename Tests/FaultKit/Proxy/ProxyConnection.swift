import EventLoop

/// A client's connection and the one to the target that was opened for it. Confined to the proxy's loop.
final class ProxyConnection {
  /// One of the two sockets, with what comes from it.
  final class Side {
    let socket: Socket
    var watcher: SocketWatcher?
    /// Bytes that came from this side.
    var pipe = ProxyPipe()
    /// A connection under way is not readable, whatever the kernel says.
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
  /// `nil` once, or from the start, half-open.
  private(set) var target: Side?
  /// Bytes were thrown away: what would follow makes no sense.
  var isTainted = false

  init(client: Socket, target: Socket?) {
    self.client = Side(client, isConnected: true)
    self.target = target.map { Side($0, isConnected: false) }
    isTainted = target == nil
  }

  func side(_ direction: ProxyDirection) -> Side? { direction == .requests ? client : target }
  func opposite(_ direction: ProxyDirection) -> Side? { direction == .requests ? target : client }

  /// Ends the target's side and keeps the client's.
  func loseTarget() {
    target?.close(.finish)
    target = nil
    isTainted = true
  }

  func close(_ ending: ProxyEnding) {
    client.close(ending)
    target?.close(ending)
  }

  /// Whether both directions have come to their end.
  var isFinished: Bool { client.pipe.hasTold && (target?.pipe.hasTold ?? true) }
}
