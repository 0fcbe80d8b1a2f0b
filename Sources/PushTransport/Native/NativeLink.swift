internal import EventLoop
internal import TLS

/// Link to one address of the service: its socket, the CONNECT tunnel of a proxy, and TLS. Confined to the engine's
/// loop.
///
/// The objects for one address can't be used for another (a TLS stream keeps its socket's descriptor), so each address
/// gets its own link.
final class NativeLink {
  private enum Phase {
    case connecting, connectTunnel, handshake, open
  }

  /// Number of the link within its connection.
  let number: Int
  /// Address of the link.
  let address: SocketAddress
  /// TLS over the socket; complete when ``advance()`` returns true.
  private(set) var stream: TLSStream?
  /// Whether the socket has become ready: the address has answered or could not be reached.
  var isReady = false

  private let target: Authority
  private let tls: TLSContext
  private let socket: Socket
  private let watcher: SocketWatcher
  private var tunnel: ProxyTunnel?
  private var phase = Phase.connecting

  /// Begins to connect.
  ///
  /// - Parameter onReady: called on the loop when the socket is ready.
  init(
    _ number: Int, to address: SocketAddress, _ setup: NativeConnection.Setup, tls: TLSContext, loop: EventLoop,
    onReady: @escaping @Sendable () -> Void
  ) throws {
    self.number = number
    self.address = address
    self.tls = tls
    target = setup.target
    socket = try Socket.connect(to: address)
    watcher = SocketWatcher(socket, on: loop, onReadable: onReady, onWritable: onReady)
    watcher.wantsRead = false
    watcher.wantsWrite = true
    if let proxy = setup.configuration.endpoint.proxy, setup.proxy != nil {
      tunnel = ProxyTunnel(to: target.withPort, login: proxy.login)
    }
  }

  /// Returns why the address could not be reached; `nil` if it was reached. The caller calls this when the socket is
  /// ready for the first time.
  func connectionError() -> SocketError? { phase == .connecting ? socket.connectionError() : nil }

  /// Continues to open the link.
  ///
  /// - Returns: whether HTTP/2 can begin. If not, the caller must call this again when the socket is ready.
  func advance() throws -> Bool {
    if phase == .connecting { phase = tunnel == nil ? .handshake : .connectTunnel }
    if phase == .connectTunnel {
      if let result = try tunnel?.advance(over: socket) { return try wait(for: result) }
      tunnel = nil
      phase = .handshake
    }
    guard phase == .handshake else { return true }
    let stream = try self.stream ?? TLSStream(socket, context: tls, serverName: target.host)
    self.stream = stream
    if let result = try stream.handshake() { return try wait(for: result) }
    phase = .open
    _ = try wait(for: .wantsRead)
    if let refusal = ProtocolRefusal(target.withPort, negotiated: stream.negotiatedProtocol) { throw refusal }
    return true
  }

  /// Whether to notify when the socket takes bytes again.
  var wantsWrite: Bool {
    get { watcher.wantsWrite }
    set { watcher.wantsWrite = newValue }
  }

  private func wait(for result: IOResult) throws -> Bool {
    if result == .closed { throw NativeFailure("\(target.withPort) closed the connection") }
    watcher.wantsRead = result == .wantsRead
    watcher.wantsWrite = result == .wantsWrite
    return false
  }

  /// Closes the socket. Idempotent.
  func close() { watcher.close() }
}
