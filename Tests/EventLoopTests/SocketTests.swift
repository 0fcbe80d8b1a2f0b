import EventLoop
import TestKit
import Testing

/// Sockets over loopback. All work happens on one loop, as in the program.
@Suite struct SocketTests {
  /// A pair of connected sockets and the watchers of both, isolated to one loop.
  private actor Pair {
    let loop = EventLoop(label: "pair")
    private var listener: Socket?
    private var watchers: [SocketWatcher] = []
    private var client: Socket?
    private var server: Socket?
    private let events: AsyncStream<String>.Continuation

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ events: AsyncStream<String>.Continuation) {
      self.events = events
    }

    func connect() throws {
      let address = try #require(try SocketAddress.resolve(host: "127.0.0.1", port: 0).first)
      let listener = try Socket.listen(at: address)
      self.listener = listener
      watch(listener) { $0.accept() }
      let client = try Socket.connect(to: listener.localAddress())
      self.client = client
      watch(client) {
        $0.readClient()
      } writable: {
        $0.events.yield("connected")
        $0.watchers[1].wantsWrite = false
      }
      watchers[1].wantsWrite = true
    }

    private func watch(
      _ socket: Socket, readable: @escaping @Sendable (isolated Pair) -> Void,
      writable: @escaping @Sendable (isolated Pair) -> Void = { _ in }
    ) {
      watchers.append(
        SocketWatcher(
          socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { readable($0) } },
          onWritable: { [weak self] in self?.assumeIsolated { writable($0) } }))
    }

    private func accept() {
      guard let peer = try? listener?.accept() else { return }
      server = peer
      events.yield("accepted")
    }

    private func readClient() {
      var buffer = [UInt8](repeating: 0, count: 64)
      switch buffer.withUnsafeMutableBytes({ raw in Result { try client?.read(into: raw) } }) {
      case .success(.bytes(let count)): events.yield("read " + String(decoding: buffer.prefix(count), as: UTF8.self))
      case .success(.closed):
        events.yield("closed")
        watchers[1].close()
      default: break
      }
    }

    func send(_ text: String) throws {
      let bytes = Array(text.utf8)
      expect(try bytes.withUnsafeBytes { try server?.write($0) }, is: .bytes(bytes.count))
    }

    func closeServer() { server?.close() }

    func finish() {
      for watcher in watchers { watcher.close() }
    }
  }

  @Test func bytesAndTheEndArrive() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    let pair = Pair(continuation)
    try await pair.connect()
    var iterator = events.makeAsyncIterator()
    var first: Set<String> = []
    while first != ["accepted", "connected"] { first.insert(try #require(await iterator.next())) }
    try await pair.send("hello")
    expect(await iterator.next(), is: "read hello")
    await pair.closeServer()
    expect(await iterator.next(), is: "closed")
    await pair.finish()
  }

  @Test func errorOfAnUnknownHostNamesTheHost() {
    #expect {
      try SocketAddress.resolve(host: "no-such-host.invalid", port: 1)
    } throws: { error in
      "\(error)".contains("no-such-host.invalid")
    }
  }

  @Test func addressesAreWrittenAsUsual() throws {
    let four = try #require(try SocketAddress.resolve(host: "127.0.0.1", port: 80).first)
    expect(four.description, is: "127.0.0.1:80")
    expect(four.port, is: 80)
    let six = try #require(try SocketAddress.resolve(host: "::1", port: 443).first)
    expect(six.description, is: "[::1]:443")
  }
}
