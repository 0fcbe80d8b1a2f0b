import EventLoop

/// A server with fixed answers to any request, for cases that a real Redis can't produce.
final class FakeServer: Sendable {
  /// Reaction to received bytes.
  enum Step: Sendable {
    case send(String)
    /// Sends the result of the closure.
    case answer(@Sendable () -> String)
    case close
    case ignore
  }

  /// The answer to a client's handshake.
  static let welcome = Step.send("+OK\r\n$21\r\nredis_version:7.0.15\n\r\n")

  let port: UInt16
  private let body: Body

  /// - Parameter steps: the reactions for every connection, one each time that bytes arrive. After the last one, bytes
  ///   are ignored.
  init(_ steps: [Step]) async throws {
    body = Body(steps)
    port = try await body.listen()
  }

  /// The number of connections so far.
  var connections: Int { get async { await body.accepted } }

  /// Waits until a client has connected and sent bytes.
  func receivedBytes() async { await body.firstBytes.value }

  private actor Body {
    private let loop = EventLoop(label: "fake server")
    private let steps: [Step]
    let firstBytes = Signal<Void>()
    private var socket: Socket?
    private var listener: SocketWatcher?
    private var peers: [(watcher: SocketWatcher, socket: Socket, next: Int)] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    var accepted: Int { peers.count }

    init(_ steps: [Step]) { self.steps = steps }

    func listen() throws -> UInt16 {
      let address = try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0]
      let socket = try Socket.listen(at: address)
      listener = SocketWatcher(
        socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.accept() } },
        onWritable: {})
      self.socket = socket
      return try socket.localAddress().port
    }

    private func accept() {
      while let peer = try? socket?.accept() {
        let index = peers.count
        let watcher = SocketWatcher(
          peer, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.readable(index) } }, onWritable: {})
        peers.append((watcher, peer, 0))
      }
    }

    private func readable(_ index: Int) {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
      defer { buffer.deallocate() }
      let peer = peers[index]
      guard case .bytes = try? peer.socket.read(into: buffer) else { return peer.watcher.close() }
      firstBytes.send(())
      guard peer.next < steps.count else { return }
      peers[index].next += 1
      switch steps[peer.next] {
      case .send(let text): send(text, to: peer.socket)
      case .answer(let text): send(text(), to: peer.socket)
      case .close: peer.watcher.close()
      case .ignore: break
      }
    }

    private func send(_ text: String, to peer: Socket) {
      _ = try? Array(text.utf8).withUnsafeBytes { try peer.write($0) }
    }
  }
}
