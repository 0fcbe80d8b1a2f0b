import EventLoop
import FaultKit

/// A client, a proxy, and the target behind it.
struct Scene: Sendable {
  let client: End
  let proxy: TCPProxy
  private let acceptor: TargetAcceptor

  static func run(_ body: (Scene) async throws -> Void) async throws {
    let acceptor = try TargetAcceptor()
    await acceptor.watch()
    let proxy = try await TCPProxy.start(to: acceptor.port)
    let scene = Scene(client: try End.connect(to: proxy.port), proxy: proxy, acceptor: acceptor)
    try await scene.client.connected()
    do {
      try await body(scene)
    } catch {
      await proxy.stop()
      throw error
    }
    await proxy.stop()
  }

  /// Returns the target's end of the next connection.
  func accepted() async throws -> End { await acceptor.next() }

  /// Sends bytes in both directions, which proves that the connection is established.
  ///
  /// - Returns: the target's end.
  func exchange() async throws -> End {
    try await client.write("ping")
    let target = try await accepted()
    _ = try await target.read(4)
    try await target.write("pong")
    _ = try await client.read(4)
    return target
  }
}

/// Accepts the proxy's connections.
private actor TargetAcceptor {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  nonisolated let port: UInt16

  private let listener: Socket
  private var watcher: SocketWatcher?
  private var waiter: CheckedContinuation<End, Never>?
  private var accepted: [End] = []

  init() throws {
    let listener = try Socket.listen(at: try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
    port = try listener.localAddress().port
    loop = EventLoop(label: "target")
    self.listener = listener
  }

  func watch() {
    watcher = SocketWatcher(
      listener, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.take() } }, onWritable: {})
  }

  func next() async -> End {
    if !accepted.isEmpty { return accepted.removeFirst() }
    return await withCheckedContinuation { waiter = $0 }
  }

  private func take() {
    do {
      while let socket = try listener.accept() { hand(End(socket)) }
    } catch {
      watcher?.close()
    }
  }

  private func hand(_ end: End) {
    guard let waiter else { return accepted.append(end) }
    self.waiter = nil
    waiter.resume(returning: end)
  }
}
