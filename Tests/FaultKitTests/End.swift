import EventLoop

/// One end of a TCP connection. A test specifies the bytes that this end writes and expects.
actor End {
  /// How the connection ended.
  enum Ending: Equatable {
    case closed
    case failed
  }

  nonisolated let loop = EventLoop(label: "end")
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let socket: Socket
  private var watcher: SocketWatcher?
  private var readable: CheckedContinuation<Void, Never>?
  private var writable: CheckedContinuation<Void, Never>?

  init(_ socket: sending Socket) { self.socket = socket }

  static func connect(to port: UInt16) throws -> End {
    End(try Socket.connect(to: try SocketAddress.resolve(host: "127.0.0.1", port: port)[0]))
  }

  /// Returns when the connection is established.
  func connected() async throws {
    await waitUntilWritable()
    if let error = socket.connectionError() { throw error }
  }

  func write(_ text: String) async throws {
    var rest = ArraySlice(text.utf8)
    while !rest.isEmpty {
      if case .bytes(let count) = try Array(rest.prefix(1 << 16)).withUnsafeBytes({ try socket.write($0) }) {
        rest = rest.dropFirst(count)
      } else {
        await waitUntilWritable()
      }
    }
  }

  /// Reads exactly `count` bytes.
  func read(_ count: Int) async throws -> String {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var buffer = [UInt8](repeating: 0, count: min(count - bytes.count, 1 << 16))
      switch try buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) {
      case .bytes(let count): bytes += buffer[..<count]
      case .closed: throw SocketError(operation: "read", reason: "closed after \(bytes.count) bytes")
      case .wantsRead, .wantsWrite: await waitUntilReadable()
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads to the end and returns how the connection ended.
  func end() async -> Ending {
    var buffer = [UInt8](repeating: 0, count: 1024)
    while true {
      guard let result = try? buffer.withUnsafeMutableBytes({ try socket.read(into: $0) }) else { return .failed }
      if result == .closed { return .closed }
      if result == .wantsRead { await waitUntilReadable() }
    }
  }

  func finishWriting() { socket.finishWriting() }

  private func waitUntilReadable() async {
    let watcher = watch()
    await withCheckedContinuation {
      readable = $0
      watcher.wantsRead = true
    }
  }

  private func waitUntilWritable() async {
    let watcher = watch()
    await withCheckedContinuation {
      writable = $0
      watcher.wantsWrite = true
    }
  }

  private func watch() -> SocketWatcher {
    if let watcher { return watcher }
    let watcher = SocketWatcher(
      socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.wakeReader() } },
      onWritable: { [weak self] in self?.assumeIsolated { $0.wakeWriter() } })
    self.watcher = watcher
    watcher.wantsRead = false
    return watcher
  }

  private func wakeReader() {
    watcher?.wantsRead = false
    readable?.resume()
    readable = nil
  }

  private func wakeWriter() {
    watcher?.wantsWrite = false
    writable?.resume()
    writable = nil
  }
}
